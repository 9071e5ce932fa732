//! Events that come by themselves, and runs in which nothing else comes.

use crate::fire;
use crate::runs::{any, everywhere, from, outcomes, ways};
use freestone_events::{Config, EventsError, Submit};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

#[test]
fn clocks_fire_events() {
    everywhere(1, |rank| {
        rank.every(Duration::from_millis(1), &"tick".into()).unwrap();
        for _ in 0..3 {
            rank.wait(vec![from(0, "tick")], None).unwrap();
        }
        rank.after(Duration::from_millis(5), &"later".into());
        rank.submit(Submit::on(vec![from(0, "later")]), |_, _| Ok(())).unwrap();
        let wait = rank.wait(vec![any("never")], Some(Duration::from_millis(2)));
        assert!(matches!(wait, Err(EventsError::Timeout { .. })));
        assert_eq!(rank.stop(&"tick".into()), 1);
    });
}

#[test]
fn what_is_to_come_later_is_taken_back() {
    everywhere(1, |rank| {
        // The run would wait an hour for them.
        rank.after(Duration::from_secs(3600), &"late".into());
        rank.after(Duration::from_secs(3601), &"late".into());
        rank.after(Duration::from_millis(1), &"soon".into());
        assert_eq!(rank.stop(&"late".into()), 2);
        assert_eq!(rank.stop(&"late".into()), 0);
        rank.wait(vec![from(0, "soon")], None).unwrap();
        // What has come is there to be consumed, and no timer any more.
        assert_eq!(rank.stop(&"soon".into()), 0);
    });
}

#[test]
fn a_run_that_is_at_its_end_hears_that_nothing_comes_any_more() {
    everywhere(1, |rank| {
        rank.after(Duration::from_secs(3600), &"late".into());
        let done = rank.submit(Submit::default(), |rank, _| {
            // The program is at its end by then, most of the time.
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(rank.stop(&"late".into()), 1);
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn a_clock_whose_tick_nobody_takes_keeps_no_run_from_its_end() {
    for way in ways() {
        let found = outcomes(way, 2, &Config::default(), |rank| {
            rank.every(Duration::from_millis(1), &"tick".into()).unwrap();
            if rank.rank() == 1 {
                let error = rank.wait(vec![any("never")], None).unwrap_err();
                assert!(matches!(error, EventsError::Stuck { .. }), "{error}");
            }
        });
        assert!(found.iter().all(|outcome| matches!(outcome, Err(EventsError::Stuck { .. }))));
    }
}

#[test]
fn a_clock_whose_ticks_a_task_takes_may_yet_bring_what_is_waited_for() {
    everywhere(1, |rank| {
        rank.every(Duration::from_millis(1), &"tick".into()).unwrap();
        let ticks = AtomicI64::new(0);
        rank.submit_many(Submit::on(vec![from(0, "tick")]).persistent(), move |rank, _| {
            if ticks.fetch_add(1, Ordering::Relaxed) == 20 {
                fire(rank, 0, "enough", 1);
            }
            Ok(())
        })
        .unwrap();
        rank.wait(vec![from(0, "enough")], None).unwrap();
    });
}
