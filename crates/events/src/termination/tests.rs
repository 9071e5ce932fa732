//! A wave at a time.

use super::*;

const QUIET: Quiet = Quiet {
    stage: Stage::Ending,
    outstanding: false,
    hopeful: false,
    sent: 0,
    received: 0,
    activity: 0,
};

/// Carries messages at once, with every rank quiet; what was concluded, after how many waves.
fn run_waves(detectors: &mut [Detector], quiet: &[Quiet]) -> (Vec<Verdict>, u64) {
    let mut verdicts = Vec::new();
    for _ in 0..10 {
        for rank in 0..detectors.len() {
            let mut actions = Vec::new();
            if detectors[rank].is_asked() && !detectors[0].lost.contains(&(rank as u32)) {
                detectors[rank].advance(quiet[rank], &mut actions);
            }
            while let Some(action) = actions.pop() {
                match action {
                    Action::Conclude(verdict) => verdicts.push(verdict),
                    Action::Pause | Action::Grow(_) => {}
                    Action::Send(to, message) => {
                        detectors[to as usize].on_message(rank as u32, message, &mut actions);
                    }
                }
            }
        }
        if !verdicts.is_empty() {
            break;
        }
    }
    (verdicts, detectors.iter().map(|detector| detector.wave).max().unwrap())
}

fn ranks(count: u32) -> Vec<Detector> {
    (0..count).map(|rank| Detector::new(rank, count)).collect()
}

#[test]
fn one_rank_alone_needs_two_waves() {
    assert_eq!(run_waves(&mut ranks(1), &[QUIET]), (vec![Verdict::Ended], 2));
}

#[test]
fn all_quiet_ranks_end() {
    let (verdicts, waves) = run_waves(&mut ranks(3), &[QUIET; 3]);
    assert_eq!((verdicts, waves), (vec![Verdict::Ended; 3], 2));
}

#[test]
fn an_event_on_its_way_keeps_the_run_alive() {
    let sender = Quiet { sent: 1, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[sender, QUIET]).0, []);
    let receiver = Quiet { received: 1, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[sender, receiver]).0, [Verdict::Ended; 2]);
}

#[test]
fn who_drains_goes_on_and_who_waits_is_stuck() {
    let draining = Quiet { stage: Stage::Draining, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[QUIET, draining]).0, [Verdict::Drained; 2]);
    let waiting = Quiet { stage: Stage::Waiting, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[waiting, draining]).0, [Verdict::Stuck; 2]);
    let outstanding = Quiet { outstanding: true, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[QUIET, outstanding]).0, [Verdict::Stuck; 2]);
    let hopeful = Quiet { hopeful: true, ..outstanding };
    assert_eq!(run_waves(&mut ranks(2), &[QUIET, hopeful]).0, []);
}

#[test]
fn a_lost_leader_is_followed_by_the_next() {
    let mut detectors = ranks(3);
    for detector in &mut detectors {
        detector.on_lost(0, &mut Vec::new());
    }
    assert!(detectors[1].is_asked() && !detectors[2].is_asked());
    assert_eq!(run_waves(&mut detectors, &[QUIET; 3]).0, [Verdict::Ended; 2]);
}

#[test]
fn answers_of_those_who_do_not_know_of_a_loss_do_not_count() {
    let mut detectors = ranks(3);
    detectors[0].on_lost(2, &mut Vec::new());
    assert_eq!(run_waves(&mut detectors[..2], &[QUIET; 2]).0, []);
    detectors[1].on_lost(2, &mut Vec::new());
    assert_eq!(run_waves(&mut detectors[..2], &[QUIET; 2]).0, [Verdict::Ended; 2]);
}

#[test]
fn nothing_is_concluded_while_somebody_is_about_to_join() {
    let mut detectors = ranks(2);
    assert_eq!((detectors[0].admit(), detectors[0].admit()), (Some(2), None));
    assert_eq!(detectors[1].admit(), None, "it does not lead");
    assert_eq!(run_waves(&mut detectors, &[QUIET; 2]).0, []);
    detectors[0].on_gone();
    assert_eq!(run_waves(&mut detectors, &[QUIET; 2]).0, [Verdict::Ended; 2]);
}

#[test]
fn an_answer_from_before_a_rank_asked_to_join_does_not_count() {
    let (mut informed, mut actions) = (Detector::new(0, 2), Vec::new());
    for _ in 0..2 {
        informed.advance(QUIET, &mut actions);
    }
    assert_eq!(informed.admit(), Some(2));
    actions.clear();
    informed.on_message(1, Message::Answer { wave: 1, lost: 0, quiet: QUIET }, &mut actions);
    informed.advance(QUIET, &mut actions);
    assert_eq!(actions, []);
}

#[test]
fn who_has_joined_is_asked_like_the_others() {
    let (mut detectors, mut actions) = (ranks(2), Vec::new());
    assert_eq!(detectors[0].admit(), Some(2));
    detectors[0].on_come(&mut actions);
    let joined = Message::Joined { ranks: 3 };
    assert_eq!(actions, [Action::Send(1, joined), Action::Grow(3)]);
    actions.clear();
    for _ in 0..2 {
        detectors[1].on_message(0, joined, &mut actions);
    }
    assert_eq!(actions, [Action::Grow(3)], "heard twice, it grows once");
    detectors.push(Detector::joining(2, 3, &[]));
    let busy = Quiet { sent: 1, ..QUIET };
    assert_eq!(run_waves(&mut detectors, &[QUIET, QUIET, busy]).0, []);
    assert_eq!(run_waves(&mut detectors, &[QUIET; 3]).0, [Verdict::Ended; 3]);
}

#[test]
fn who_knows_of_a_joining_rank_tells_the_others_if_the_leader_is_lost() {
    let (mut informed, mut other, mut actions) = (Detector::new(1, 3), Detector::new(2, 3), vec![]);
    informed.on_message(0, Message::Joined { ranks: 4 }, &mut actions);
    actions.clear();
    other.on_lost(0, &mut actions);
    assert_eq!(actions, [], "it knows of none");
    informed.on_lost(0, &mut actions);
    let joined = Message::Joined { ranks: 4 };
    assert_eq!(actions, [Action::Send(2, joined), Action::Send(3, joined)]);
    actions.clear();
    other.on_message(1, joined, &mut actions);
    assert_eq!(actions, [Action::Grow(4)]);
}

#[test]
fn a_joining_rank_knows_who_was_lost_before() {
    let mut detectors = ranks(2);
    detectors[0].on_lost(1, &mut Vec::new());
    assert_eq!(detectors[0].admit(), Some(2));
    detectors[0].on_come(&mut Vec::new());
    let mut joining = Detector::joining(2, 3, &[1]);
    let mut actions = Vec::new();
    joining.on_message(0, Message::Probe { wave: 1 }, &mut actions);
    joining.advance(QUIET, &mut actions);
    let answer = Message::Answer { wave: 1, lost: 1, quiet: QUIET };
    assert_eq!(actions, [Action::Send(0, answer)]);
}
