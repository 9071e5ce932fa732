//! When a run is over, and when it never will be: a counting double wave.
//!
//! See the `README.md` in this folder for the protocol and why it is right.

#[cfg(test)]
mod tests;

use crate::event::Rank;
use std::collections::BTreeSet;

/// What a rank's program is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for an event, or for a lock.
    Waiting,
    /// It waits until nothing is left to do, and then goes on.
    Draining,
    /// It is done.
    Ending,
}

/// Events that have gone one way, ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// How many were sent.
    pub sent: u64,
    /// How many of them were received.
    pub received: u64,
}

impl Flow {
    fn merge(&mut self, other: Self) {
        self.sent = self.sent.wrapping_add(other.sent);
        self.received = self.received.wrapping_add(other.received);
    }
}

/// The events of a run, by who sends and who receives: those that go one way must not make up for those that go
/// another, as clients are asked by nobody, and what their rank knows of them may be old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// From rank to rank.
    pub between: Flow,
    /// From ranks to clients.
    pub out: Flow,
    /// From clients to ranks.
    pub back: Flow,
}

impl Flows {
    fn merge(&mut self, other: &Self) {
        self.between.merge(other.between);
        self.out.merge(other.out);
        self.back.merge(other.back);
    }

    /// Whether nothing is on its way.
    fn have_arrived(&self) -> bool {
        [self.between, self.out, self.back].iter().all(|flow| flow.sent == flow.received)
    }
}

/// A rank that has nothing to do. Counts are of events of the rank and of its clients, those from and to lost ranks
/// left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// What the program is at.
    pub stage: Stage,
    /// Whether a task waits or an event is unconsumed.
    pub outstanding: bool,
    /// Whether something may come by itself that lets the rank go on: the tick of a clock.
    pub hopeful: bool,
    /// Whether a client waits for an event.
    pub attended: bool,
    /// Events sent and received.
    pub flows: Flows,
    /// Grows whenever the rank has something to do.
    pub activity: u64,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is done.
    Ended,
    /// Nothing is left to do; those who drain go on.
    Drained,
    /// Tasks wait for events that nobody can fire any more.
    Stuck,
}

/// What ranks say to each other to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Answer once you, and those below you in the tree, have nothing to do.
    Probe {
        /// Which wave.
        wave: u64,
        /// Whom the tree consists of.
        members: Members,
    },
    /// I have nothing to do, nor have those below me.
    Answer {
        /// Which wave.
        wave: u64,
        /// Whom the tree consists of.
        members: Members,
        /// How all of us stand.
        sums: Sums,
    },
    /// That is how the run stands.
    Conclude {
        /// The verdict.
        verdict: Verdict,
    },
    /// A rank has joined.
    Joined {
        /// How many there are now.
        ranks: u32,
    },
}

/// What a detector wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this.
    Send(Rank, Message),
    /// Tell the rank.
    Conclude(Verdict),
    /// Events are on their way: call [`Detector::advance`] again after a moment.
    Pause,
    /// There are so many ranks now.
    Grow(u32),
}

/// How many ranks one knows to have been there and to be lost: ranks that know of the same agree on
/// the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Members {
    /// How many there are, with those that are lost.
    pub ranks: u32,
    /// How many of them, and of the clients, are lost.
    pub lost: u32,
}

/// How several ranks stand that have nothing to do.
#[allow(clippy::struct_excessive_bools)] // each is a question put to every rank
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many they are.
    pub count: u32,
    /// Events sent and received.
    pub flows: Flows,
    /// Grows whenever one of them has something to do.
    pub activity: u64,
    /// Whether a task of one waits, or an event is unconsumed.
    pub outstanding: bool,
    /// Whether something may come by itself.
    pub hopeful: bool,
    /// Whether the program of one waits.
    pub waiting: bool,
    /// Whether that of one drains.
    pub draining: bool,
    /// Whether a client waits.
    pub attended: bool,
}

impl Sums {
    fn add(&mut self, quiet: &Quiet) {
        self.count += 1;
        self.flows.merge(&quiet.flows);
        self.activity += quiet.activity;
        self.outstanding |= quiet.outstanding;
        self.hopeful |= quiet.hopeful;
        self.waiting |= quiet.stage == Stage::Waiting;
        self.draining |= quiet.stage == Stage::Draining;
        self.attended |= quiet.attended;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.flows.merge(&other.flows);
        self.activity = self.activity.wrapping_add(other.activity);
        self.outstanding |= other.outstanding;
        self.hopeful |= other.hopeful;
        self.waiting |= other.waiting;
        self.draining |= other.draining;
        self.attended |= other.attended;
    }

    /// Tells how a run stands in which nothing moves.
    fn verdict(&self) -> Option<Verdict> {
        match () {
            () if !self.outstanding && !self.waiting && self.draining => Some(Verdict::Drained),
            () if !self.outstanding && !self.waiting && !self.attended => Some(Verdict::Ended),
            () if self.hopeful => None,
            () => Some(Verdict::Stuck),
        }
    }
}

/// So many ranks are below each in the tree that waves go through.
const ARITY: u32 = 8;

/// A wave at one rank.
#[derive(Clone, Copy, Debug)]
struct Wave {
    number: u64,
    /// Who asked; none, if this rank leads.
    asker: Option<Rank>,
    /// Of this rank, once it is quiet, and of those below that have answered.
    sums: Sums,
    /// Whether this rank has yet to be quiet.
    lacks_own: bool,
    /// How many below have yet to answer.
    lacking: u32,
}

/// One rank's part in finding out how the run stands. The lowest rank that is not lost leads.
#[derive(Debug)]
pub struct Detector {
    rank: Rank,
    ranks: u32,
    /// How many there were when this rank began; none, if it joined.
    founders: u32,
    lost: BTreeSet<Rank>,
    /// How many clients are lost: while not all ranks know, what they counted of them differs.
    clients_lost: u32,
    /// Whether somebody is about to join: nothing is concluded meanwhile.
    admits: bool,
    /// The wave that is under way here.
    wave: Option<Wave>,
    /// A probe that knows of a rank, or of a loss, that this one has yet to hear of.
    early: Option<(Rank, u64, Members)>,
    /// How many waves this rank has begun.
    waves: u64,
    before: Option<Sums>,
}

impl Detector {
    /// The part of one of `ranks` ranks.
    pub fn new(rank: Rank, ranks: u32) -> Self {
        Self {
            rank,
            ranks,
            founders: ranks,
            lost: BTreeSet::new(),
            clients_lost: 0,
            admits: false,
            wave: None,
            early: None,
            waves: 0,
            before: None,
        }
    }

    /// The part of a rank that joins a run: of `ranks` with itself, of which some are lost.
    pub fn joining(rank: Rank, ranks: u32, lost: &[Rank]) -> Self {
        let lost = lost.iter().copied().collect();
        Self { founders: 0, lost, ..Self::new(rank, ranks) }
    }

    /// Whether [`Detector::advance`] has something to do for a rank that is quiet.
    pub fn is_asked(&self) -> bool {
        self.wave.is_some_and(|wave| wave.lacks_own) || self.may_wave()
    }

    /// A rank is lost: it counts no more.
    pub fn on_lost(&mut self, rank: Rank, actions: &mut Vec<Action>) {
        let led = self.leader() == rank;
        self.lost.insert(rank);
        self.begin_anew();
        self.take_early(actions);
        if led && self.ranks > self.founders {
            // Who led may have told only some of who joined last.
            self.tell_joined(self.ranks, actions);
        }
    }

    /// A client of any rank is lost, as every rank hears.
    pub fn on_client_lost(&mut self, actions: &mut Vec<Action>) {
        self.clients_lost += 1;
        self.begin_anew();
        self.take_early(actions);
    }

    /// Somebody asks this rank, which leads, to join: the number that it is to have; none if
    /// another one is about to. Nothing is concluded before it has come or gone.
    pub fn admit(&mut self) -> Option<Rank> {
        (self.leads() && !self.admits).then(|| {
            self.admits = true;
            self.begin_anew();
            self.ranks
        })
    }

    /// Who asked to join can be reached by all: it is a rank from now on.
    pub fn on_come(&mut self, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.admits) {
            self.tell_joined(self.ranks + 1, actions);
            self.grow(self.ranks + 1, actions);
        }
    }

    /// Who asked to join has gone away.
    pub fn on_gone(&mut self) {
        self.admits = false;
    }

    /// Another rank says something.
    pub fn on_message(&mut self, from: Rank, message: Message, actions: &mut Vec<Action>) {
        match message {
            Message::Probe { wave, members } => self.on_probe(from, wave, members, actions),
            Message::Conclude { verdict } => actions.push(Action::Conclude(verdict)),
            Message::Joined { ranks } if ranks > self.ranks => self.grow(ranks, actions),
            Message::Answer { wave, members, sums } if members == self.members() => {
                self.on_answer(wave, &sums, actions);
            }
            Message::Joined { .. } | Message::Answer { .. } => {}
        }
    }

    /// This rank is quiet: answers, or begins a wave.
    pub fn advance(&mut self, quiet: Quiet, actions: &mut Vec<Action>) {
        if self.may_wave() {
            self.waves += 1;
            self.begin_wave(None, self.waves, actions);
        }
        if let Some(wave) = self.wave.as_mut().filter(|wave| wave.lacks_own) {
            wave.lacks_own = false;
            wave.sums.add(&quiet);
            self.close_wave(actions);
        }
    }

    fn leader(&self) -> Rank {
        (0..self.rank).find(|rank| !self.lost.contains(rank)).unwrap_or(self.rank)
    }

    fn leads(&self) -> bool {
        self.leader() == self.rank
    }

    fn may_wave(&self) -> bool {
        self.leads() && self.wave.is_none() && !self.admits
    }

    /// What was answered so far says nothing any more.
    fn begin_anew(&mut self) {
        self.wave = None;
        self.before = None;
    }

    fn tell_joined(&self, ranks: u32, actions: &mut Vec<Action>) {
        let joined = |rank| Action::Send(rank, Message::Joined { ranks });
        actions.extend(self.others().map(joined));
    }

    fn grow(&mut self, ranks: u32, actions: &mut Vec<Action>) {
        self.ranks = ranks;
        self.begin_anew();
        actions.push(Action::Grow(ranks));
        self.take_early(actions);
    }

    fn others(&self) -> impl Iterator<Item = Rank> {
        (0..self.ranks).filter(|rank| *rank != self.rank && !self.lost.contains(rank))
    }

    fn members(&self) -> Members {
        Members { ranks: self.ranks, lost: self.lost.len() as u32 + self.clients_lost }
    }

    /// The ranks below this one: those that are not lost form a heap of `ARITY` children each.
    fn below(&self) -> impl Iterator<Item = Rank> {
        let lost_before = self.lost.range(..self.rank).count() as u32;
        let place = u64::from(self.rank - lost_before);
        let alive = u64::from(self.ranks) - self.lost.len() as u64;
        let first = place * u64::from(ARITY) + 1;
        (first..(first + u64::from(ARITY)).min(alive)).map(|place| self.rank_at(place as u32))
    }

    /// The rank at a place of those that are not lost.
    fn rank_at(&self, place: u32) -> Rank {
        self.lost.iter().fold(place, |rank, &lost| rank + u32::from(lost <= rank))
    }

    fn on_probe(&mut self, from: Rank, wave: u64, members: Members, actions: &mut Vec<Action>) {
        let own = self.members();
        if members == own {
            self.begin_wave(Some(from), wave, actions);
        } else if members.ranks > own.ranks || members.lost > own.lost {
            self.early = Some((from, wave, members));
        }
        // Else the leader has yet to hear of a loss, and begins anew then.
    }

    /// Takes part in a wave that came before the news of whom it consists of.
    fn take_early(&mut self, actions: &mut Vec<Action>) {
        if let Some((from, wave, members)) = self.early.take()
            && !self.lost.contains(&from)
        {
            self.on_probe(from, wave, members, actions);
        }
    }

    fn begin_wave(&mut self, asker: Option<Rank>, number: u64, actions: &mut Vec<Action>) {
        let probe = Message::Probe { wave: number, members: self.members() };
        let before = actions.len();
        actions.extend(self.below().map(|rank| Action::Send(rank, probe)));
        let lacking = (actions.len() - before) as u32;
        let sums = Sums::default();
        self.wave = Some(Wave { number, asker, sums, lacks_own: true, lacking });
    }

    fn on_answer(&mut self, number: u64, sums: &Sums, actions: &mut Vec<Action>) {
        let asked = |wave: &&mut Wave| wave.number == number && wave.lacking > 0;
        if let Some(wave) = self.wave.as_mut().filter(asked) {
            wave.lacking -= 1;
            wave.sums.merge(sums);
            self.close_wave(actions);
        }
    }

    /// Answers, or concludes, once all below have answered and this rank has been quiet.
    fn close_wave(&mut self, actions: &mut Vec<Action>) {
        let Some(wave) = self.wave.take_if(|wave| !wave.lacks_own && wave.lacking == 0) else {
            return;
        };
        let (number, members) = (wave.number, self.members());
        match wave.asker {
            Some(asker) => {
                let answer = Message::Answer { wave: number, members, sums: wave.sums };
                actions.push(Action::Send(asker, answer));
            }
            None => self.judge(wave.sums, actions),
        }
    }

    fn judge(&mut self, sums: Sums, actions: &mut Vec<Action>) {
        let before = self.before.replace(sums);
        let is_stable = before == Some(sums) && sums.flows.have_arrived();
        let Some(verdict) = is_stable.then(|| sums.verdict()).flatten() else {
            if before == Some(sums) {
                actions.push(Action::Pause);
            }
            return;
        };
        self.before = None;
        // To each rank itself: one that is lost on the way would leave all below it waiting.
        let conclude = |rank| Action::Send(rank, Message::Conclude { verdict });
        actions.extend(self.others().map(conclude));
        actions.push(Action::Conclude(verdict));
    }
}
