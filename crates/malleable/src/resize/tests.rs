//! Many ranks on the state machine, by a seeded scheduler, with faults.

use super::*;
use std::mem::{discriminant, take};

/// Numbers by a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }

    fn one_in(&mut self, end: u64) -> bool {
        self.below(end) == 0
    }
}

/// What the program of one rank does wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    None,
    SkipsStep(i64),
    EndsAt(i64),
    OtherData,
    ProblemAt(i64),
}

/// One process: its machine, what it is about to do, and how it has ended.
struct Process {
    machine: Machine,
    waits: Option<Action>,
    fault: Fault,
    next_step: i64,
    in_flight: u64,
    end: Option<Result<Outcome, Disagreement>>,
}

impl Process {
    fn new(machine: Machine, fault: Fault) -> Self {
        Self { machine, waits: None, fault, next_step: 0, in_flight: 0, end: None }
    }
}

/// The processes of a job.
struct World {
    random: Random,
    processes: Vec<Process>,
    /// Those that are in the job, and those that join it.
    ranks: Vec<usize>,
    joining: Vec<usize>,
    /// Size and number of joining ranks of the resize that goes on.
    planned: (usize, usize),
    refuses: bool,
    /// Whether the program replaces rows in every seventh step.
    replaces: bool,
    steps: i64,
    settings: (bool, bool, bool),
    resizes: usize,
}

impl World {
    fn new(seed: u64, fault: impl Fn(&mut Random) -> Fault) -> Self {
        let mut random = Random(seed);
        let settings = (random.one_in(2), random.one_in(2), random.one_in(3));
        let (size, steps) = (1 + random.below(4), 5 + random.below(30).cast_signed());
        let (faulty, fault) = (random.below(size), fault(&mut random));
        let process = |rank| {
            let machine = Machine::new(settings.0, settings.1);
            Process::new(machine, if rank == faulty { fault } else { Fault::None })
        };
        Self {
            processes: (0..size).map(process).collect(),
            ranks: (0..size as usize).collect(),
            joining: Vec::new(),
            planned: (0, 0),
            refuses: false,
            replaces: random.one_in(3),
            steps,
            settings,
            resizes: 0,
            random,
        }
    }

    /// Runs processes in an order by the seed until all have ended.
    fn run(&mut self) {
        for _ in 0..100_000 {
            let alive: Vec<_> = (0..self.processes.len())
                .filter(|one| self.processes[*one].end.is_none())
                .collect();
            if alive.is_empty() {
                return;
            }
            let process = alive[self.random.below(alive.len() as u64) as usize];
            match self.processes[process].waits {
                None => self.run_program(process),
                Some(action) => self.try_act(process, action),
            }
        }
        let waits: Vec<_> =
            self.processes.iter().map(|one| (one.machine.state(), one.waits)).collect();
        panic!("nothing goes on: {waits:?}");
    }

    fn facts(&mut self, process: usize) -> Facts {
        let is_root = self.ranks[0] == process;
        let has_arrived = |one: &usize| self.processes[*one].waits == Some(Action::Arrive);
        let is_missing = is_root && !self.refuses && !self.joining.iter().all(has_arrived);
        let wanted = if is_root && self.random.one_in(3) { 1 + self.random.below(6) } else { 0 };
        let one = &mut self.processes[process];
        let is_moving = one.machine.state() == State::Moving;
        let goes_on = is_moving || one.machine.state() == State::Spawning;
        let is_stale = self.replaces && goes_on && one.machine.step() % 7 == 3;
        if is_moving {
            one.in_flight = one.in_flight.saturating_sub(1);
        }
        Facts {
            size: self.ranks.len() as u64,
            wanted,
            fingerprint: 1 + i64::from(one.fault == Fault::OtherData),
            has_problem: matches!(one.fault, Fault::ProblemAt(step) if one.machine.step() >= step),
            is_busy: if is_moving { one.in_flight > 0 } else { is_missing },
            is_refused: (is_root && self.refuses) || is_stale,
        }
    }

    /// The program of a process goes on to its next call.
    fn run_program(&mut self, process: usize) {
        let facts = self.facts(process);
        let steps = self.steps;
        let one = &mut self.processes[process];
        if matches!(one.fault, Fault::SkipsStep(at) if at == one.next_step) {
            one.next_step += 1;
        }
        let step = one.next_step;
        let ends = step >= steps || matches!(one.fault, Fault::EndsAt(at) if step >= at);
        one.waits = Some(match one.machine.state() {
            State::UserPhase => one.machine.on_commit(),
            State::Joining => one.machine.on_checkpoint(0, facts),
            _ if ends => one.machine.on_end(facts),
            _ => {
                one.next_step += 1;
                one.machine.on_checkpoint(step, facts)
            }
        });
    }

    fn try_act(&mut self, process: usize, action: Action) {
        match action {
            Action::Return(outcome) => self.returned(process, outcome),
            Action::Cancel(outcome) if !self.ranks.contains(&process) => {
                self.processes[process].waits = Some(Action::Return(outcome));
            }
            // The root's word wakes them.
            Action::Arrive | Action::AwaitSwitch => {}
            Action::MoveConstants => {
                self.processes[process].in_flight = self.random.below(4);
                self.next(process, Machine::on_moving);
            }
            _ => self.try_together(action),
        }
    }

    fn returned(&mut self, process: usize, outcome: Outcome) {
        let one = &mut self.processes[process];
        one.waits = None;
        assert_ne!(outcome, Outcome::NotCommitted);
        if matches!(outcome, Outcome::Leave | Outcome::Over | Outcome::Failed) {
            one.end = Some(Ok(outcome));
        }
    }

    /// Does what all that take part wait for, if they do; none may wait for anything else there.
    fn try_together(&mut self, action: Action) {
        let with_joining =
            matches!(action, Action::Connect | Action::MoveVariables | Action::Commit);
        if with_joining {
            self.say(if action == Action::Connect { Word::Go } else { Word::Switch });
        }
        let mut members = self.ranks.clone();
        members.extend(self.joining.iter().filter(|_| with_joining));
        let is_alone = |its: Action| {
            matches!(
                its,
                Action::Return(_) | Action::MoveConstants | Action::Arrive | Action::AwaitSwitch
            )
        };
        let mut all = true;
        for member in &members {
            match self.processes[*member].waits {
                Some(its) if discriminant(&its) == discriminant(&action) => {}
                Some(its) => {
                    assert!(is_alone(its), "{action:?} on one rank, {its:?} on another");
                    all = false;
                }
                None => all = false,
            }
        }
        if all {
            self.act_together(&members, action);
        }
    }

    fn say(&mut self, word: Word) {
        for joining in self.joining.clone() {
            let waits = self.processes[joining].waits;
            let is_due = match word {
                Word::Go => waits == Some(Action::Arrive),
                Word::Switch => waits == Some(Action::AwaitSwitch),
                Word::Cancel => true,
            };
            if is_due {
                self.next(joining, |machine| machine.on_word(word));
            }
        }
    }

    fn act_together(&mut self, members: &[usize], action: Action) {
        match action {
            Action::Vote(_) => {
                let mut words = [i64::MIN; WORDS];
                for member in members {
                    let Some(Action::Vote(vote)) = self.processes[*member].waits else { continue };
                    words
                        .iter_mut()
                        .zip(vote.words())
                        .for_each(|(word, own)| *word = own.max(*word));
                }
                let tally = Tally::of(&words);
                for member in members {
                    let facts = self.facts(*member);
                    self.next(*member, |machine| machine.on_tally(tally, facts));
                }
            }
            Action::Draw(size) => {
                let fails = self.random.one_in(8);
                let (_, _, is_baseline) = self.settings;
                let missing = (size as usize).saturating_sub(self.ranks.len());
                let joining = if is_baseline { size as usize } else { missing };
                self.planned = (size as usize, joining);
                let drawn = if fails { Err(()) } else { Ok(joining > 0) };
                for member in members {
                    self.next(*member, |machine| machine.on_drawn(drawn));
                }
            }
            Action::Spawn => self.spawn(members),
            Action::Connect => {
                for member in members {
                    self.next(*member, Machine::on_connected);
                }
            }
            Action::MoveVariables => {
                let step = self.processes[self.ranks[0]].machine.step();
                for member in members {
                    self.processes[*member].machine.set_step(step);
                    self.processes[*member].next_step = step + 1;
                    self.next(*member, Machine::on_moved);
                }
            }
            Action::Commit => self.commit(members),
            Action::Cancel(outcome) => {
                self.say(Word::Cancel);
                self.joining.clear();
                self.refuses = false;
                for member in members {
                    if self.replaces {
                        self.processes[*member].machine.wait_for_next();
                    }
                    self.processes[*member].waits = Some(Action::Return(outcome));
                }
            }
            Action::Explain(what) => {
                for member in members {
                    self.processes[*member].end = Some(Err(what));
                }
                for joining in take(&mut self.joining) {
                    // The program ends, and its launcher ends them.
                    self.processes[joining].end = Some(Err(what));
                }
            }
            _ => unreachable!("{action:?} is done by one rank"),
        }
    }

    fn spawn(&mut self, members: &[usize]) {
        let step = self.processes[self.ranks[0]].machine.step();
        let (is_overlapped, user_phase, _) = self.settings;
        let overlapped = self.processes[self.ranks[0]].machine.is_overlapped();
        let start = self.processes.len();
        for _ in 0..self.planned.1 {
            let mut process =
                Process::new(Machine::joining(step, is_overlapped, user_phase), Fault::None);
            if !overlapped {
                // The root waits for them before it votes.
                process.waits = Some(Action::Arrive);
            }
            self.processes.push(process);
        }
        self.joining = (start..self.processes.len()).collect();
        self.refuses = self.random.one_in(6);
        for member in members {
            let facts = self.facts(*member);
            self.next(*member, |machine| machine.on_spawned(facts));
        }
    }

    fn commit(&mut self, members: &[usize]) {
        let (size, _) = self.planned;
        let (_, _, is_baseline) = self.settings;
        let ranks: Vec<_> = if is_baseline {
            self.joining.clone()
        } else {
            members.iter().copied().take(size).collect()
        };
        assert_eq!(ranks.len(), size);
        for member in members {
            let stays = ranks.contains(member);
            self.next(*member, |machine| machine.on_committed(stays));
        }
        self.ranks = ranks;
        self.joining.clear();
        self.resizes += 1;
    }

    fn next(&mut self, process: usize, next: impl FnOnce(&mut Machine) -> Action) {
        let one = &mut self.processes[process];
        one.waits = Some(next(&mut one.machine));
    }
}

#[test]
fn every_run_ends_with_all_ranks_at_the_same_step() {
    let mut resizes = 0;
    for seed in 0..3000 {
        let mut world = World::new(seed, |_| Fault::None);
        world.run();
        let ends: Vec<_> = world.ranks.iter().map(|rank| world.processes[*rank].end).collect();
        assert!(ends.iter().all(|end| *end == Some(Ok(Outcome::Over))), "seed {seed}: {ends:?}");
        let step = |rank: &usize| world.processes[*rank].machine.step();
        assert!(world.ranks.iter().all(|rank| step(rank) == world.steps - 1), "seed {seed}");
        let outside = |process: &usize| !world.ranks.contains(process);
        for process in (0..world.processes.len()).filter(outside) {
            assert_eq!(world.processes[process].end, Some(Ok(Outcome::Leave)), "seed {seed}");
        }
        resizes += world.resizes;
    }
    assert!(resizes > 1000, "{resizes}");
}

/// What ranks that did not leave before have failed with.
fn failures(seed: u64, fault: impl Fn(&mut Random) -> Fault) -> Option<Disagreement> {
    let mut world = World::new(seed, fault);
    world.run();
    let is_over = |rank: &&usize| world.processes[**rank].end == Some(Ok(Outcome::Over));
    let found: Vec<_> = world.ranks.iter().map(|rank| world.processes[*rank].end).collect();
    if world.ranks.iter().any(|rank| is_over(&rank)) {
        assert!(world.ranks.iter().all(|rank| is_over(&rank)), "seed {seed}: {found:?}");
        return None;
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {found:?}");
    found[0].and_then(Result::err)
}

#[test]
fn ranks_that_disagree_fail_all_alike() {
    let mut count = [0; 4];
    for seed in 0..1000 {
        let at = |random: &mut Random| 1 + random.below(6).cast_signed();
        let skips = failures(seed, |random| Fault::SkipsStep(1 + random.below(3).cast_signed()));
        let ends = failures(seed, |random| Fault::EndsAt(at(random)));
        let data = failures(seed, |_| Fault::OtherData);
        let problem = failures(seed, |random| Fault::ProblemAt(at(random)));
        // A rank that is alone agrees with itself, and one may leave before its fault.
        let found = [
            (skips, Disagreement::Steps),
            (ends, Disagreement::Ended),
            (data, Disagreement::Data),
            (problem, Disagreement::Problem),
        ];
        for (count, (found, expected)) in count.iter_mut().zip(found) {
            assert!(found.is_none_or(|found| found == expected), "seed {seed}: {found:?}");
            *count += u32::from(found.is_some());
        }
    }
    assert!(count.iter().all(|count| *count > 100), "{count:?}");
}

#[test]
fn a_rank_that_failed_does_nothing_more() {
    let mut machine = Machine::new(false, false);
    machine.on_failure();
    let next = machine.on_checkpoint(3, Facts::default());
    assert_eq!(next, Action::Return(Outcome::Failed));
}

#[test]
fn a_commit_without_a_resize_is_refused() {
    let mut machine = Machine::new(false, true);
    assert_eq!(machine.on_commit(), Action::Return(Outcome::NotCommitted));
    assert_eq!(machine.state(), State::Running);
}
