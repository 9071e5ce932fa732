//! The executors, what they were sent, and what they map.

use super::api::{Action, Now};
use super::calls::Call;
use super::claim::LAST_SEQUENCE;
use crate::wire::{Call as SentCall, Isolation};
use freestone_base::{FunctionId, Name, Resources, TaskId};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet, VecDeque};

/// The longest that a call is expected to take, and what is expected of one that is not known:
/// nothing is sent behind it. As many as an executor holds can be summed up.
pub(super) const UNKNOWN_NS: u64 = 1 << 40;

/// How an executor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Health {
    /// It was started and has not said anything.
    Starting,
    /// It takes calls.
    Ready,
    /// It is being killed; what it still says counts.
    Dying,
    /// It is dead, and to be started again at this time.
    Dead { again_at: Now },
    /// There is none, and none is needed: it stood in for one whose call waits.
    Absent,
}

/// A call in an executor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct InFlight {
    pub sequence: u32,
    pub task: TaskId,
    pub attempt: u32,
    /// How long it is expected to take.
    pub expected_ns: u64,
    /// The blocks that it maps.
    pub inputs: SmallVec<[Name; 2]>,
    /// The blocks that it may leave.
    pub outputs: SmallVec<[Name; 1]>,
    /// Whether it runs in a process of its own.
    pub is_isolated: bool,
}

/// A call that waits for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Paused {
    pub sequence: u32,
    /// Since when it could go on, if it could.
    pub resuming_since: Option<Now>,
    /// Whether the manager knows that it could, and waits for what it takes.
    pub is_reported: bool,
}

/// One executor.
#[derive(Debug)]
pub(super) struct Executor {
    pub health: Health,
    /// What it was sent and has not answered, in order.
    pub in_flight: VecDeque<InFlight>,
    /// The sum over `in_flight`.
    pub work_ns: u64,
    pub next_sequence: u32,
    /// What its calls take, as long as there are any: it runs one at a time, and gets no others
    /// than such as take the same.
    pub lease: Option<Resources>,
    /// Its call is to stay alone.
    pub exclusive: bool,
    /// Functions that it knows.
    pub defined: HashSet<FunctionId>,
    /// Blocks that it maps or is about to, and how often.
    pub mapped: HashMap<Name, u32>,
    /// From which sequence on a revocation is under way.
    pub revoking: Option<u32>,
    /// After a revocation, until what it had begun before has ended.
    pub on_hold: bool,
    /// When to ask again for what could not be taken back.
    pub ask_again_at: Option<Now>,
    /// The call that it is killed for, when that is why it dies.
    pub killed_for: Option<TaskId>,
    /// The call that waits for others, if the one that it runs does.
    pub paused: Option<Paused>,
    /// When its only call runs out of time.
    pub deadline: Option<Now>,
    /// When it last began or ended something.
    pub moved_at: Now,
    /// When it was last looked at, and since when it has been found stopped.
    pub looked_at: Now,
    pub stopped_since: Option<Now>,
    /// How often it died in a row without having been ready.
    pub stillborn: u32,
    /// What is to be sent at the end of this turn.
    pub outbox: Vec<SentCall>,
}

impl Executor {
    pub fn new() -> Self {
        Self {
            health: Health::Starting,
            in_flight: VecDeque::new(),
            work_ns: 0,
            next_sequence: 1,
            lease: None,
            exclusive: false,
            defined: HashSet::new(),
            mapped: HashMap::new(),
            revoking: None,
            on_hold: false,
            ask_again_at: None,
            killed_for: None,
            paused: None,
            deadline: None,
            moved_at: 0,
            looked_at: 0,
            stopped_since: None,
            stillborn: 0,
            outbox: Vec::new(),
        }
    }

    /// The task of a call that it was sent and has not answered.
    pub fn task_of(&self, sequence: u32) -> Option<TaskId> {
        self.in_flight.iter().find(|sent| sent.sequence == sequence).map(|sent| sent.task)
    }

    /// Whether it runs a call that does not wait for others.
    pub fn is_busy(&self) -> bool {
        self.lease.is_some() && self.paused.is_none()
    }

    /// Whether it takes calls now.
    pub fn accepts(&self) -> bool {
        self.health == Health::Ready
            && !self.on_hold
            && self.paused.is_none()
            && self.revoking.is_none()
            && self.next_sequence < LAST_SEQUENCE
    }

    /// Whether it must be replaced since it has no sequences left.
    pub fn is_worn_out(&self) -> bool {
        self.health == Health::Ready
            && self.in_flight.is_empty()
            && self.next_sequence >= LAST_SEQUENCE
    }

    /// Has it killed; `index` is its own.
    pub fn kill(&mut self, index: u32, out: &mut Vec<Action>) {
        self.health = Health::Dying;
        out.push(Action::Kill(index));
    }

    /// Adds a call and gives it its sequence.
    pub fn push(&mut self, call: &Call, expected_ns: u64) -> u32 {
        let Call { assignment, held, .. } = call;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let expected_ns = expected_ns.min(UNKNOWN_NS);
        let inputs = held.clone();
        for name in &inputs {
            *self.mapped.entry(*name).or_insert(0) += 1;
        }
        let (task, attempt) = (assignment.task, assignment.attempt);
        let outputs = assignment.outputs.clone();
        self.in_flight.push_back(InFlight {
            sequence,
            task,
            attempt,
            expected_ns,
            inputs,
            outputs,
            is_isolated: assignment.options.isolation != Isolation::Shared,
        });
        self.work_ns += expected_ns;
        sequence
    }

    /// Takes out the call with a sequence.
    pub fn take(&mut self, sequence: u32) -> Option<InFlight> {
        let at = self.in_flight.iter().position(|call| call.sequence == sequence)?;
        let call = self.in_flight.remove(at)?;
        self.paused = self.paused.filter(|paused| paused.sequence != sequence);
        self.ended(call.expected_ns);
        Some(call)
    }

    /// Takes out the calls from a sequence on.
    pub fn take_from(&mut self, first: u32) -> Vec<InFlight> {
        let at = self.in_flight.partition_point(|call| call.sequence < first);
        let taken: Vec<InFlight> = self.in_flight.split_off(at).into();
        self.ended(taken.iter().map(|call| call.expected_ns).sum());
        taken
    }

    /// Notes that a call does not map a block any more. False: it did not.
    pub fn unmap(&mut self, name: Name) -> bool {
        let Some(count) = self.mapped.get_mut(&name) else { return false };
        *count -= 1;
        if *count == 0 {
            self.mapped.remove(&name);
        }
        true
    }

    fn ended(&mut self, expected_ns: u64) {
        self.work_ns -= expected_ns;
        if self.in_flight.is_empty() {
            self.on_hold = false;
            self.exclusive = false;
            self.paused = None;
            self.deadline = None;
        }
    }
}
