//! Joining a run that is on: the joining rank's side of the doors.

use super::door::REFUSED;
use super::greeting::listen;
use super::meeting::{DISAGREES, JOINING, connect, disagreement};
use super::named::{read_named, write_named};
use super::peer::Peer;
use super::watch::failed;
use crate::event::Rank;
use crate::limits;
use crate::transport::TransportError;
use freestone_tls::{Access, Tls};
use std::io::{self, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// What a rank has when it has joined.
pub struct Arrived {
    /// Which rank it is, the last one.
    pub rank: Rank,
    /// How many there may be.
    pub most: u32,
    /// Connections to the others, by rank; none to those that are lost.
    pub peers: Vec<Option<Peer>>,
    /// Which are lost.
    pub lost: Vec<Rank>,
    /// Where those can come that join later.
    pub listener: TcpListener,
}

/// A place in a run, as its rank 0 gives it.
struct Admitted {
    rank: Rank,
    attempt: String,
    most: u32,
    addresses: Vec<String>,
}

/// Joins the run whose ranks have met, or are about to, at `meeting`.
///
/// # Errors
///
/// If it is over, has no room, or is not to be reached by `timeout`.
pub fn join(meeting: &str, access: &Access, timeout: Duration) -> Result<Arrived, TransportError> {
    let end = Instant::now() + timeout;
    let nobody = |source| TransportError::Io {
        what: format!(
            "{meeting}: no rank 0 lets ranks join there; it does while its run goes on, and if it \
             has FREESTONE_EVENTS_MOST"
        ),
        source,
    };
    loop {
        let stream = connect(meeting, end).map_err(nobody)?;
        match ask(stream, access, end) {
            Ok((coordinator, listener, admitted)) => {
                return connect_all(meeting, access, coordinator, listener, &admitted);
            }
            // The ranks have yet to meet, or have just ended.
            Err(error) if is_early(&error) && Instant::now() < end => {
                std::thread::sleep(limits::get().retry_interval);
            }
            Err(error) => return Err(failed(meeting, error)),
        }
    }
}

fn is_early(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// Asks to join, and waits to be given a rank.
fn ask(
    stream: TcpStream,
    access: &Access,
    end: Instant,
) -> io::Result<(Tls<TcpStream>, TcpListener, Admitted)> {
    let listener = listen((stream.local_addr()?.ip(), 0))?;
    let mut coordinator = Tls::connect(stream, access)?;
    let own = format!("{} {}", listener.local_addr()?, limits::get().shared());
    write_named(&mut coordinator, JOINING, &own)?;
    coordinator.flush()?;
    // Others may be before this one.
    let left = end.saturating_duration_since(Instant::now()).max(limits::get().step_timeout);
    coordinator.stream().set_read_timeout(Some(left))?;
    let (rank, attempt) = answer(&mut coordinator)?;
    let (most, _) = read_named(&mut coordinator)?;
    if rank >= most {
        return Err(io::Error::other(format!(
            "rank {rank} of at most {most} is no rank of this run"
        )));
    }
    let addresses = (0..rank).map(|_| read_named(&mut coordinator).map(|(_, address)| address));
    let addresses = addresses.collect::<io::Result<_>>()?;
    Ok((coordinator, listener, Admitted { rank, attempt, most, addresses }))
}

/// Connects to all ranks, and is one of them.
fn connect_all(
    meeting: &str,
    access: &Access,
    mut coordinator: Tls<TcpStream>,
    listener: TcpListener,
    admitted: &Admitted,
) -> Result<Arrived, TransportError> {
    let Admitted { rank, attempt, most, addresses } = admitted;
    let (mut peers, mut lost) = (Vec::new(), Vec::new());
    for (number, address) in (0..).zip(addresses) {
        if address.is_empty() {
            lost.push(number);
            peers.push(None);
            continue;
        }
        let what = format!("rank {number} at {address}");
        let peer = greet(address, access, *rank, attempt).map_err(|error| failed(&what, error))?;
        peers.push(Some(peer));
    }
    // Its own place.
    peers.push(None);
    let came = write_named(&mut coordinator, *rank, "").and_then(|()| coordinator.flush());
    came.and_then(|()| answer(&mut coordinator)).map_err(|error| failed(meeting, error))?;
    Ok(Arrived { rank: *rank, most: *most, peers, lost, listener })
}

/// Connects to a rank, which keeps the connection.
fn greet(address: &str, access: &Access, rank: Rank, attempt: &str) -> io::Result<Peer> {
    let mut tls =
        Tls::connect(connect(address, Instant::now() + limits::get().step_timeout)?, access)?;
    write_named(&mut tls, rank, attempt)?;
    tls.flush()?;
    read_named(&mut tls)?;
    Peer::new(tls)
}

/// What rank 0 says, if it does not refuse.
fn answer(coordinator: &mut Tls<TcpStream>) -> io::Result<(u32, String)> {
    match read_named(coordinator)? {
        (REFUSED, why) => Err(io::Error::other(why)),
        (DISAGREES, words) => Err(io::Error::other(disagreement(&words))),
        named => Ok(named),
    }
}
