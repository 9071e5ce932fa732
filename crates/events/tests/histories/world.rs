//! Ranks that run scripts, with a scheduler that chooses every step.

use crate::naive::{Naive, Ran};
use freestone_events::event::{Dependency, Event, Lasting, Rank};
use freestone_events::matching::{Given, Matcher, Mode, Ready, Submission};
use freestone_events::rank::RANK_JOINED;
use freestone_events::termination::{
    Action, Detector, Flow, Flows, Message, Quiet, Stage, Verdict,
};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

/// A line of a script.
#[derive(Clone, Debug)]
pub enum Op {
    Fire { target: Rank, id: &'static str, lasting: Lasting },
    Submit { on: Vec<Dependency>, mode: Mode, body: Rc<Vec<Op>> },
    Retrieve { on: Vec<Dependency> },
}

/// Chooses among `count` possibilities.
pub trait Choose {
    fn choose(&mut self, count: usize) -> usize;
}

enum Packet {
    Event(Event<u32>),
    Control(Message),
}

struct Node {
    main: VecDeque<Op>,
    matcher: Matcher<u32, u32>,
    naive: Naive,
    detector: Detector,
    /// Of how many ranks it has heard.
    known: usize,
    ready: VecDeque<(u32, Vec<u32>)>,
    running: Vec<VecDeque<Op>>,
    sent: u64,
    received: u64,
    activity: u64,
    verdict: Option<Verdict>,
}

#[derive(Clone, Copy)]
enum Step {
    Main(usize),
    Start(usize),
    Run(usize, usize),
    Deliver(usize, usize),
    Answer(usize),
    /// Somebody asks to join, has come, gives up.
    Ask,
    Come,
    GiveUp,
}

pub struct World {
    nodes: Vec<Node>,
    channels: BTreeMap<(usize, usize), VecDeque<Packet>>,
    bodies: HashMap<u32, Rc<Vec<Op>>>,
    consumed: HashMap<u32, Lasting>,
    lasting: Vec<Lasting>,
    /// Events that may still be fired: scripts could go on for ever.
    budget: usize,
    /// Scripts of those who may yet ask to join.
    to_join: Vec<Vec<Op>>,
    /// Who was let in and is no rank yet: its number and its script.
    joining: Option<(u32, Vec<Op>)>,
}

impl World {
    pub fn new(scripts: Vec<Vec<Op>>, budget: usize) -> Self {
        let ranks = scripts.len() as u32;
        let node = |(rank, script)| Node::new(Detector::new(rank, ranks), ranks, script);
        Self {
            nodes: (0..ranks).zip(scripts).map(node).collect(),
            channels: BTreeMap::new(),
            bodies: HashMap::new(),
            consumed: HashMap::new(),
            lasting: Vec::new(),
            budget,
            to_join: Vec::new(),
            joining: None,
        }
    }

    /// The same, with some who may join at any time, or give up.
    pub fn with_joining(self, scripts: Vec<Vec<Op>>) -> Self {
        Self { to_join: scripts, ..self }
    }

    /// Steps until every rank knows how the run stands; that, and how many tasks ran.
    pub fn run(mut self, chooser: &mut impl Choose) -> (Verdict, usize) {
        for _ in 0..100_000 {
            let steps = self.steps();
            if steps.is_empty() {
                break;
            }
            let step = steps[chooser.choose(steps.len())];
            self.step(step);
        }
        let verdicts: Vec<_> = self.nodes.iter().map(|node| node.verdict).collect();
        let verdict = verdicts[0].expect("the end was missed");
        assert!(verdicts.iter().all(|&other| other == Some(verdict)), "{verdicts:?}");
        (verdict, self.bodies.len())
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (rank, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.verdict.is_none())
        {
            if !node.main.is_empty() {
                steps.push(Step::Main(rank));
            }
            if !node.ready.is_empty() {
                steps.push(Step::Start(rank));
            }
            steps.extend((0..node.running.len()).map(|task| Step::Run(rank, task)));
            if node.is_quiet() && node.detector.is_asked() {
                steps.push(Step::Answer(rank));
            }
        }
        let filled = self.channels.iter().filter(|(_, packets)| !packets.is_empty());
        // Nobody listens to who is no rank yet, for all that it has heard.
        let heard = filled.filter(|(channel, _)| channel.0 < self.nodes[channel.1].known);
        steps.extend(heard.map(|(&(from, to), _)| Step::Deliver(from, to)));
        if self.joining.is_some() {
            steps.extend([Step::Come, Step::GiveUp]);
        } else if !self.to_join.is_empty() && self.nodes[0].verdict.is_none() {
            steps.push(Step::Ask);
        }
        steps
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Main(rank) => {
                let op = self.nodes[rank].main.pop_front().unwrap();
                self.carry_out(rank, op);
            }
            Step::Start(rank) => {
                let (task, _) = self.nodes[rank].ready.pop_front().unwrap();
                let body = self.bodies[&task].iter().cloned().collect();
                self.nodes[rank].running.push(body);
            }
            Step::Run(rank, task) => match self.nodes[rank].running[task].pop_front() {
                Some(op) => self.carry_out(rank, op),
                None => drop(self.nodes[rank].running.remove(task)),
            },
            Step::Deliver(from, to) => self.deliver(from, to),
            Step::Answer(rank) => {
                let (quiet, mut actions) = (self.nodes[rank].quiet(), Vec::new());
                self.nodes[rank].detector.advance(quiet, &mut actions);
                self.act(rank, actions);
            }
            Step::Ask => {
                let number = self.nodes[0].detector.admit().unwrap();
                self.joining = Some((number, self.to_join.pop().unwrap()));
            }
            Step::Come => {
                let (number, script) = self.joining.take().unwrap();
                let detector = Detector::joining(number, number + 1, &[]);
                self.nodes.push(Node::new(detector, number + 1, script));
                let mut actions = Vec::new();
                self.nodes[0].detector.on_come(&mut actions);
                self.act(0, actions);
            }
            Step::GiveUp => {
                self.joining = None;
                self.nodes[0].detector.on_gone();
            }
        }
    }

    fn carry_out(&mut self, rank: usize, op: Op) {
        match op {
            Op::Fire { target, id, lasting } => self.fire(rank, target as usize, id, lasting),
            Op::Retrieve { on } => {
                let node = &mut self.nodes[rank];
                let found = node.matcher.retrieve(&on);
                let found: Vec<_> = found.into_iter().map(|(_, event)| event.payload).collect();
                assert_eq!(found, node.naive.retrieve(&on));
                self.consume(&found);
            }
            Op::Submit { on, mode, body } => {
                let task = self.bodies.len() as u32;
                self.bodies.insert(task, body);
                let (mut ready, mut ran) = (Vec::new(), Vec::new());
                let node = &mut self.nodes[rank];
                node.naive.submit(task, &on, mode, &mut ran);
                let submission = Submission { task, on, mode, name: None };
                node.matcher.submit(submission, &mut ready);
                self.enqueue(rank, ready, &ran);
            }
        }
    }

    fn fire(&mut self, rank: usize, target: usize, id: &'static str, lasting: Lasting) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let payload = self.lasting.len() as u32;
        self.lasting.push(lasting);
        let event = Event { source: rank as u32, id: id.into(), lasting, payload };
        if target == rank {
            self.arrive(rank, event);
        } else {
            self.nodes[rank].sent += 1;
            self.channels.entry((rank, target)).or_default().push_back(Packet::Event(event));
        }
    }

    fn deliver(&mut self, from: usize, to: usize) {
        match self.channels.get_mut(&(from, to)).unwrap().pop_front().unwrap() {
            Packet::Event(event) => {
                assert_eq!(self.nodes[to].verdict, None, "an event came after the end");
                self.nodes[to].received += 1;
                self.arrive(to, event);
            }
            Packet::Control(message) => {
                let mut actions = Vec::new();
                self.nodes[to].detector.on_message(from as u32, message, &mut actions);
                self.act(to, actions);
            }
        }
    }

    fn arrive(&mut self, rank: usize, event: Event<u32>) {
        let (mut ready, mut ran) = (Vec::new(), Vec::new());
        let node = &mut self.nodes[rank];
        node.activity += 1;
        node.naive.deliver(event.clone(), &mut ran);
        node.matcher.deliver(event, &mut ready);
        self.enqueue(rank, ready, &ran);
    }

    fn enqueue(&mut self, rank: usize, ready: Vec<Ready<u32, u32>>, expected: &[Ran]) {
        let payloads = |given: Given<u32>| match given {
            Given::Events(events) => events.iter().map(|event| event.payload).collect(),
            Given::All(_) | Given::Begun(_) => unreachable!("no greedy tasks here"),
        };
        let found: Vec<_> =
            ready.into_iter().map(|ready| (ready.task, payloads(ready.given))).collect();
        assert_eq!(found, expected);
        self.nodes[rank].activity += found.len() as u64;
        for (_, payloads) in &found {
            self.consume(payloads);
        }
        self.nodes[rank].ready.extend(found);
    }

    fn consume(&mut self, payloads: &[u32]) {
        for &payload in payloads {
            let before = self.consumed.insert(payload, self.lasting[payload as usize]);
            assert!(before.is_none_or(|lasting| lasting == Lasting::Persistent), "consumed twice");
        }
    }

    fn act(&mut self, rank: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(to, message) => {
                    let channel = self.channels.entry((rank, to as usize)).or_default();
                    channel.push_back(Packet::Control(message));
                }
                Action::Conclude(verdict) => {
                    self.check_verdict(verdict);
                    self.nodes[rank].verdict = Some(verdict);
                }
                Action::Pause => {}
                Action::Grow(ranks) => self.grow(rank, ranks as usize),
            }
        }
    }

    fn grow(&mut self, rank: usize, ranks: usize) {
        assert!(ranks <= self.nodes.len(), "somebody is counted in who has not come");
        for source in std::mem::replace(&mut self.nodes[rank].known, ranks)..ranks {
            let (id, lasting) = (RANK_JOINED.into(), Lasting::Weak);
            let payload = self.lasting.len() as u32;
            self.lasting.push(lasting);
            self.arrive(rank, Event { source: source as u32, id, lasting, payload });
        }
    }

    /// Compares what was concluded with what one sees from outside.
    fn check_verdict(&self, verdict: Verdict) {
        assert!(self.nodes.iter().all(Node::is_quiet), "the end came too early");
        assert!(self.joining.is_none(), "the end came while somebody joined");
        assert!(self.nodes.iter().all(|node| node.known == self.nodes.len()));
        let is_event = |packet: &Packet| matches!(packet, Packet::Event(_));
        assert!(!self.channels.values().flatten().any(is_event), "an event is on its way");
        for node in &self.nodes {
            assert_eq!(node.matcher.is_outstanding(), node.naive.is_outstanding());
        }
        let outstanding = self.nodes.iter().any(|node| node.matcher.is_outstanding());
        assert_eq!(verdict, if outstanding { Verdict::Stuck } else { Verdict::Ended });
    }
}

impl Node {
    fn new(detector: Detector, known: u32, script: Vec<Op>) -> Self {
        Self {
            main: script.into(),
            matcher: Matcher::default(),
            naive: Naive::default(),
            detector,
            known: known as usize,
            ready: VecDeque::new(),
            running: Vec::new(),
            sent: 0,
            received: 0,
            activity: 0,
            verdict: None,
        }
    }

    fn is_quiet(&self) -> bool {
        self.main.is_empty() && self.ready.is_empty() && self.running.is_empty()
    }

    fn quiet(&self) -> Quiet {
        Quiet {
            stage: Stage::Ending,
            outstanding: self.matcher.is_outstanding(),
            hopeful: false,
            attended: false,
            flows: Flows {
                between: Flow { sent: self.sent, received: self.received },
                ..Flows::default()
            },
            activity: self.activity,
        }
    }
}
