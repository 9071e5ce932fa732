//! What ranks promise, one rule after the other, over every transport.

use crate::runs::{Way, any, everywhere, from, outcomes, runs, start, ways};
use crate::{fire, number};
use freestone_events::{Config, EventsError, Lasting, Progress, Rank, Submit, Target};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A wait that no test should come to the end of.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Something that threads wait for.
#[derive(Default)]
struct Gate {
    value: Mutex<i64>,
    changed: Condvar,
}

impl Gate {
    fn add(&self, more: i64) {
        *self.value.lock().unwrap() += more;
        self.changed.notify_all();
    }

    fn wait_for(&self, wanted: i64) {
        let value = self.value.lock().unwrap();
        let end = self.changed.wait_timeout_while(value, TIMEOUT, |value| *value < wanted);
        assert!(!end.unwrap().1.timed_out(), "{wanted} never came");
    }
}

#[test]
fn ready_tasks_run_first_in_first_out() {
    for way in ways() {
        let ran = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&ran);
        for outcome in outcomes(way, 1, &Config::default(), move |rank| {
            let body = |name: i64| {
                let noted = Arc::clone(&noted);
                move || {
                    noted.lock().unwrap().push(name);
                    Ok(())
                }
            };
            let (plain, fired) = (body(0), body(1));
            let submit_all = move |rank: &Rank| {
                for round in 0..50 {
                    let (plain, fired) = (plain.clone(), fired.clone());
                    rank.submit(Submit::default(), move |_, _| plain()).unwrap();
                    let id = format!("e{round}");
                    rank.submit(Submit::on(vec![from(0, &id)]), move |_, _| fired()).unwrap();
                    fire(rank, 0, &id, round);
                }
            };
            // Nothing runs before the task that submits is done.
            rank.submit(Submit::default(), move |rank, _| {
                submit_all(rank);
                Ok(())
            })
            .unwrap();
        }) {
            outcome.unwrap();
        }
        assert_eq!(*ran.lock().unwrap(), [0, 1].repeat(50));
    }
}

#[test]
fn tasks_submit_tasks_that_submit_tasks() {
    fn branch(rank: &Rank, depth: u32, leaves: &Arc<AtomicI64>) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        for side in ["left", "right"] {
            let (leaves, id) = (Arc::clone(leaves), format!("{side} of {depth}"));
            let submit = Submit::on(vec![from(rank.rank(), &id)]);
            rank.submit(submit, move |rank, _| {
                branch(rank, depth - 1, &leaves);
                Ok(())
            })
            .unwrap();
            fire(rank, rank.rank(), &id, 0);
        }
    }
    let leaves = Arc::new(AtomicI64::new(0));
    everywhere(2, |rank| branch(rank, 7, &leaves));
    assert_eq!(leaves.load(Ordering::Relaxed), runs() * 2 * 128);
}

#[test]
fn several_instances_of_a_persistent_task_run_at_the_same_time() {
    for progress in [Progress::IdleWorker, Progress::Thread] {
        let config = Config { workers: 3, progress, ..Config::default() };
        for outcome in outcomes(Way::Threads, 2, &config, |rank| {
            if rank.rank() == 1 {
                (0..3).for_each(|value| fire(rank, 0, "e", value));
                return;
            }
            let inside = Gate::default();
            rank.submit_many(Submit::on(vec![from(1, "e")]).persistent(), move |_, _| {
                inside.add(1);
                inside.wait_for(3);
                Ok(())
            })
            .unwrap();
        }) {
            outcome.unwrap();
        }
    }
}

#[test]
fn groups_of_ranks_are_sources_and_targets() {
    let met = Arc::new(AtomicI64::new(0));
    everywhere(4, |rank| {
        let group = vec![3, 1];
        if rank.rank() == 0 {
            let target = Target::Group(group.clone());
            rank.fire(&target, &"go".into(), Lasting::Once, 0, &[]).unwrap();
            let met = Arc::clone(&met);
            let on = group.iter().map(|&one| from(one, "gone")).collect();
            rank.submit(Submit::on(on), move |_, events| {
                let sources: Vec<_> = events.iter().map(|event| event.source).collect();
                assert_eq!(sources, [3, 1]);
                met.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
        } else if group.contains(&rank.rank()) {
            rank.wait(vec![from(0, "go")], None).unwrap();
            fire(rank, 0, "gone", 0);
        }
        let stranger = Target::Group(vec![0, 4]);
        let error = rank.fire(&stranger, &"e".into(), Lasting::Once, 0, &[]).unwrap_err();
        assert!(matches!(error, EventsError::NoSuchRank { rank: 4, ranks: 4 }));
    });
    assert_eq!(met.load(Ordering::Relaxed), runs());
}

#[test]
fn a_rank_takes_in_what_is_fired_at_it_while_its_only_worker_is_busy() {
    // More than rings, sockets and MPI's windows have room for.
    const COUNT: i64 = 2_000;
    for way in ways() {
        for progress in [Progress::IdleWorker, Progress::Thread] {
            let config = Config { progress, ..Config::default() };
            let (sent, seen) = (Arc::new(Gate::default()), Arc::new(AtomicI64::new(0)));
            for outcome in outcomes(way, 2, &config, |rank| {
                if rank.rank() == 1 {
                    let (sent, seen) = (Arc::clone(&sent), Arc::clone(&seen));
                    let is_sent = move |_: &Rank, _| {
                        sent.wait_for(1);
                        Ok(())
                    };
                    rank.submit(Submit::default(), is_sent).unwrap();
                    let all = (0..COUNT).map(|_| from(0, "e")).collect();
                    rank.submit(Submit::on(all), move |_, events| {
                        let all = events.iter().all(|event| event.payload.bytes() == [7; 8 << 10]);
                        assert!(all);
                        seen.fetch_add(i64::try_from(events.len()).unwrap(), Ordering::Relaxed);
                        Ok(())
                    })
                    .unwrap();
                    // Nobody but the drain looks for what arrives, and clocks run on.
                    let error = rank.wait(vec![any("never")], Some(Duration::from_millis(1)));
                    assert!(matches!(error, Err(EventsError::Timeout { .. })), "{error:?}");
                    return;
                }
                let bytes = vec![7; 8 << 10];
                (0..COUNT).for_each(|_| rank.fire_bytes(1, "e", &bytes).unwrap());
                sent.add(1);
            }) {
                outcome.unwrap();
            }
            assert_eq!(seen.load(Ordering::Relaxed), COUNT, "{way:?}");
        }
    }
}

#[test]
fn a_report_names_the_rank_that_is_busy() {
    let config = Config { inbox: 1 << 20, backlog: 10, ..Config::default() };
    let released = Arc::new(Gate::default());
    for outcome in outcomes(Way::Threads, 2, &config, |rank| {
        if rank.rank() == 1 {
            let released = Arc::clone(&released);
            let submit = Submit::on(vec![from(0, "e")]).persistent();
            rank.submit_many(submit, move |_, _| {
                released.wait_for(1);
                Ok(())
            })
            .unwrap();
            return;
        }
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1_000).for_each(|_| rank.fire_bytes(1, "e", &[7; 4096]).unwrap()));
            while !rank.report().contains("for room at rank 1: its tasks are busy") {
                std::thread::yield_now();
            }
            released.add(1);
        });
    }) {
        outcome.unwrap();
    }
}

/// How many bytes may be on their way from one rank to another that takes nothing.
const UNDERWAY: usize = 64 << 20;

#[test]
fn a_producer_that_is_faster_fills_no_more_than_a_bounded_memory() {
    for way in ways() {
        for progress in [Progress::IdleWorker, Progress::Thread] {
            let config = Config {
                progress,
                backlog: 100,
                inbox: 1 << 20,
                send_timeout: Some(Duration::from_millis(100)),
                ..Config::default()
            };
            let (full, seen) = (Arc::new(Gate::default()), Arc::new(AtomicI64::new(0)));
            let sent = AtomicI64::new(0);
            for outcome in outcomes(way, 2, &config, |rank| {
                if rank.rank() == 1 {
                    let (full, seen) = (Arc::clone(&full), Arc::clone(&seen));
                    let submit = Submit::on(vec![from(0, "e")]).persistent();
                    rank.submit_many(submit, move |_, events| {
                        // The first one keeps the only worker until the other rank has no room.
                        full.wait_for(1);
                        assert_eq!(events[0].payload.bytes().len(), 4096);
                        seen.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                    .unwrap();
                    return;
                }
                let bytes = vec![7; 4096];
                let error = loop {
                    match rank.fire_bytes(1, "e", &bytes) {
                        Ok(()) => sent.fetch_add(1, Ordering::Relaxed),
                        Err(error) => break error,
                    };
                    let underway = sent.load(Ordering::Relaxed) as usize * bytes.len();
                    assert!(underway < UNDERWAY, "{way:?}: {underway} bytes are on their way");
                };
                assert!(matches!(error, EventsError::NoRoom { target: 1, .. }), "{error}");
                let message = "rank 1 has had no room for the event 'e': its tasks are busy";
                assert!(error.to_string().contains(message), "{error}");
                full.add(1);
            }) {
                outcome.unwrap();
            }
            assert_eq!(seen.load(Ordering::Relaxed), sent.load(Ordering::Relaxed), "{way:?}");
        }
    }
}

#[test]
fn a_persistent_event_is_fired_again_where_it_arrived() {
    let sum = Arc::new(AtomicI64::new(0));
    everywhere(2, |rank| {
        if rank.rank() == 0 {
            let (target, value) = (Target::Rank(1), 5_i64.to_le_bytes());
            rank.fire(&target, &"weight".into(), Lasting::Persistent, 2, &[&value]).unwrap();
            (0..20).for_each(|value| fire(rank, 1, "value", value));
            return;
        }
        for _ in 0..20 {
            let sum = Arc::clone(&sum);
            let on = vec![from(0, "weight"), any("value")];
            rank.submit(Submit::on(on), move |_, events| {
                let product = number(events[0].payload.bytes()) * number(events[1].payload.bytes());
                sum.fetch_add(product, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), runs() * 5 * 190);
}

#[test]
fn a_thread_that_watches_for_reports_is_not_woken_in_place_of_a_worker() {
    let hour = Some(Duration::from_secs(3600));
    let config = Config { stuck: hour, slow_task: hour, ..Config::default() };
    let rank = start(Way::Threads, 1, &config).0.remove(0);
    for _ in 0..20 {
        let (sender, receiver) = std::sync::mpsc::channel();
        // All threads of the rank sleep by now.
        std::thread::sleep(Duration::from_millis(20));
        let body = move |_: &Rank, _| {
            sender.send(()).unwrap();
            Ok(())
        };
        rank.submit(Submit::default(), body).unwrap();
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    rank.finish().unwrap();
}
