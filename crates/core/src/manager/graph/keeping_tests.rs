//! Results that are asked for again, to be kept forever this time.

use crate::manager::tests::{Play, call, inline, name, play, stored};
use crate::manager::*;
use crate::wire::{CallOptions, Keep, ToWorker};
use freestone_base::Name;
use std::sync::Arc;

fn submit(play: &mut Play, keep: Keep) {
    let options = Arc::new(CallOptions { keep, ..CallOptions::default() });
    play.request(Request::Submit(vec![Submission { options, ..call(1, &[]) }]));
}

fn asked_to_keep(play: &Play) -> Vec<Name> {
    let sent = play.sent(0).into_iter().filter_map(|message| match message {
        ToWorker::Keep(name) => Some(*name),
        _ => None,
    });
    sent.collect()
}

#[test]
fn a_large_one_is_kept_where_it_is() {
    let mut play = play();
    play.join(0, 1);
    submit(&mut play, Keep::Task);
    play.done(0, &play.runs(0)[0].clone(), stored(1, 10));
    submit(&mut play, Keep::Session);
    assert!(asked_to_keep(&play).is_empty());
    submit(&mut play, Keep::Forever);
    assert_eq!((asked_to_keep(&play), play.runs(0).len()), (vec![name(1)], 0));
    // Once is enough.
    submit(&mut play, Keep::Forever);
    assert!(asked_to_keep(&play).is_empty());
}

#[test]
fn a_small_one_is_made_once_more() {
    let mut play = play();
    play.join(0, 1);
    submit(&mut play, Keep::Task);
    play.done(0, &play.runs(0)[0].clone(), inline(b"x"));
    submit(&mut play, Keep::Forever);
    let run = play.runs(0).remove(0);
    assert_eq!(run.options.keep, Keep::Forever);
    // Who hears of it may be sure that it is kept.
    assert!(play.outcomes().is_empty());
    play.done(0, &run, stored(1, 10));
    assert_eq!(play.outcomes(), [(1, Outcome::Ready(stored(1, 10)))]);
    submit(&mut play, Keep::Forever);
    assert!(play.runs(0).is_empty());
}

#[test]
fn a_small_one_that_others_use_is_made_once_more_before_them() {
    let mut play = play();
    play.join(0, 1);
    submit(&mut play, Keep::Task);
    play.done(0, &play.runs(0)[0].clone(), inline(b"x"));
    play.request(Request::Submit(vec![call(2, &[1]), call(3, &[1])]));
    let stale = play.runs(0).remove(0);
    submit(&mut play, Keep::Forever);
    let run = play.runs(0).remove(0);
    assert_eq!(run.outputs[0], name(1));
    play.done(0, &stale, inline(b"stale"));
    play.done(0, &run, stored(1, 10));
    let mut runs = play.runs(0);
    while let Some(run) = runs.pop() {
        play.done(0, &run, inline(b"y"));
        runs.extend(play.runs(0));
    }
    assert_eq!(play.statistics().done, 4);
    play.request(Request::Release(vec![name(1), name(1), name(2), name(3)]));
    let statistics = play.statistics();
    assert_eq!((statistics.tasks, statistics.inline_nbytes, statistics.failed), (0, 0, 0));
}

#[test]
fn one_that_is_being_made_is_kept_or_made_once_more() {
    for is_small in [false, true] {
        let mut play = play();
        play.join(0, 1);
        submit(&mut play, Keep::Task);
        let first = play.runs(0).remove(0);
        submit(&mut play, Keep::Forever);
        assert!(play.runs(0).is_empty());
        play.done(0, &first, if is_small { inline(b"x") } else { stored(1, 10) });
        if is_small {
            let again = play.runs(0).remove(0);
            assert_eq!(again.options.keep, Keep::Forever);
            // A worker that leaves it small all the same is asked no more.
            play.done(0, &again, inline(b"x"));
            assert!(play.runs(0).is_empty());
        } else {
            assert_eq!(asked_to_keep(&play), [name(1)]);
        }
        assert_eq!(play.statistics().failed, 0);
    }
}

#[test]
fn one_that_waits_is_made_to_be_kept() {
    let mut play = play();
    submit(&mut play, Keep::Task);
    submit(&mut play, Keep::Forever);
    play.join(0, 1);
    let run = play.runs(0).remove(0);
    assert_eq!(run.options.keep, Keep::Forever);
    play.done(0, &run, stored(1, 10));
    assert!(asked_to_keep(&play).is_empty());
}
