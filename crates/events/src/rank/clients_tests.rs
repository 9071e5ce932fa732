//! Runs with clients, in which a seed chooses every step: no verdict is too early, and one always comes.

use super::*;
use crate::event::{EventId, Lasting};
use crate::rank::control::Wait;
use crate::rank::fired::Fired;
use crate::termination::{Action, Detector, Message, Quiet, Stage, Verdict};
use std::collections::VecDeque;

enum Packet {
    Event,
    Wave(Message),
    Waits(Wait),
    Resumes,
    Detached(u64, Vec<u64>),
    Left(Rank, u64),
    Lost,
}

/// So many events may be on their way from a rank to a client.
const WINDOW: usize = 2;

struct RankModel {
    detector: Detector,
    clients: Clients,
    jobs: u32,
    sent: Vec<u64>,
    received: Vec<u64>,
    fired: Vec<Fired>,
    /// The identifiers of what was fired at each client.
    ids: Vec<Vec<EventId>>,
    /// Where an event waits for room.
    waits_at: Option<usize>,
    lost: Vec<bool>,
    activity: u64,
    verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Computes,
    /// Since it had received so many events.
    Waits(u64),
    Gone,
    Lost,
}

struct ClientModel {
    at: At,
    sent: u64,
    received: u64,
    received_from: Vec<u64>,
    reported: Option<(u64, u64)>,
}

#[derive(Clone, Copy)]
enum Step {
    Deliver(usize, usize),
    Work(usize),
    /// What waits for room goes on.
    Retry(usize),
    Answer(usize),
    Compute(usize),
    Report(usize),
}

struct Model {
    ranks: Vec<RankModel>,
    clients: Vec<ClientModel>,
    /// From each process to each.
    ways: Vec<Vec<VecDeque<Packet>>>,
    /// Events that may still be fired.
    budget: u32,
    seed: u64,
}

impl Model {
    fn new(ranks: u32, clients: u32, seed: u64) -> Self {
        let all = (ranks + clients) as usize;
        let rank = |rank| RankModel {
            detector: Detector::new(rank, ranks),
            clients: Clients::new(rank, ranks, clients),
            jobs: 1,
            sent: vec![0; all],
            received: vec![0; all],
            fired: (0..clients).map(|_| Fired::default()).collect(),
            ids: vec![Vec::new(); clients as usize],
            waits_at: None,
            lost: vec![false; all],
            activity: 0,
            verdict: None,
        };
        let client = |_| ClientModel {
            at: At::Computes,
            sent: 0,
            received: 0,
            received_from: vec![0; ranks as usize],
            reported: None,
        };
        let ways = (0..all).map(|_| (0..all).map(|_| VecDeque::new()).collect()).collect();
        Self {
            ranks: (0..ranks).map(rank).collect(),
            clients: (0..clients).map(client).collect(),
            ways,
            budget: 25,
            seed: seed.wrapping_mul(2).wrapping_add(1),
        }
    }

    /// One of `count`.
    fn choose(&mut self, count: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
        (self.seed >> 33) as usize % count
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (from, ways) in self.ways.iter().enumerate() {
            // Who is gone takes nothing, nor gives room back.
            let full = (0..ways.len()).filter(|&to| !ways[to].is_empty() && !self.is_gone(to));
            steps.extend(full.map(|to| Step::Deliver(from, to)));
        }
        for (number, rank) in
            self.ranks.iter().enumerate().filter(|(_, rank)| rank.verdict.is_none())
        {
            if let Some(to) = rank.waits_at {
                let goes_on = rank.clients.left[to - self.ranks.len()] || rank.lost[to];
                steps.extend((goes_on || self.has_room(number, to)).then_some(Step::Retry(number)));
            } else if rank.jobs > 0 {
                steps.push(Step::Work(number));
            } else if !rank.clients.are_busy() && rank.detector.is_asked() {
                steps.push(Step::Answer(number));
            }
        }
        for (number, client) in self.clients.iter().enumerate() {
            match client.at {
                At::Waits(since)
                    if since == client.received
                        && client.reported != Some((client.sent, client.received)) =>
                {
                    steps.push(Step::Report(number));
                }
                At::Computes => steps.push(Step::Compute(number)),
                At::Waits(_) | At::Gone | At::Lost => {}
            }
            if matches!(client.at, At::Waits(since) if client.received > since) {
                steps.push(Step::Compute(number));
            }
        }
        steps
    }

    fn send(&mut self, from: usize, to: usize, packet: Packet) {
        self.ways[from][to].push_back(packet);
    }

    fn act(&mut self, number: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(to, message) => self.send(number, to as usize, Packet::Wave(message)),
                Action::Conclude(verdict) => {
                    self.check(verdict);
                    self.ranks[number].verdict = Some(verdict);
                }
                Action::Pause | Action::Grow(_) => {}
            }
        }
    }

    fn is_gone(&self, number: usize) -> bool {
        let client = number.checked_sub(self.ranks.len());
        client.is_some_and(|client| matches!(self.clients[client].at, At::Gone | At::Lost))
    }

    fn has_room(&self, from: usize, to: usize) -> bool {
        to < self.ranks.len() || self.ways[from][to].len() < WINDOW
    }

    /// A rank fires at another one, or at a client, if there is room.
    fn fire(&mut self, from: usize, to: usize) {
        let (room, ranks) = (self.has_room(from, to), self.ranks.len());
        let (rank, way) = (&mut self.ranks[from], &mut self.ways[from][to]);
        let Some(client) = to.checked_sub(ranks) else {
            way.push_back(Packet::Event);
            return;
        };
        let id = EventId::from(["a", "b", "c"][rank.sent[to] as usize % 3]);
        let fired = rank.fired[client].send(&id, Lasting::Once, || {
            if room && !rank.lost[to] {
                way.push_back(Packet::Event);
            }
            if room || rank.lost[to] { Ok(()) } else { Err(()) }
        });
        rank.waits_at = fired.is_err().then_some(to);
        if fired.is_ok() {
            rank.ids[client].push(id);
        }
    }

    /// What a client has not received when it detached, each rank knows that fired it.
    fn check_dropped(&self) {
        for (own, rank) in self.ranks.iter().enumerate() {
            for (number, client) in self.clients.iter().enumerate() {
                if client.at != At::Gone {
                    continue;
                }
                let mut counts = BTreeMap::new();
                for id in &rank.ids[number][client.received_from[own] as usize..] {
                    *counts.entry(id.as_bytes().to_vec()).or_insert(0) += 1;
                }
                let (dropped, unnamed) = rank.fired[number].dropped(own as Rank);
                let dropped = dropped.into_iter().map(|left| (left.id, left.count));
                assert_eq!((dropped.collect::<BTreeMap<_, _>>(), unnamed), (counts, 0));
            }
        }
    }

    fn dropped(&self) -> usize {
        let fired = self.ranks.iter().flat_map(|rank| &rank.fired);
        fired.flat_map(|fired| fired.dropped(0).0).map(|left| left.count).sum()
    }

    /// Nothing can move any more.
    fn check(&self, verdict: Verdict) {
        let is_lost = |number: &usize| {
            let client = number.checked_sub(self.ranks.len());
            client.is_some_and(|client| self.clients[client].at == At::Lost)
        };
        // What a lost client has fired counts no more.
        for (_, ways) in self.ways.iter().enumerate().filter(|(from, _)| !is_lost(from)) {
            for (to, way) in ways.iter().enumerate().filter(|(to, _)| !self.is_gone(*to)) {
                let events = way.iter().filter(|packet| matches!(packet, Packet::Event)).count();
                assert_eq!(events, 0, "an event is on its way to {to}");
            }
        }
        assert!(self.ranks.iter().all(|rank| rank.jobs == 0 && rank.waits_at.is_none()));
        let waits = |client: &ClientModel| client.at == At::Waits(client.received);
        assert!(
            self.clients
                .iter()
                .all(|client| waits(client) || matches!(client.at, At::Gone | At::Lost))
        );
        if self.clients.iter().any(|client| client.at == At::Lost) {
            return;
        }
        let expected = if self.clients.iter().any(waits) { Verdict::Stuck } else { Verdict::Ended };
        assert_eq!(verdict, expected);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Deliver(from, to) => {
                let packet = self.ways[from][to].pop_front().unwrap();
                if to < self.ranks.len() {
                    self.deliver(from, to, packet);
                } else {
                    // Of three events, one is not what it waits for.
                    let is_other = self.choose(3) == 0;
                    let client = &mut self.clients[to - self.ranks.len()];
                    client.received += 1;
                    client.received_from[from] += 1;
                    if let At::Waits(since) = &mut client.at
                        && is_other
                        && *since + 1 == client.received
                    {
                        *since += 1;
                    }
                }
            }
            Step::Work(number) => {
                self.ranks[number].jobs -= 1;
                self.ranks[number].activity += 1;
                for _ in 0..self.choose(6) {
                    let to = self.choose(self.ways.len());
                    let rank = &mut self.ranks[number];
                    if self.budget > 0 && to != number && !rank.lost[to] && rank.waits_at.is_none()
                    {
                        self.budget -= 1;
                        rank.sent[to] += 1;
                        self.fire(number, to);
                    }
                }
            }
            Step::Retry(number) => {
                if let Some(to) = self.ranks[number].waits_at {
                    self.fire(number, to);
                }
            }
            Step::Answer(number) => {
                let rank = &mut self.ranks[number];
                let quiet = Quiet {
                    stage: Stage::Ending,
                    outstanding: false,
                    hopeful: false,
                    attended: rank.clients.are_there(),
                    flows: rank.clients.flows(&|to| rank.sent[to], &rank.received, &rank.lost),
                    activity: rank.activity,
                };
                let mut actions = Vec::new();
                rank.detector.advance(quiet, &mut actions);
                self.act(number, actions);
            }
            Step::Compute(number) => self.compute(number),
            Step::Report(number) => {
                let client = &mut self.clients[number];
                let ClientModel { sent, received, .. } = *client;
                client.reported = Some((sent, received));
                let wait = Wait { sent, received, what: String::new() };
                self.send_home(number, Packet::Waits(wait));
            }
        }
    }

    fn send_home(&mut self, client: usize, packet: Packet) {
        let ranks = self.ranks.len();
        self.send(ranks + client, client % ranks, packet);
    }

    /// A client goes on, fires, waits again, detaches or ends.
    fn compute(&mut self, number: usize) {
        let ranks = self.ranks.len();
        let client = &mut self.clients[number];
        client.at = At::Computes;
        if client.reported.take().is_some() {
            self.send_home(number, Packet::Resumes);
        }
        let choice = self.choose(12);
        let ClientModel { sent, received, .. } = self.clients[number];
        match choice {
            0 => {
                self.clients[number].at = At::Gone;
                let received_from = self.clients[number].received_from.clone();
                self.send_home(number, Packet::Detached(sent, received_from));
            }
            1 if number < 2 => {
                self.clients[number].at = At::Lost;
                for rank in 0..ranks {
                    self.send(ranks + number, rank, Packet::Lost);
                }
            }
            2..7 => self.clients[number].at = At::Waits(received),
            _ if self.budget > 0 => {
                self.budget -= 1;
                self.clients[number].sent += 1;
                let to = self.choose(ranks);
                self.send(ranks + number, to, Packet::Event);
            }
            _ => {}
        }
    }

    fn deliver(&mut self, from: usize, to: usize, packet: Packet) {
        let (ranks, source) = (self.ranks.len(), from as Rank);
        let rank = &mut self.ranks[to];
        let mut actions = Vec::new();
        rank.activity += u64::from(!matches!(packet, Packet::Wave(_)));
        match packet {
            Packet::Event => {
                rank.received[from] += 1;
                rank.jobs += 1;
            }
            Packet::Wave(message) => rank.detector.on_message(source, message, &mut actions),
            Packet::Waits(wait) => rank.clients.on_waits(source, wait),
            Packet::Resumes => rank.clients.on_resumes(source),
            Packet::Left(client, received) => {
                rank.clients.on_left(client);
                rank.fired[client as usize - ranks].on_left(received);
            }
            Packet::Lost => {
                rank.lost[from] = true;
                rank.clients.on_lost(source);
                rank.detector.on_client_lost(&mut actions);
            }
            Packet::Detached(sent, received) => {
                assert!(rank.clients.on_detached(source, sent));
                rank.fired[from - ranks].on_left(received[to]);
                for other in (0..ranks).filter(|other| *other != to) {
                    self.send(to, other, Packet::Left(source, received[other]));
                }
            }
        }
        self.act(to, actions);
    }
}

#[test]
fn the_end_and_a_deadlock_are_found_whatever_clients_do_and_never_too_early() {
    let (mut ended, mut stuck, mut dropped) = (0, 0, 0);
    for seed in 0..3000 {
        let (ranks, clients) = (1 + (seed % 4) as u32, 1 + (seed / 4 % 3) as u32);
        let mut model = Model::new(ranks, clients, seed);
        while model.ranks.iter().any(|rank| rank.verdict.is_none()) {
            let steps = model.steps();
            assert!(!steps.is_empty(), "seed {seed}: nothing moves, and there is no verdict");
            let chosen = model.choose(steps.len());
            model.step(steps[chosen]);
        }
        model.check_dropped();
        dropped += model.dropped();
        match model.ranks[0].verdict {
            Some(Verdict::Ended) => ended += 1,
            _ => stuck += 1,
        }
    }
    let counts = format!("{ended} runs ended, {stuck} were stuck, {dropped} events were dropped");
    assert!(ended > 300 && stuck > 300 && dropped > 1000, "{counts}");
}

#[test]
fn all_that_a_client_has_not_received_is_counted_though_not_all_by_its_name() {
    let mut fired = Fired::default();
    let fire = |fired: &mut Fired, id: &str, lasting| {
        let sent = fired.send(&id.into(), lasting, || Ok::<_, ()>(()));
        sent.unwrap();
    };
    for number in 0..100 {
        fire(&mut fired, &format!("first {number}"), Lasting::Once);
    }
    for _ in 0..50 {
        fire(&mut fired, "second", Lasting::Once);
    }
    fire(&mut fired, "for ever", Lasting::Persistent);
    assert_eq!(fired.dropped(1), (vec![], 0));
    fired.on_left(10);
    fire(&mut fired, "second", Lasting::Once);
    let (leftovers, unnamed) = fired.dropped(1);
    assert_eq!(leftovers.last().unwrap().to_string(), "'second' from rank 1, 51 times");
    let named: usize = leftovers.iter().map(|left| left.count).sum();
    assert_eq!((leftovers.len(), named as u64 + unnamed), (63, 90 + 51));
}

#[test]
fn a_report_says_of_those_that_are_there_what_they_are_at() {
    let mut clients = Clients::new(0, 2, 5);
    clients.on_waits(4, Wait { what: "a wait of 'main' lacks 'x'".into(), ..Wait::default() });
    assert!(clients.on_detached(6, 3));
    assert!(!clients.on_detached(6, 3), "it has left already");
    let lines: Vec<_> = clients.describe().collect();
    let expected = [
        "bridge 2 is attached: the run goes on until it detaches",
        "bridge 4 waits: a wait of 'main' lacks 'x'",
    ];
    assert_eq!(lines, expected);
    assert_eq!(clients.dismiss(), [2, 4]);
}
