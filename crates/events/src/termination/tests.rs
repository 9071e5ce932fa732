//! A wave at a time.

use super::*;
use std::collections::VecDeque;

const QUIET: Quiet = Quiet {
    stage: Stage::Ending,
    outstanding: false,
    hopeful: false,
    attended: false,
    flows: Flows {
        between: Flow { sent: 0, received: 0 },
        out: Flow { sent: 0, received: 0 },
        back: Flow { sent: 0, received: 0 },
    },
    activity: 0,
};

fn between(sent: u64, received: u64) -> Quiet {
    Quiet { flows: Flows { between: Flow { sent, received }, ..QUIET.flows }, ..QUIET }
}

/// Carries messages at once, with every rank quiet; what was concluded, after how many waves.
fn run_waves(detectors: &mut [Detector], quiet: &[Quiet]) -> (Vec<Verdict>, u64) {
    let mut verdicts = Vec::new();
    for _ in 0..10 {
        for rank in 0..detectors.len() {
            let mut actions = Vec::new();
            if detectors[rank].is_asked() && !detectors[0].lost.contains(&(rank as u32)) {
                detectors[rank].advance(quiet[rank], &mut actions);
            }
            let mut queue: VecDeque<_> = actions.into_iter().map(|action| (rank, action)).collect();
            while let Some((from, action)) = queue.pop_front() {
                match action {
                    Action::Conclude(verdict) => verdicts.push(verdict),
                    Action::Pause | Action::Grow(_) => {}
                    Action::Send(to, message) => {
                        let mut actions = Vec::new();
                        if let Some(detector) = detectors.get_mut(to as usize) {
                            detector.on_message(from as u32, message, &mut actions);
                        }
                        queue.extend(actions.into_iter().map(|action| (to as usize, action)));
                    }
                }
            }
        }
        if !verdicts.is_empty() {
            break;
        }
    }
    (verdicts, detectors.iter().map(|detector| detector.waves).max().unwrap())
}

/// Carries what was sent in one round in the next; how many rounds it takes until all know that the
/// run has ended, and how many messages the rank sends most in one round, before the verdict.
fn rounds_to_the_end(detectors: &mut [Detector]) -> (usize, usize) {
    let (mut ended, mut most) = (0, 0);
    let mut sent: Vec<(u32, Action)> = Vec::new();
    for round in 0.. {
        let mut actions = Vec::new();
        for (from, action) in std::mem::take(&mut sent) {
            match action {
                Action::Send(to, message) => {
                    detectors[to as usize].on_message(from, message, &mut actions);
                    sent.extend(actions.drain(..).map(|action| (to, action)));
                }
                Action::Conclude(verdict) => {
                    assert_eq!(verdict, Verdict::Ended);
                    ended += 1;
                }
                Action::Pause | Action::Grow(_) => panic!("nothing is on its way"),
            }
        }
        // What a rank concludes it knows at once.
        sent.retain(|(_, action)| {
            let concludes = matches!(action, Action::Conclude(_));
            ended += usize::from(concludes);
            !concludes
        });
        if ended == detectors.len() {
            return (round, most);
        }
        for (rank, detector) in (0..).zip(detectors.iter_mut()) {
            if ended == 0 && detector.is_asked() {
                detector.advance(QUIET, &mut actions);
                sent.extend(actions.drain(..).map(|action| (rank, action)));
            }
        }
        let mut counts = std::collections::HashMap::new();
        let is_verdict =
            |action: &Action| matches!(action, Action::Send(_, Message::Conclude { .. }));
        for (from, action) in &sent {
            if !is_verdict(action) {
                *counts.entry(*from).or_insert(0) += 1;
            }
        }
        most = most.max(counts.into_values().max().unwrap_or_default());
    }
    unreachable!("the loop has no end")
}

#[test]
fn ten_thousand_ranks_end_after_two_waves_through_a_tree() {
    // Down the tree and up again, twice, and once to all.
    for (count, depth) in [(2, 1), (9, 1), (10, 2), (1000, 4), (10_000, 5)] {
        let (rounds, most) = rounds_to_the_end(&mut ranks(count));
        assert_eq!(rounds, 4 * depth + 1, "{count} ranks");
        assert!(most <= ARITY as usize, "{most} messages of one rank");
    }
}

#[test]
fn the_tree_has_every_rank_that_is_not_lost_once() {
    let mut detectors = ranks(100);
    let lost = [0, 3, 4, 50, 99];
    for detector in &mut detectors {
        for rank in lost {
            detector.on_lost(rank, &mut Vec::new());
        }
    }
    let mut seen = vec![detectors[1].leader()];
    let mut next = 0;
    while next < seen.len() {
        let below: Vec<_> = detectors[seen[next] as usize].below().collect();
        seen.extend(below);
        next += 1;
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..100).filter(|rank| !lost.contains(rank)).collect::<Vec<_>>());
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
    let sender = between(1, 0);
    assert_eq!(run_waves(&mut ranks(2), &[sender, QUIET]).0, []);
    let receiver = between(0, 1);
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
fn a_client_that_waits_keeps_the_run_from_its_end_and_what_goes_one_way_does_not_make_up_for_another()
 {
    let attended = Quiet { attended: true, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[QUIET, attended]).0, [Verdict::Stuck; 2]);
    let hopeful = Quiet { hopeful: true, ..attended };
    assert_eq!(run_waves(&mut ranks(2), &[QUIET, hopeful]).0, []);
    let draining = Quiet { stage: Stage::Draining, ..QUIET };
    assert_eq!(run_waves(&mut ranks(2), &[draining, attended]).0, [Verdict::Drained; 2]);
    // The client got an event and fired another one since its rank heard of it.
    let (out, back) = (Flow { sent: 1, received: 0 }, Flow { sent: 0, received: 1 });
    let flows = Flows { out, back, ..QUIET.flows };
    assert_eq!(run_waves(&mut ranks(2), &[Quiet { flows, ..QUIET }, attended]).0, []);
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
    let (members, sums) = (Members { ranks: 2, lost: 0 }, Sums { count: 1, ..Sums::default() });
    informed.on_message(1, Message::Answer { wave: 1, members, sums }, &mut actions);
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
    let busy = between(1, 0);
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
    let members = Members { ranks: 3, lost: 1 };
    joining.on_message(0, Message::Probe { wave: 1, members }, &mut actions);
    joining.advance(QUIET, &mut actions);
    let sums = Sums { count: 1, ..Sums::default() };
    let answer = Message::Answer { wave: 1, members, sums };
    assert_eq!(actions, [Action::Send(0, answer)]);
}
