//! What a rank does next.

use super::vote::{Tally, Vote};

/// Where a rank is in a resize.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// It computes, and nothing else goes on.
    Running,
    /// It was spawned, and has no rows yet.
    Joining,
    /// Joining ranks have been started; they are not at their loop yet.
    Spawning,
    /// All are connected, and constant data moves.
    Moving,
    /// Everything else moves; then the program may move what it has not registered.
    Switching,
    /// The program moves what it has not registered, and commits then.
    UserPhase,
    /// It has no rows any more, or never joined.
    Left,
    /// Its loop is over, as on all ranks.
    Over,
    /// The ranks do not agree, so that none can go on.
    Failed,
}

/// How a checkpoint ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Nothing has changed.
    Same,
    /// Rows, ranks and the communicator are others.
    Resized,
    /// This process is no longer part of the job.
    Leave,
    /// The program moves what it has not registered, and commits then.
    UserPhase,
    /// A resize did not come about; the job is as it was.
    Cancelled,
    /// The loop is over on all ranks.
    Over,
    /// An error that was reported before.
    Failed,
    /// A resize waits to be committed first.
    NotCommitted,
}

/// What the root of the sources sends to joining ranks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Word {
    /// Connect.
    Go,
    /// Receive all that is not constant.
    Switch,
    /// End: the resize does not come about.
    Cancel,
}

/// In what the ranks do not agree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Disagreement {
    /// A rank has an error to report.
    Problem,
    /// They make different calls.
    Call,
    /// Some have left the loop.
    Ended,
    /// They are at different steps.
    Steps,
    /// They have registered different data, or have other settings.
    Data,
}

/// What a rank does next. All ranks that are connected do the same, in the same order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// Report to the other ranks; then [`Machine::on_tally`].
    Vote(Vote),
    /// Have rank 0 draw the plan, and receive it; then [`Machine::on_drawn`].
    Draw(u64),
    /// Start joining ranks; then [`Machine::on_spawned`].
    Spawn,
    /// Report to the root of the sources that this joining rank is at its loop, and wait for its
    /// word; then [`Machine::on_word`].
    Arrive,
    /// Make one communicator of sources and joining ranks; then [`Machine::on_connected`].
    Connect,
    /// Begin to move constant data; then [`Machine::on_moving`].
    MoveConstants,
    /// Move constant data, and wait for the root's next word; then [`Machine::on_word`].
    AwaitSwitch,
    /// Wait for constant data, and move everything else; then [`Machine::on_moved`].
    MoveVariables,
    /// Make the communicators of the new ranks; then [`Machine::on_committed`].
    Commit,
    /// Send joining ranks home; the resize does not come about. Then return the outcome.
    Cancel(Outcome),
    /// Find out, with all others, who disagrees, and return that error.
    Explain(Disagreement),
    /// Return to the program.
    Return(Outcome),
}

/// What a rank knows, besides its state, when it votes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Facts {
    /// How many ranks there are.
    pub size: u64,
    /// The size that is asked for here; 0 for none.
    pub wanted: u64,
    /// What is registered here.
    pub fingerprint: i64,
    /// Whether there is an error to report.
    pub has_problem: bool,
    /// Whether constant data moves yet or, on the root, joining ranks are not at their loop.
    pub is_busy: bool,
    /// Whether joining ranks have reported that they can't join, which the root knows, or rows were
    /// replaced, so that the plan is wrong.
    pub is_refused: bool,
}

/// The state of one rank.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Machine {
    state: State,
    step: i64,
    joins: bool,
    is_overlapped: bool,
    is_impatient: bool,
    has_user_phase: bool,
    is_ending: bool,
}

impl Machine {
    /// A rank of those that start the job.
    ///
    /// With `is_overlapped` the program computes while ranks start and constant data moves; with
    /// `has_user_phase` it moves data of its own, and commits.
    pub fn new(is_overlapped: bool, has_user_phase: bool) -> Self {
        Self {
            state: State::Running,
            step: 0,
            joins: false,
            is_overlapped,
            is_impatient: false,
            has_user_phase,
            is_ending: false,
        }
    }

    /// A rank that was spawned, when the others are at a step.
    pub fn joining(step: i64, is_overlapped: bool, has_user_phase: bool) -> Self {
        Self {
            state: State::Joining,
            step,
            joins: true,
            ..Self::new(is_overlapped, has_user_phase)
        }
    }

    /// Where this rank is.
    pub fn state(&self) -> State {
        self.state
    }

    /// The program's step, as its last checkpoint gave it.
    pub fn step(&self) -> i64 {
        self.step
    }

    /// The others are at this step by now.
    pub fn set_step(&mut self, step: i64) {
        self.step = step;
    }

    /// Whether the program's loop is over here.
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Whether it has been spawned, and has not joined yet.
    pub fn is_joining(&self) -> bool {
        self.joins
    }

    /// Whether the program computes while the next resize goes on.
    pub fn is_overlapped(&self) -> bool {
        self.is_overlapped && !self.is_impatient
    }

    /// Has the program wait for the next resize: the one before could not be finished meanwhile.
    pub fn wait_for_next(&mut self) {
        self.is_impatient = true;
    }

    /// The program is at the checkpoint of a step, which a joining rank does not know yet.
    pub fn on_checkpoint(&mut self, step: i64, facts: Facts) -> Action {
        match self.state {
            State::Running | State::Spawning | State::Moving => {
                self.step = step;
                self.vote(facts)
            }
            State::Joining => Action::Arrive,
            State::UserPhase | State::Switching => Action::Return(Outcome::NotCommitted),
            State::Left => Action::Return(Outcome::Leave),
            State::Over => Action::Return(Outcome::Over),
            State::Failed => Action::Return(Outcome::Failed),
        }
    }

    /// The program's loop is over.
    pub fn on_end(&mut self, facts: Facts) -> Action {
        match self.state {
            State::Running | State::Spawning | State::Moving => {
                self.is_ending = true;
                self.vote(facts)
            }
            // It can't join a loop that it does not come to.
            State::Joining => Action::Arrive,
            _ => self.on_checkpoint(self.step, facts),
        }
    }

    fn vote(&self, facts: Facts) -> Action {
        Action::Vote(self.report_of(0, facts))
    }

    /// What this rank reports when it makes a call that all make together, besides checkpoints.
    pub fn report(&self, call: &str, facts: Facts) -> Vote {
        // Its negative is reported, too, and 0 is a checkpoint.
        let number = xxhash_rust::xxh3::xxh3_64(call.as_bytes()) >> 1 | 1;
        self.report_of(number.cast_signed(), facts)
    }

    fn report_of(&self, call: i64, facts: Facts) -> Vote {
        Vote {
            step: self.step,
            call,
            fingerprint: facts.fingerprint,
            wanted: facts.wanted.cast_signed(),
            has_problem: facts.has_problem,
            is_busy: facts.is_busy,
            is_refused: facts.is_refused,
            has_ended: self.is_ending,
        }
    }

    /// All ranks have voted.
    pub fn on_tally(&mut self, tally: Tally, facts: Facts) -> Action {
        if let Some(what) = disagreement(tally) {
            self.state = State::Failed;
            return Action::Explain(what);
        }
        let has_ended = tally.has_ended == Some(true);
        match self.state {
            State::Running if has_ended => {
                self.state = State::Over;
                Action::Return(Outcome::Over)
            }
            State::Running if tally.wanted > 0 && tally.wanted != facts.size => {
                Action::Draw(tally.wanted)
            }
            State::Spawning | State::Moving if has_ended => {
                // Joining ranks that are not there yet are waited for: they have to be sent home.
                self.state = State::Over;
                Action::Cancel(Outcome::Over)
            }
            State::Spawning | State::Moving if tally.is_refused => {
                self.state = State::Running;
                Action::Cancel(Outcome::Cancelled)
            }
            State::Spawning if !tally.is_busy => Action::Connect,
            State::Moving if !tally.is_busy => self.switch(),
            _ => Action::Return(Outcome::Same),
        }
    }

    /// Rank 0 has drawn the plan, with or without joining ranks, or can't.
    pub fn on_drawn(&mut self, has_joining_ranks: Result<bool, ()>) -> Action {
        match has_joining_ranks {
            Err(()) => Action::Return(Outcome::Cancelled),
            Ok(true) => {
                self.state = State::Spawning;
                Action::Spawn
            }
            Ok(false) => Action::Connect,
        }
    }

    /// Joining ranks have been started. In a resize that is not overlapped they are waited for.
    pub fn on_spawned(&self, facts: Facts) -> Action {
        if self.is_overlapped() { Action::Return(Outcome::Same) } else { self.vote(facts) }
    }

    /// The root of the sources has sent a word to this joining rank.
    pub fn on_word(&mut self, word: Word) -> Action {
        match word {
            Word::Go => Action::Connect,
            Word::Switch => self.switch(),
            Word::Cancel => {
                self.state = State::Left;
                Action::Cancel(Outcome::Leave)
            }
        }
    }

    /// Sources and joining ranks are connected.
    pub fn on_connected(&mut self) -> Action {
        self.state = State::Moving;
        Action::MoveConstants
    }

    /// Constant data moves.
    pub fn on_moving(&mut self) -> Action {
        if self.joins {
            Action::AwaitSwitch
        } else if self.is_overlapped() {
            Action::Return(Outcome::Same)
        } else {
            self.switch()
        }
    }

    fn switch(&mut self) -> Action {
        self.state = State::Switching;
        Action::MoveVariables
    }

    /// All registered data has moved.
    pub fn on_moved(&mut self) -> Action {
        if self.has_user_phase {
            self.state = State::UserPhase;
            Action::Return(Outcome::UserPhase)
        } else {
            Action::Commit
        }
    }

    /// The program has moved what it has not registered.
    pub fn on_commit(&mut self) -> Action {
        if self.state == State::UserPhase {
            self.state = State::Switching;
            Action::Commit
        } else {
            Action::Return(Outcome::NotCommitted)
        }
    }

    /// The communicators are there; `stays` on the ranks that are in them.
    pub fn on_committed(&mut self, stays: bool) -> Action {
        self.joins = false;
        self.is_impatient = false;
        self.state = if stays { State::Running } else { State::Left };
        Action::Return(if stays { Outcome::Resized } else { Outcome::Leave })
    }

    /// Nothing can be done any more.
    pub fn on_failure(&mut self) {
        self.state = State::Failed;
    }
}

/// In what ranks do not agree, if they do not.
pub fn disagreement(tally: Tally) -> Option<Disagreement> {
    [
        (tally.has_problem, Disagreement::Problem),
        (!tally.is_same_call, Disagreement::Call),
        (tally.has_ended.is_none(), Disagreement::Ended),
        (!tally.is_same_step, Disagreement::Steps),
        (!tally.is_same_data, Disagreement::Data),
    ]
    .into_iter()
    .find_map(|(is_so, what)| is_so.then_some(what))
}
