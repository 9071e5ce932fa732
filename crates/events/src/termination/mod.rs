//! When a run is over, and when it never will be: a counting double wave.
//!
//! See the `README.md` in this folder for the protocol and why it is right.

#[cfg(test)]
mod tests;

use crate::event::Rank;
use std::collections::{BTreeMap, BTreeSet};

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

/// A rank that has nothing to do. Counts are of events between ranks, those from and to lost ranks
/// left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// What the program is at.
    pub stage: Stage,
    /// Whether a task waits or an event is unconsumed.
    pub outstanding: bool,
    /// Whether something may come by itself that lets the rank go on: a clock that ticks.
    pub hopeful: bool,
    /// Events sent to other ranks.
    pub sent: u64,
    /// Events received from other ranks.
    pub received: u64,
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
    /// Answer once you have nothing to do.
    Probe {
        /// Which wave.
        wave: u64,
    },
    /// I have nothing to do.
    Answer {
        /// Which wave.
        wave: u64,
        /// How many ranks I know to be lost.
        lost: u32,
        /// How I stand.
        quiet: Quiet,
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

/// The sums of one wave.
#[allow(clippy::struct_excessive_bools)] // each is a question put to every rank
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    sent: u64,
    received: u64,
    activity: u64,
    outstanding: bool,
    hopeful: bool,
    waiting: bool,
    draining: bool,
}

impl Sums {
    fn add(&mut self, quiet: &Quiet) {
        self.sent += quiet.sent;
        self.received += quiet.received;
        self.activity += quiet.activity;
        self.outstanding |= quiet.outstanding;
        self.hopeful |= quiet.hopeful;
        self.waiting |= quiet.stage == Stage::Waiting;
        self.draining |= quiet.stage == Stage::Draining;
    }

    /// Tells how a run stands in which nothing moves.
    fn verdict(&self) -> Option<Verdict> {
        match () {
            () if !self.outstanding && !self.waiting => {
                Some(if self.draining { Verdict::Drained } else { Verdict::Ended })
            }
            () if self.hopeful => None,
            () => Some(Verdict::Stuck),
        }
    }
}

/// One rank's part in finding out how the run stands. The lowest rank that is not lost leads.
#[derive(Debug)]
pub struct Detector {
    rank: Rank,
    ranks: u32,
    /// How many there were when this rank began; none, if it joined.
    founders: u32,
    lost: BTreeSet<Rank>,
    /// Whether somebody is about to join: nothing is concluded meanwhile.
    admits: bool,
    /// Who asked, and for which wave: answered once this rank is quiet.
    asked: Option<(Rank, u64)>,
    wave: u64,
    answers: BTreeMap<Rank, Quiet>,
    /// Whether a wave is under way.
    waving: bool,
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
            admits: false,
            asked: None,
            wave: 0,
            answers: BTreeMap::new(),
            waving: false,
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
        self.asked.is_some() || self.may_wave()
    }

    /// A rank is lost: it counts no more.
    pub fn on_lost(&mut self, rank: Rank, actions: &mut Vec<Action>) {
        let led = self.leader() == rank;
        self.lost.insert(rank);
        self.begin_anew();
        if led && self.ranks > self.founders {
            // Who led may have told only some of who joined last.
            self.tell_joined(self.ranks, actions);
        }
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
            Message::Probe { wave } => self.asked = Some((from, wave)),
            Message::Conclude { verdict } => actions.push(Action::Conclude(verdict)),
            Message::Joined { ranks } if ranks > self.ranks => self.grow(ranks, actions),
            Message::Joined { .. } => {}
            Message::Answer { wave, lost, quiet } => {
                self.on_answer(from, wave, lost, quiet, actions);
            }
        }
    }

    /// This rank is quiet: answers, or begins a wave.
    pub fn advance(&mut self, quiet: Quiet, actions: &mut Vec<Action>) {
        let lost = self.lost.len() as u32;
        if let Some((asker, wave)) = self.asked.take()
            && !self.lost.contains(&asker)
        {
            actions.push(Action::Send(asker, Message::Answer { wave, lost, quiet }));
        }
        if self.may_wave() {
            self.waving = true;
            self.wave += 1;
            self.answers.clear();
            let wave = self.wave;
            let probe = |rank| Action::Send(rank, Message::Probe { wave });
            actions.extend(self.others().map(probe));
            self.on_answer(self.rank, wave, lost, quiet, actions);
        }
    }

    fn leader(&self) -> Rank {
        (0..self.rank).find(|rank| !self.lost.contains(rank)).unwrap_or(self.rank)
    }

    fn leads(&self) -> bool {
        self.leader() == self.rank
    }

    fn may_wave(&self) -> bool {
        self.leads() && !self.waving && !self.admits
    }

    /// What was answered so far says nothing any more.
    fn begin_anew(&mut self) {
        self.answers.clear();
        self.before = None;
        self.waving = false;
    }

    fn tell_joined(&self, ranks: u32, actions: &mut Vec<Action>) {
        let joined = |rank| Action::Send(rank, Message::Joined { ranks });
        actions.extend(self.others().map(joined));
    }

    fn grow(&mut self, ranks: u32, actions: &mut Vec<Action>) {
        self.ranks = ranks;
        self.begin_anew();
        actions.push(Action::Grow(ranks));
    }

    fn others(&self) -> impl Iterator<Item = Rank> {
        (0..self.ranks).filter(|rank| *rank != self.rank && !self.lost.contains(rank))
    }

    fn on_answer(
        &mut self,
        from: Rank,
        wave: u64,
        lost: u32,
        quiet: Quiet,
        actions: &mut Vec<Action>,
    ) {
        if !self.waving || wave != self.wave || self.lost.contains(&from) {
            return;
        }
        if lost as usize != self.lost.len() {
            // One of us has yet to learn of a loss.
            self.waving = false;
            self.before = None;
            actions.push(Action::Pause);
            return;
        }
        self.answers.insert(from, quiet);
        if self.answers.len() + self.lost.len() == self.ranks as usize {
            self.close_wave(actions);
        }
    }

    fn close_wave(&mut self, actions: &mut Vec<Action>) {
        self.waving = false;
        let mut sums = Sums::default();
        self.answers.values().for_each(|quiet| sums.add(quiet));
        let before = self.before.replace(sums);
        let is_stable = before == Some(sums) && sums.sent == sums.received;
        let Some(verdict) = is_stable.then(|| sums.verdict()).flatten() else {
            if before == Some(sums) {
                actions.push(Action::Pause);
            }
            return;
        };
        self.before = None;
        let conclude = |rank| Action::Send(rank, Message::Conclude { verdict });
        actions.extend(self.others().map(conclude));
        actions.push(Action::Conclude(verdict));
    }
}
