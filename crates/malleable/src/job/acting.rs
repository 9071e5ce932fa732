//! What the state machine says, carried out.

use super::command::guarded_command;
use super::faults::{Report, explain, other_layout};
use super::moving;
use super::replicas::other_value;
use super::spawning::{self, Spawned};
use super::together::{agree, count_votes, finish, gather, largest, tell};
use super::transfer::{Between, Transfer};
use super::{Job, Role};
use crate::blueprint::{Blueprint, Layouts};
use crate::data::{Kind, fingerprint};
use crate::error::{MalleableError, Result};
use crate::guard;
use crate::mpi::{Deadline, Handle, guarded, wait};
use crate::resize::{Action, Disagreement, Facts, Outcome, State, Word};
use std::path::Path;
use std::time::Duration;

impl Job {
    /// Carries out an action and all that follow from it, until the program goes on.
    pub(super) fn act(&mut self, action: Action) -> Result<Outcome> {
        let mut action = action;
        loop {
            if let Action::Return(outcome) = action {
                return self.returned(outcome);
            }
            match self.next(action) {
                Ok(next) => action = next,
                Err(error) => {
                    self.machine.on_failure();
                    self.problem = Some(error.problem());
                    return Err(error);
                }
            }
        }
    }

    fn returned(&self, outcome: Outcome) -> Result<Outcome> {
        match outcome {
            Outcome::Failed => match &self.problem {
                Some(problem) => Err(MalleableError::Reported(problem.clone())),
                None => Err(MalleableError::Disagreement("the job has failed before".to_owned())),
            },
            Outcome::NotCommitted if self.machine.state() == State::UserPhase => {
                let text = "a resize is in its user phase: it has to be committed first";
                Err(MalleableError::BadCall(text.to_owned()))
            }
            Outcome::NotCommitted => Err(MalleableError::BadCall(NOTHING_TO_COMMIT.to_owned())),
            other => Ok(other),
        }
    }

    fn next(&mut self, action: Action) -> Result<Action> {
        Ok(match action {
            Action::Vote(vote) => {
                let is_spawning = self.machine.state() == State::Spawning;
                let awaits_joining = is_spawning && !self.machine.is_overlapped();
                let timeout = self.settings.vote_timeout(awaits_joining);
                let what = format!("checkpoint {}", vote.step);
                let tally = count_votes(&*self.mpi, self.control()?, &vote, &what, timeout)?;
                let facts = self.facts()?;
                self.machine.on_tally(tally, facts)
            }
            Action::Draw(size) => {
                let drawn = self.draw(size)?;
                self.machine.on_drawn(drawn)
            }
            Action::Spawn => {
                self.spawn()?;
                let facts = self.facts()?;
                self.machine.on_spawned(facts)
            }
            Action::Arrive => {
                let word = self.arrive()?;
                self.machine.on_word(word)
            }
            Action::Connect => {
                self.connect()?;
                self.machine.on_connected()
            }
            Action::MoveConstants => {
                self.transfer = Transfer::default();
                self.transferring(|transfer, between, arrays| {
                    moving::start(transfer, between, arrays, Kind::Constant)
                })?;
                self.machine.on_moving()
            }
            Action::AwaitSwitch => {
                let word = self.await_word()?;
                self.machine.on_word(word)
            }
            Action::MoveVariables => {
                self.move_variables()?;
                self.machine.on_moved()
            }
            Action::Commit => {
                let stays = self.commit_resize()?;
                self.machine.on_committed(stays)
            }
            Action::Cancel(outcome) => {
                self.cancel(outcome)?;
                Action::Return(outcome)
            }
            Action::Explain(what) => return Err(self.explained(what)?),
            Action::Return(_) => action,
        })
    }

    pub(super) fn facts(&mut self) -> Result<Facts> {
        let is_busy = match (self.machine.state(), &mut self.spawned) {
            (State::Spawning, Some(spawned)) => !spawned.has_heard(&*self.mpi)?,
            (State::Moving, _) => !self.transfer.is_done(&*self.mpi)?,
            _ => false,
        };
        Ok(Facts {
            size: self.size as u64,
            wanted: self.requested,
            fingerprint: self.fingerprint(),
            has_problem: self.problem.is_some(),
            is_busy,
            is_refused: self.is_stale
                || self.spawned.as_ref().is_some_and(|spawned| spawned.problem.is_some()),
        })
    }

    /// Asks for the size that is due at a step, or stands in the file.
    pub(super) fn ask_for_target(&mut self, step: i64) {
        let before = self.checkpoint.replace(step);
        if self.is_joining() {
            return;
        }
        let listed = self.settings.target(before, step);
        let file = self.settings.target_file.as_ref().filter(|_| self.rank == 0);
        let filed = file.and_then(|file| self::filed(file, &mut self.unread));
        // What could not be done is not tried again, until the file has something else.
        let filed = filed.filter(|size| *size != self.cancelled_size);
        if let Some(size) = listed.or(filed) {
            self.requested = size;
        }
        if self.requested == self.size as u64 {
            self.requested = 0;
        }
    }

    /// The plan of rank 0; whether there are joining ranks in it. Without one the job goes on.
    fn draw(&mut self, size: u64) -> Result<std::result::Result<bool, ()>> {
        self.requested = 0;
        let problem = self.unlike_layouts(size as usize)?;
        let own = match problem {
            None if self.rank == 0 => self.drawn(size),
            problem => Err(problem.unwrap_or_default()),
        };
        let bytes = postcard::to_stdvec(&own)?;
        let timeout = self.settings.timeout;
        let bytes = tell(&*self.mpi, self.control()?, 0, bytes, timeout, "drawing the plan")?;
        match postcard::from_bytes::<std::result::Result<Blueprint, String>>(&bytes)? {
            Ok(plan) => {
                let joining = plan.joining;
                self.blueprint = Some(plan);
                Ok(Ok(joining > 0))
            }
            Err(problem) => {
                self.set_cancelled(size, problem);
                Ok(Err(()))
            }
        }
    }

    /// How rows are dealt to so many ranks: all of them, unless the fewest are to move. Then only
    /// those that are to be one run, and what lies alike, are dealt without a look at who has them.
    fn layouts_after(&self, size: usize) -> std::result::Result<Layouts, String> {
        let mut after = Layouts::new();
        for one in &self.arrays {
            let is_fewest = self.settings.is_minimal && !one.description.needs_one_run();
            if let Some(deal) = one.description.deal().filter(|_| !is_fewest) {
                let dealt =
                    self.layout(&one.description, size).map_err(|error| error.to_string())?;
                after.insert(deal, dealt);
            }
        }
        Ok(after)
    }

    /// Which rank's own function lays rows out otherwise than that of rank 0, if one does.
    fn unlike_layouts(&self, size: usize) -> Result<Option<String>> {
        if self.settings.layout.is_none() {
            return Ok(None);
        }
        let own = self.layouts_after(size);
        let number = own.as_ref().map_or(0, fingerprint);
        let (mpi, control, timeout) = (&*self.mpi, self.control()?, self.settings.timeout);
        let what = "comparing layouts";
        let [most, least] = largest(mpi, control, [number, -number], timeout, what)?;
        if most == -least {
            return Ok(None);
        }
        let mut layouts = Vec::new();
        let found = gather(mpi, control, &postcard::to_stdvec(&own)?, timeout, what)?;
        for (rank, bytes) in found.iter().enumerate() {
            match postcard::from_bytes::<std::result::Result<Layouts, String>>(bytes)? {
                Ok(one) => layouts.push(one),
                Err(problem) => return Ok(Some(format!("rank {rank}: {problem}"))),
            }
        }
        let found = other_layout(&layouts, &self.described());
        Ok(Some(found.unwrap_or_else(|| "the layouts differ".to_owned())))
    }

    fn drawn(&self, size: u64) -> std::result::Result<Blueprint, String> {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        self.settings.require_room(size, self.size as u64, processors)?;
        let (data, size) = (self.described(), size as usize);
        let after = self.layouts_after(size).map_err(|problem| format!("rank 0: {problem}"))?;
        let (step, method) = (self.machine.step(), self.settings.method);
        let layouts = (&self.layouts, after);
        let mut plan = Blueprint::draw(step, size, method, &self.groups, &data, layouts)
            .map_err(|error| error.to_string())?;
        plan.settings.clone_from(&self.texts);
        if plan.joining > 0 {
            guarded_command(&*self.mpi, self.settings.spawn_timeout)?;
        }
        Ok(plan)
    }

    fn set_cancelled(&mut self, size: u64, problem: String) {
        let step = self.machine.step();
        let text = MalleableError::Cancelled { size, step, problem }.to_string();
        if self.rank == 0 {
            eprintln!("freestone: {text}; the job goes on with {} ranks", self.size);
        }
        self.cancelled = Some(text);
        self.cancelled_size = size;
    }

    fn spawn(&mut self) -> Result<()> {
        let (control, plan, timeout) = (self.control()?, self.plan()?, self.settings.spawn_timeout);
        let mpi = &*self.mpi;
        let command = guarded_command(mpi, timeout).map_err(MalleableError::BadCall)?;
        let own = guarded("MPI_Comm_spawn", timeout, || mpi.spawn(control, &command, plan.joining));
        let sides = own.as_ref().ok().copied();
        // A joining rank may be lost while the sources connect to it, one after the other. The plan
        // is sent when all are connected: until then a joining rank waits for it.
        let who = |rank: usize| format!("rank {rank}");
        let step = self.machine.step();
        let problem = match agree(mpi, control, own, step, who, timeout, "spawning ranks") {
            Ok(_) => None,
            Err(MalleableError::Reported(problem)) => Some(problem.text),
            Err(error) => return Err(error),
        };
        let mut spawned = Spawned::new(mpi, sides, self.rank == 0, plan, timeout, problem)?;
        if !self.machine.is_overlapped() {
            // It ends: a rank that does not come in time is a problem.
            wait(Deadline::after(Duration::MAX), || spawned.has_heard(mpi))?;
        }
        self.spawned = Some(spawned);
        Ok(())
    }

    fn arrive(&mut self) -> Result<Word> {
        let parent = self.parent()?;
        // The others may have given it up, and be gone.
        if let Some(word) = spawning::heard(&*self.mpi, parent)? {
            return Ok(word);
        }
        let problem =
            self.problem.take().map(|problem| problem.text).or_else(|| self.unlike_others());
        guard::join();
        spawning::report(&*self.mpi, parent, problem.as_deref().unwrap_or_default())?;
        self.await_word()
    }

    /// Waits for the root's word, and moves constant data meanwhile: the others' steps may take any
    /// time, and if they end, so does this process.
    fn await_word(&mut self) -> Result<Word> {
        let (parent, mpi, transfer) = (self.parent()?, &*self.mpi, &mut self.transfer);
        let mut word = None;
        wait(Deadline::after(Duration::MAX), || {
            transfer.is_done(mpi)?;
            word = spawning::heard(mpi, parent)?;
            Ok(word.is_some())
        })?;
        Ok(word.unwrap_or(Word::Cancel))
    }

    fn connect(&mut self) -> Result<()> {
        if self.machine.is_joining() {
            self.adopt_descriptions()?;
        }
        let (mpi, timeout) = (&*self.mpi, self.settings.timeout);
        let joining = self.plan()?.joining;
        if let Some(spawned) = &mut self.spawned {
            spawned.say(mpi, Word::Go, joining)?;
        }
        let sides = self.spawned.as_ref().and_then(|spawned| spawned.sides).or(self.parent);
        let is_joining = self.machine.is_joining();
        if let Some(sides) = sides.filter(|_| is_joining || self.spawned.is_some()) {
            let merge = || mpi.merge(sides, is_joining);
            self.bridge = Some(guarded("MPI_Intercomm_merge", timeout, merge)?);
        }
        Ok(())
    }

    fn move_variables(&mut self) -> Result<()> {
        let joining = self.plan()?.joining;
        if let Some(spawned) = &mut self.spawned {
            spawned.say(&*self.mpi, Word::Switch, joining)?;
        }
        self.transferring(|transfer, between, arrays| {
            transfer.finish(between)?;
            moving::move_variables(transfer, between, arrays)
        })?;
        // Joining ranks count the steps that were made while they joined, too.
        let step = self.machine.step().to_le_bytes().to_vec();
        let (bridge, timeout) = (self.bridge()?, self.settings.timeout);
        let step = tell(&*self.mpi, bridge, 0, step, timeout, "the switch")?;
        let step = i64::from_le_bytes(step.try_into().unwrap_or_default());
        self.machine.set_step(step);
        self.checkpoint = Some(step);
        let process = self.process()?;
        self.role = match (process < self.plan()?.sources, self.plan()?.rank_of(process)) {
            (true, Some(_)) => Role::Staying,
            (false, _) => Role::Joining,
            (true, None) => Role::Leaving,
        };
        Ok(())
    }

    fn transferring(
        &mut self,
        act: impl FnOnce(&mut Transfer, Between<'_>, &mut [crate::data::Array]) -> Result<()>,
    ) -> Result<()> {
        let (bridge, process) = (self.bridge()?, self.process()?);
        let blueprint = self.blueprint.as_ref().ok_or_else(no_plan)?;
        let (mpi, timeout) = (&*self.mpi, self.settings.timeout);
        let step = self.machine.step();
        let between = Between { mpi, bridge, process, blueprint, step, timeout };
        act(&mut self.transfer, between, &mut self.arrays)
    }

    /// Makes the communicators of the new ranks; whether this process is one of them.
    fn commit_resize(&mut self) -> Result<bool> {
        let (bridge, process, timeout) = (self.bridge()?, self.process()?, self.settings.timeout);
        let plan = self.blueprint.take().ok_or_else(no_plan)?;
        let rank = plan.rank_of(process);
        let mpi = &*self.mpi;
        let control = guarded("MPI_Comm_split", timeout, || mpi.split(bridge, rank))?;
        let comm = match control {
            Some(control) => Some(guarded("MPI_Comm_dup", timeout, || mpi.duplicate(control))?),
            None => None,
        };
        // A process that ends while another one is starting ends the job.
        finish(mpi, &mut vec![mpi.barrier(bridge)?], timeout, "the switch")?;
        let sides = self.spawned.take().and_then(|spawned| spawned.sides).or(self.parent.take());
        let old = [self.comm, self.control, self.bridge.take(), sides];
        for comm in old.into_iter().flatten() {
            mpi.free(comm)?;
        }
        (self.comm, self.control) = (comm, control);
        for array in &mut self.arrays {
            let deal = array.description.deal();
            array.hold(deal.map_or(Ok(Vec::new()), |deal| plan.rows_after(deal, process))?);
        }
        self.sent_nbytes += self.transfer.sent_nbytes;
        self.resizes += 1;
        self.cancelled_size = 0;
        self.groups = plan.groups_after();
        self.size = plan.process_of.len();
        self.layouts = plan.after;
        if let Some(rank) = rank {
            self.rank = rank;
        }
        Ok(rank.is_some())
    }

    /// Gives a resize up, once nothing is on its way any more, and sends joining ranks home.
    fn cancel(&mut self, outcome: Outcome) -> Result<()> {
        let is_stale = std::mem::take(&mut self.is_stale);
        let mut spawned = self.spawned.take();
        if let Some(spawned) =
            spawned.as_mut().filter(|_| is_stale || outcome != Outcome::Cancelled)
        {
            let deadline = Deadline::after(self.settings.spawn_timeout);
            wait(deadline, || spawned.has_heard(&*self.mpi))?;
        }
        if outcome == Outcome::Cancelled {
            let problem = spawned.as_ref().and_then(|spawned| spawned.problem.clone());
            let own = if is_stale { STALE.to_owned() } else { problem.unwrap_or_default() };
            let (control, timeout) = (self.control()?, self.settings.timeout);
            let own = own.into_bytes();
            let text = tell(&*self.mpi, control, 0, own, timeout, "cancelling the resize")?;
            let size = self.plan()?.process_of.len() as u64;
            self.set_cancelled(size, String::from_utf8_lossy(&text).into_owned());
            if is_stale {
                (self.cancelled_size, self.requested) = (0, size);
                self.machine.wait_for_next();
            }
        }
        // Without joining ranks the sources themselves are the bridge.
        if self.bridge.is_some() || (spawned.is_none() && self.control.is_some()) {
            self.transferring(|transfer, between, _| transfer.finish(between))?;
            // What has come of the rows to be.
            self.arrays.iter_mut().for_each(|array| array.hold(array.held.clone()));
        }
        if let Some(spawned) = &mut spawned {
            spawned.dismiss(&*self.mpi, self.plan()?.joining)?;
        }
        self.blueprint = None;
        // To give its communicators back needs all that are in them.
        self.bridge = None;
        Ok(())
    }

    /// The error of ranks that do not agree, which all of them get.
    pub(super) fn explained(&self, what: Disagreement) -> Result<MalleableError> {
        let report = Report {
            step: self.machine.step(),
            has_ended: self.machine.is_ending(),
            call: self.call.clone(),
            problem: self.problem.clone(),
            settings: self.texts.clone(),
            data: self.described(),
            layouts: self.layouts.clone(),
            values: self.values.clone(),
        };
        let (own, timeout) = (postcard::to_stdvec(&report)?, self.settings.timeout);
        let found = gather(&*self.mpi, self.control()?, &own, timeout, "finding who disagrees")?;
        let reports: Vec<Report> = found
            .iter()
            .map(|bytes| postcard::from_bytes(bytes))
            .collect::<std::result::Result<_, _>>()?;
        match other_value(&reports).filter(|_| what == Disagreement::Data) {
            Some(at) => self.other_bytes(at),
            None => Ok(MalleableError::Reported(explain(what, &reports))),
        }
    }

    pub(super) fn control(&self) -> Result<Handle> {
        self.control.ok_or_else(|| {
            MalleableError::BadCall(
                "this process is not in the job any more, or not yet".to_owned(),
            )
        })
    }

    fn parent(&self) -> Result<Handle> {
        self.parent.ok_or_else(no_plan)
    }

    pub(super) fn plan(&self) -> Result<&Blueprint> {
        self.blueprint.as_ref().ok_or_else(no_plan)
    }

    pub(super) fn bridge(&self) -> Result<Handle> {
        self.bridge.map_or_else(|| self.control(), Ok)
    }

    pub(super) fn process(&self) -> Result<usize> {
        self.mpi.rank(self.bridge()?)
    }
}

/// The size that stands in a file, if it is there. What is none is reported, once.
fn filed(file: &Path, unread: &mut Option<String>) -> Option<u64> {
    let found = match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => return None,
        Ok(text) => match text.trim().parse::<u64>() {
            Ok(size) if size > 0 && i32::try_from(size).is_ok() => {
                *unread = None;
                return Some(size);
            }
            _ => format!("has {:?}, which is no number of ranks", text.trim()),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => format!("can't be read ({error})"),
    };
    if unread.as_ref() != Some(&found) {
        eprintln!(
            "freestone: the target file {} {found}; the job keeps its size (write a number such \
             as 4 into it)",
            file.display()
        );
        *unread = Some(found);
    }
    None
}

/// What can be said of a call that ends a user phase in which the job is not.
pub(super) const NOTHING_TO_COMMIT: &str = "there is no resize to commit: one begins when a \
    checkpoint returns that it is in its user phase, which it does if the job has one";

/// Why a resize is begun anew.
const STALE: &str = "rows were replaced meanwhile, so it is begun anew";

fn no_plan() -> MalleableError {
    MalleableError::BadCall("no resize goes on (a bug; please report it)".to_owned())
}
