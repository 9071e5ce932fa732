//! Kernel 1: from the list of edges to each rank's part of the graph.

use crate::edges::Edge;
use crate::exchange::{exchange, fire_at_all, of_all, share};
use crate::graph::Graph;
use crate::numbering::Numbering;
use crate::words;
use freestone_events::{Dependency, EventsError, Rank, Source, Submit};
use std::sync::{Arc, Mutex, PoisonError};

/// Ends of edges in one event: enough that an event costs nothing, few enough that ranks sort
/// while others still send.
const ENDS: usize = 64 << 10;

/// What kernel 1 makes.
#[derive(Clone, Debug)]
pub struct Built {
    /// The new numbers; the same on every rank.
    pub numbering: Arc<Numbering>,
    /// This rank's vertices.
    pub graph: Arc<Graph>,
}

/// Builds the graph from each rank's part of the list.
///
/// # Errors
///
/// If the run ends before.
pub fn build(rank: &Rank, vertices: u64, edges: &[Edge]) -> Result<Built, EventsError> {
    let degrees = add_up(rank, &count(vertices, edges))?;
    let numbering = Arc::new(Numbering::new(&degrees, rank.ranks()));
    let ends = deal_out(rank, edges, &numbering)?;
    let graph = Arc::new(Graph::new(numbering.count(rank.rank()), &ends, &numbering));
    Ok(Built { numbering, graph })
}

/// How many ends of edges are at each vertex, loops left out.
fn count(vertices: u64, edges: &[Edge]) -> Vec<u32> {
    let mut degrees = vec![0; vertices as usize];
    for (u, v) in edges.iter().map(|edge| edge.ends()).filter(|(u, v)| u != v) {
        degrees[u as usize] += 1;
        degrees[v as usize] += 1;
    }
    degrees
}

/// The sums over all ranks: each adds up its share of the vertices and tells all.
fn add_up(rank: &Rank, degrees: &[u32]) -> Result<Vec<u32>, EventsError> {
    let share_len = degrees.len().div_ceil(rank.ranks() as usize).max(1);
    let mut parts: Vec<_> = degrees.chunks(share_len).map(words::from_u32s).collect();
    parts.resize(rank.ranks() as usize, Vec::new());
    let events = exchange(rank, "degrees", &parts)?;
    let mut sums = vec![0_u32; parts[rank.rank() as usize].len() / 4];
    for event in &events {
        sums.iter_mut()
            .zip(words::u32s(event.payload.bytes()))
            .for_each(|(sum, more)| *sum += more);
    }
    let events = share(rank, "sums", &words::from_u32s(&sums))?;
    Ok(events.iter().flat_map(|event| words::u32s(event.payload.bytes())).collect())
}

/// Sends both ends of each edge to the ranks of their vertices; what this one gets. A task takes in
/// what comes while the program still sends.
fn deal_out(
    rank: &Rank,
    edges: &[Edge],
    numbering: &Numbering,
) -> Result<Vec<Vec<u8>>, EventsError> {
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let on = vec![Dependency::new(Source::Any, "ends")];
    rank.submit_many(Submit::on(on).persistent().named("ends"), move |_, events| {
        let bytes = events.iter().map(|event| event.payload.bytes().to_vec());
        into.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(())
    })?;
    // Tasks run in the order in which they are ready: this one after all that took in ends.
    rank.submit(Submit::on(of_all(rank, "no more ends")), |rank, _| {
        let dealt = rank.fire_bytes(rank.rank(), "dealt", &[]);
        dealt.map_err(|error| freestone_events::Failure::text(&error.to_string()))
    })?;
    send(rank, edges, numbering)?;
    fire_at_all(rank, "no more ends", &[])?;
    rank.wait(vec![Dependency::new(Source::Rank(rank.rank()), "dealt")], None)?;
    rank.remove("ends");
    Ok(std::mem::take(&mut *received.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn send(rank: &Rank, edges: &[Edge], numbering: &Numbering) -> Result<(), EventsError> {
    let mut buffers = vec![Vec::with_capacity(ENDS * 8); rank.ranks() as usize];
    let numbered = edges.iter().map(|edge| edge.ends()).filter(|(u, v)| u != v);
    for (u, v) in numbered.map(|(u, v)| (numbering.number(u), numbering.number(v))) {
        for (own, other) in [(u, v), (v, u)] {
            let target = numbering.rank(own);
            let end = words::pair(numbering.place(own), numbering.order(other));
            let buffer = &mut buffers[target as usize];
            buffer.extend_from_slice(&end.to_le_bytes());
            if buffer.len() >= ENDS * 8 {
                rank.fire_bytes(target, "ends", buffer)?;
                buffer.clear();
            }
        }
    }
    for (target, buffer) in (0..).zip(&buffers).filter(|(_, buffer)| !buffer.is_empty()) {
        rank.fire_bytes(target, "ends", buffer)?;
    }
    Ok(())
}
