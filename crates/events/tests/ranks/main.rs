//! Whole runs, over every transport.

#![allow(clippy::unwrap_used)]

mod clocks;
mod connecting;
mod joining;
mod many;
mod rules;
mod runs;
mod slow_receiver;
mod watching;

use freestone_events::payload::{Data, Payload};
use freestone_events::rank::RANK_LOST;
use freestone_events::transport::{Node, Region};
use freestone_events::{Config, Dependency, EventId, EventsError, Failure, Lasting, Rank};
use freestone_events::{Submit, Target};
use runs::{Way, any, everywhere, from, outcomes, runs, start, ways};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn number(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn fire(rank: &Rank, target: u32, id: &str, value: i64) {
    rank.fire_bytes(target, id, &value.to_le_bytes()).unwrap();
}

#[test]
fn the_example_of_the_paper_adds_two_numbers() {
    let total = Arc::new(AtomicI64::new(0));
    everywhere(2, |rank| {
        if rank.rank() == 0 {
            rank.submit(Submit::default(), |rank, _| {
                rank.fire_bytes(1, "event1", &[]).unwrap();
                fire(rank, 1, "event2", 33);
                Ok(())
            })
            .unwrap();
            return;
        }
        let on_first = |rank: &Rank, _| {
            fire(rank, 1, "event3", 100);
            Ok(())
        };
        rank.submit(Submit::on(vec![from(0, "event1")]), on_first).unwrap();
        let total = Arc::clone(&total);
        let on = vec![from(0, "event2"), from(1, "event3")];
        rank.submit(Submit::on(on), move |_, events| {
            let values = events.iter().map(|event| number(event.payload.bytes()));
            assert_eq!(values.clone().collect::<Vec<_>>(), [33, 100]);
            total.fetch_add(values.sum(), Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(total.load(Ordering::Relaxed), runs() * 133);
}

#[test]
fn an_event_of_all_ranks_to_all_is_a_barrier() {
    let passed = AtomicI64::new(0);
    let passed = Arc::new(passed);
    everywhere(4, |rank| {
        let on = Dependency::all(4, &"event".into());
        let counted = Arc::clone(&passed);
        rank.submit(Submit::on(on), move |_, events| {
            let sources: Vec<_> = events.iter().map(|event| event.source).collect();
            assert_eq!(sources, [0, 1, 2, 3]);
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        rank.fire(&Target::All, &"event".into(), Lasting::Once, 0, &[]).unwrap();
    });
    assert_eq!(passed.load(Ordering::Relaxed), runs() * 4);
}

#[test]
fn events_of_a_pair_keep_their_order() {
    everywhere(2, |rank| {
        if rank.rank() == 0 {
            (0..5_000).for_each(|value| fire(rank, 1, "e", value));
            return;
        }
        for expected in 0..5_000 {
            let events = rank.wait(vec![from(0, "e")], None).unwrap();
            assert_eq!(number(events[0].payload.bytes()), expected);
        }
    });
}

#[test]
fn a_persistent_task_runs_for_every_event() {
    let sum = Arc::new(AtomicI64::new(0));
    everywhere(3, |rank| {
        let sum = Arc::clone(&sum);
        rank.submit_many(Submit::on(vec![any("e")]).persistent(), move |_, events| {
            sum.fetch_add(number(events[0].payload.bytes()), Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        for value in 0..300 {
            fire(rank, (value % 3) as u32, "e", value);
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), runs() * 3 * (299 * 300 / 2));
}

#[test]
fn a_task_waits_a_thousand_times_while_others_answer() {
    // In the original this dies or hangs: a stale wake-up resumes the task before its event.
    everywhere(1, |rank| {
        rank.submit_many(Submit::on(vec![from(0, "question")]).persistent(), |rank, events| {
            fire(rank, 0, "answer", number(events[0].payload.bytes()) + 1);
            Ok(())
        })
        .unwrap();
        rank.submit(Submit::default(), |rank, _| {
            for value in 0..1_000 {
                fire(rank, 0, "question", value);
                let events = rank.wait(vec![from(0, "answer")], None).unwrap();
                assert_eq!(number(events[0].payload.bytes()), value + 1);
            }
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn many_tasks_wait_for_each_other_at_once() {
    everywhere(2, |rank| {
        let other = 1 - rank.rank();
        for index in 0..20 {
            rank.submit(Submit::default(), move |rank, _| {
                let id = format!("turn {index}");
                for value in 0..20 {
                    fire(rank, other, &id, value);
                    let events = rank.wait(vec![from(other, &id)], None).unwrap();
                    assert_eq!(number(events[0].payload.bytes()), value);
                }
                Ok(())
            })
            .unwrap();
        }
    });
}

#[test]
fn retrieving_takes_what_is_there() {
    everywhere(1, |rank| {
        assert!(rank.retrieve_any(&[any("e")]).unwrap().is_empty());
        fire(rank, 0, "e", 7);
        let found = rank.retrieve_any(&[any("f"), any("e"), any("e")]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, number(found[0].1.payload.bytes())), (1, 7));
    });
}

#[test]
fn a_lock_is_held_by_one_task_at_a_time() {
    let inside = Arc::new(AtomicI64::new(0));
    everywhere(1, |rank| {
        for round in 0..200 {
            let inside = Arc::clone(&inside);
            rank.submit(Submit::default(), move |rank, _| {
                rank.lock("state").unwrap();
                assert!(rank.holds_lock("state") && rank.try_lock("state"));
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                std::thread::yield_now();
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                if round % 2 == 0 {
                    rank.unlock("state").unwrap();
                    assert!(rank.unlock("state").is_err());
                }
                Ok(())
            })
            .unwrap();
        }
    });
}

#[test]
fn a_task_that_waits_lets_go_of_its_locks_and_takes_them_back() {
    everywhere(1, |rank| {
        rank.submit(Submit::default(), |rank, _| {
            rank.lock("a").unwrap();
            rank.lock("b").unwrap();
            rank.wait(vec![from(0, "go on")], None).unwrap();
            assert!(rank.holds_lock("a") && rank.holds_lock("b"));
            Ok(())
        })
        .unwrap();
        rank.submit(Submit::default(), |rank, _| {
            rank.lock("a").unwrap();
            fire(rank, 0, "go on", 0);
            rank.lock("b").unwrap();
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_greedy_task_takes_all_events_there_are() {
    let (sum, calls) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    everywhere(1, |rank| {
        let (sum, calls) = (Arc::clone(&sum), Arc::clone(&calls));
        (0..50).for_each(|value| fire(rank, 0, "e", value));
        let submit = Submit::on(vec![any("e")]).persistent().greedy();
        rank.submit_many(submit, move |_, events| {
            calls.fetch_add(1, Ordering::Relaxed);
            let values = events.iter().map(|event| number(event.payload.bytes()));
            sum.fetch_add(values.sum(), Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        (50..100).for_each(|value| fire(rank, 0, "e", value));
    });
    assert_eq!(sum.load(Ordering::Relaxed), runs() * 4950);
    assert!(calls.load(Ordering::Relaxed) <= runs() * 51);
}

#[test]
fn large_payloads_that_nobody_consumes_do_not_hold_up_others() {
    everywhere(3, |rank| {
        let bytes: Vec<u8> = (0..1_000_003_u32).map(|value| value as u8).collect();
        if rank.rank() == 0 {
            let (head, tail) = bytes.split_at(10);
            for _ in 0..30 {
                let id = EventId::from("large");
                rank.fire(&Target::All, &id, Lasting::Once, 5, &[head, tail]).unwrap();
            }
        }
        for _ in 0..30 {
            let events = rank.wait(vec![from(0, "large")], None).unwrap();
            assert_eq!((events[0].payload.kind, events[0].payload.bytes()), (5, &bytes[..]));
        }
    });
}

#[test]
fn a_large_payload_is_not_copied() {
    for way in [Way::Threads, Way::Mapped] {
        for outcome in outcomes(way, 2, &Config::default(), |rank| {
            let bytes = vec![9; 1 << 20];
            rank.fire_bytes(1 - rank.rank(), "large", &bytes).unwrap();
            let events = rank.wait(vec![any("large")], None).unwrap();
            assert!(matches!(&events[0].payload.data, Data::Block(block) if block[..] == bytes));
        }) {
            outcome.unwrap();
        }
    }
}

#[test]
fn an_event_larger_than_the_shared_memory_goes_in_pieces() {
    everywhere(2, |rank| {
        let huge: Vec<u8> = (0..17_u32 << 20).map(|value| (value >> 3) as u8).collect();
        if rank.rank() == 0 {
            rank.fire_bytes(1, "e", &huge).unwrap();
            rank.fire_bytes(1, "e", &[1]).unwrap();
            return;
        }
        let events = rank.wait(vec![from(0, "e"), from(0, "e")], None).unwrap();
        assert!(events[0].payload.bytes() == huge && events[1].payload.bytes() == [1]);
    });
}

#[test]
fn an_event_larger_than_memory_is_refused_and_the_run_goes_on() {
    // Room for it is only promised, and never taken.
    let region = Region::anonymous(1 << 44).unwrap();
    // SAFETY: mapped, and nobody writes there.
    let bytes = unsafe { std::slice::from_raw_parts(region.at(0, region.len()), region.len()) };
    everywhere(2, |rank| {
        for target in [0, 1] {
            let error = rank.fire_bytes(target, "all", bytes).unwrap_err();
            assert!(matches!(error, EventsError::TooLarge { nbytes, .. } if nbytes == 1 << 44));
            assert!(error.to_string().contains("'all' has 17592186044416 bytes"), "{error}");
        }
        rank.fire_bytes(1 - rank.rank(), "e", &[1]).unwrap();
        rank.wait(vec![any("e")], None).unwrap();
    });
}

#[test]
fn ranks_that_flood_each_other_do_not_wait_for_ever() {
    const COUNT: i64 = 30_000;
    let seen = Arc::new(AtomicI64::new(0));
    everywhere(2, |rank| {
        let (other, counted) = (1 - rank.rank(), Arc::clone(&seen));
        rank.submit_many(Submit::on(vec![from(other, "e")]).persistent(), move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        rank.submit(Submit::default(), move |rank, _| {
            (0..COUNT).for_each(|value| fire(rank, other, "e", value));
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(seen.load(Ordering::Relaxed), runs() * 2 * COUNT);
}

#[test]
fn runs_of_one_worker_without_a_progress_thread_end() {
    // The original hangs here in 24 of 31 runs.
    for way in ways() {
        for _ in 0..100 {
            for outcome in outcomes(way, 2, &Config::default(), |rank| {
                let on = Dependency::all(2, &"e".into());
                rank.submit(Submit::on(on), |_, _| Ok(())).unwrap();
                rank.fire(&Target::All, &"e".into(), Lasting::Once, 0, &[]).unwrap();
            }) {
                outcome.unwrap();
            }
        }
    }
}

#[test]
fn draining_waits_for_all_tasks_and_goes_on() {
    // In the original the end does not wait for what comes after such a pause.
    let ran = Arc::new(AtomicI64::new(0));
    everywhere(2, |rank| {
        for round in 1..=5 {
            let counted = Arc::clone(&ran);
            let before = ran.load(Ordering::SeqCst);
            rank.submit(Submit::on(vec![any("e")]), move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
            .unwrap();
            fire(rank, 1 - rank.rank(), "e", round);
            rank.drain().unwrap();
            assert!(ran.load(Ordering::SeqCst) > before);
            assert!(!rank.is_over());
            rank.drain().unwrap();
        }
        let counted = Arc::clone(&ran);
        rank.submit(Submit::default(), move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(ran.load(Ordering::SeqCst), runs() * 2 * 6);
}

#[test]
fn a_run_that_cannot_go_on_says_what_it_waits_for() {
    for way in ways() {
        let found = outcomes(way, 2, &Config::default(), |rank| {
            if rank.rank() == 1 {
                rank.submit(Submit::on(vec![from(0, "never"), any("e")]), |_, _| Ok(())).unwrap();
                fire(rank, 1, "e", 1);
                fire(rank, 0, "unwanted", 1);
            }
        });
        let errors: Vec<_> = found.into_iter().map(|outcome| outcome.unwrap_err()).collect();
        assert!(errors.iter().all(|error| matches!(error, EventsError::Stuck { .. })));
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(texts[1].contains("lacks 'never' from rank 0; it has 1 events"), "{texts:?}");
        assert!(texts[1].contains("ranks/main.rs"), "{texts:?}");
        assert!(texts[0].contains("nobody consumes 'unwanted' from rank 1"), "{texts:?}");
    }
}

#[test]
fn a_program_that_waits_for_ever_gets_an_error() {
    let found = outcomes(Way::Threads, 2, &Config::default(), |rank| {
        if rank.rank() == 0 {
            let error = rank.wait(vec![from(1, "never")], None).unwrap_err();
            assert!(matches!(error, EventsError::Stuck { .. }), "{error}");
        }
    });
    assert!(found.iter().all(|outcome| matches!(outcome, Err(EventsError::Stuck { .. }))));
}

#[test]
fn tasks_that_wait_for_each_others_locks_are_found() {
    let config = Config { workers: 2, ..Config::default() };
    let found = outcomes(Way::Threads, 1, &config, |rank| {
        for (first, second) in [("a", "b"), ("b", "a")] {
            rank.submit(Submit::default(), move |rank, _| {
                rank.lock(first).unwrap();
                fire(rank, 0, second, 0);
                let _ = rank.wait(vec![any("both")], Some(Duration::from_millis(1)));
                // The wait let go; now both take their second lock while they hold the first.
                while !rank.holds_lock(first) {}
                let _ = rank.lock(second);
                Ok(())
            })
            .unwrap();
        }
        rank.retrieve_any(&[any("a"), any("b")]).unwrap();
    });
    // Either they meet, which is found, or one is done before the other begins.
    if let Err(error) = &found[0] {
        assert!(matches!(error, EventsError::Stuck { .. }), "{error}");
    }
}

#[test]
fn a_task_that_fails_ends_the_run_on_all_ranks() {
    for way in ways() {
        let found = outcomes(way, 3, &Config::default(), |rank| {
            // The run may be over before this rank has begun.
            let _ = rank.submit(Submit::on(vec![any("never")]), |_, _| Ok(()));
            if rank.rank() == 1 {
                rank.submit(Submit::default(), |_, _| Err(Failure::text("no luck"))).unwrap();
            }
        });
        for outcome in found {
            let error = outcome.unwrap_err();
            assert_eq!(error.to_string(), "rank 1 failed: no luck");
        }
    }
}

#[test]
fn a_task_that_panics_ends_the_run_too() {
    let found = outcomes(Way::Threads, 1, &Config::default(), |rank| {
        rank.submit(Submit::default(), |_, _| panic!("at the disco")).unwrap();
    });
    let error = found.into_iter().next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "rank 0 failed: it panicked: at the disco");
}

#[test]
fn a_lost_rank_ends_the_run() {
    let (mut ranks, cell) = start(Way::Mapped, 3, &Config::default());
    let lost = ranks.pop().unwrap();
    let threads: Vec<_> = ranks
        .into_iter()
        .map(|rank| {
            let region = Arc::clone(&cell.region);
            std::thread::spawn(move || {
                // As a program that computes: it makes no call.
                while !Node::has_given_up(&region, rank.rank()) {
                    std::thread::yield_now();
                }
                let error = rank.finish().unwrap_err().to_string();
                assert!(!Node::has_given_up(&region, rank.rank()));
                error
            })
        })
        .collect();
    assert!((0..3).all(|rank| !Node::has_given_up(&cell.region, rank)));
    Node::lose(&cell.region, cell.layout, 2);
    for thread in threads {
        assert!(thread.join().unwrap().starts_with("rank 2 is lost"));
    }
    lost.fail(Failure::text("gone"));
    assert!(lost.finish().is_err());
}

#[test]
fn a_program_that_asks_for_lost_ranks_goes_on() {
    let (mut ranks, cell) = start(Way::Mapped, 3, &Config::default());
    let lost = ranks.remove(0);
    let run = |rank: Rank| {
        std::thread::spawn(move || {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let noted = Arc::clone(&heard);
            rank.submit(Submit::on(vec![any(RANK_LOST)]), move |rank, events| {
                noted.lock().unwrap().push(events[0].source);
                fire(rank, 0, "into nothing", 1);
                fire(rank, 3 - rank.rank(), "alive", 1);
                Ok(())
            })
            .unwrap();
            rank.submit(Submit::on(vec![from(3 - rank.rank(), "alive")]), |_, _| Ok(())).unwrap();
            fire(&rank, 0, "never taken", 1);
            rank.fire_bytes(rank.rank(), "ready", &[]).unwrap();
            rank.wait(vec![any("ready")], None).unwrap();
            rank.finish().unwrap();
            Arc::into_inner(heard).map(|heard| heard.into_inner().unwrap())
        })
    };
    let threads: Vec<_> = ranks.into_iter().map(run).collect();
    std::thread::sleep(Duration::from_millis(20));
    Node::lose(&cell.region, cell.layout, 0);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Some(vec![0]));
    }
    lost.fail(Failure::text("gone"));
    assert!(lost.finish().is_err());
}

#[test]
fn a_wait_that_is_over_in_a_task_gives_its_worker_back() {
    everywhere(1, |rank| {
        rank.submit(Submit::default(), |rank, _| {
            let wait = rank.wait(vec![any("never")], Some(Duration::from_millis(2)));
            let error = wait.unwrap_err().to_string();
            assert!(
                error.starts_with("after 2ms there was still no 'never' from any rank"),
                "{error}"
            );
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn values_of_a_rank_pass_by_reference() {
    everywhere(1, |rank| {
        let value = Arc::new(Mutex::new(vec![1, 2, 3]));
        let payload = Payload::value(1, Arc::clone(&value) as _);
        rank.submit_many(Submit::on(vec![any("data"), any("go")]).persistent(), |rank, events| {
            let Data::Value(value) = &events[0].payload.data else { panic!("no value") };
            value.downcast_ref::<Mutex<Vec<i32>>>().unwrap().lock().unwrap().push(4);
            rank.fire_own(&"data".into(), Lasting::Once, events[0].payload.clone()).unwrap();
            Ok(())
        })
        .unwrap();
        rank.fire_own(&"data".into(), Lasting::Once, payload).unwrap();
        (0..10).for_each(|round| fire(rank, 0, "go", round));
        rank.drain().unwrap();
        assert_eq!(value.lock().unwrap().len(), 13);
    });
}

#[test]
fn what_persistent_tasks_hold_at_the_end_is_reported() {
    // The original drops one such event silently, and hangs with two.
    let found = outcomes(Way::Threads, 1, &Config::default(), |rank| {
        let on = vec![any("a"), any("b")];
        rank.submit_many(Submit::on(on).persistent(), |_, _| Ok(())).unwrap();
        fire(rank, 0, "a", 1);
        fire(rank, 0, "a", 2);
    });
    let held = found.into_iter().next().unwrap().unwrap().held;
    assert_eq!(held[0].to_string(), "'a' from rank 0, 2 times");
}

#[test]
fn named_tasks_can_be_found_and_removed() {
    everywhere(1, |rank| {
        let submit = Submit::on(vec![any("never"), any("e")]).named("placeholder");
        rank.submit(submit, |_, _| Ok(())).unwrap();
        fire(rank, 0, "e", 1);
        assert!(rank.is_submitted("placeholder"));
        assert_eq!(rank.remove("placeholder"), 1);
        assert!(!rank.is_submitted("placeholder"));
        assert_eq!(rank.retrieve_any(&[any("e")]).unwrap().len(), 1);
    });
}

#[test]
fn bad_input_gets_a_clear_error() {
    everywhere(2, |rank| {
        let error = rank.fire_bytes(2, "e", &[]).unwrap_err();
        assert_eq!(error.to_string(), "there is no rank 2; the run has 2, from 0 to 1");
        let error = rank.submit(Submit::on(vec![from(9, "e")]), |_, _| Ok(())).unwrap_err();
        assert!(matches!(error, EventsError::NoSuchRank { rank: 9, ranks: 2 }));
        let long = "x".repeat(5_000);
        assert!(matches!(rank.fire_bytes(0, &long, &[]), Err(EventsError::LongId { .. })));
        rank.submit(Submit::default(), |rank, _| {
            assert!(matches!(rank.finish(), Err(EventsError::InTask { call: "finish" })));
            assert!(matches!(rank.drain(), Err(EventsError::InTask { call: "drain" })));
            Ok(())
        })
        .unwrap();
    });
}
