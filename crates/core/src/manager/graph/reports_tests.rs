//! What workers report while something else is under way to them.

use crate::manager::tests::{call, inline, name, play, stored};
use crate::manager::*;
use crate::wire::{Assignment, FromWorker, Report, Spent, TaskFailure, ToWorker};
use freestone_base::{Ticket, WorkerId};
use smallvec::smallvec;

fn done(run: &Assignment) -> FromWorker {
    let Assignment { task, attempt, .. } = *run;
    let result = Ok(smallvec![stored(1, 10), stored(2, 10)]);
    FromWorker::Done(vec![Report { task, attempt, spent: Spent::default(), result }])
}

#[test]
fn a_block_that_is_dropped_while_it_is_made_again_is_not_believed_to_be_there() {
    let mut play = play();
    play.join(0, 1);
    let outputs = smallvec![name(1), name(2)];
    let tickets = smallvec![Ticket(1), Ticket(2)];
    play.request(Request::Submit(vec![Submission { outputs, tickets, ..call(1, &[]) }]));
    let first = play.runs(0).remove(0);
    play.says(0, done(&first));
    let lost = FromWorker::Lost { names: vec![name(1)], reason: String::new() };
    play.says(0, lost);
    let second = play.runs(0).remove(0);
    let drop = ToWorker::Drop(vec![name(2)]);
    play.request(Request::Release(vec![name(2)]));
    assert_eq!(play.sent(0), [&drop]);
    play.request(Request::Watch { name: name(2), ticket: Ticket(3) });
    // The worker may have stored block 2 before it was asked to drop it.
    play.says(0, done(&second));
    assert_eq!(play.sent(0)[0], &drop);
    let third = play.runs(0).remove(0);
    assert_eq!((third.attempt, third.outputs.as_slice()), (3, &[name(1), name(2)][..]));
    // It has dropped it before it begins this one.
    play.says(0, done(&third));
    assert_eq!(play.sent(0), Vec::<&ToWorker>::new());
    play.request(Request::Release(vec![name(1), name(2)]));
    play.assert_empty();
}

/// A call of an actor: a task that waits for the actor's end.
#[test]
fn what_is_put_in_place_of_a_waiting_tasks_output_ends_the_task() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1]), call(3, &[1]), call(4, &[2])]));
    let life = play.runs(0).remove(0);
    play.request(Request::PutInline { name: name(2), bytes: (&b"x"[..]).into() });
    assert_eq!(play.outcomes(), [(2, Outcome::Ready(inline(b"x")))]);
    let dependent = play.runs(0).remove(0);
    assert_eq!(dependent.outputs[..], [name(4)]);
    let why = TaskFailure::TimedOut { timeout_ns: 1 };
    let (worker, failure) = (WorkerId(0), why.clone());
    play.request(Request::Fail { name: name(3), worker, failure: failure.clone() });
    let failed = play.outcomes();
    assert!(
        matches!(&failed[..], [(3, Outcome::Failed(failed))] if failed.why == Why::Attempt(why)),
        "{failed:?}"
    );
    // One that has begun is left alone.
    play.request(Request::Fail { name: name(1), worker, failure });
    assert!(play.outcomes().is_empty());
    play.done(0, &life, inline(b"end"));
    play.done(0, &dependent, inline(b"y"));
    let released = [1, 2, 2, 3, 4].map(name);
    play.request(Request::Release(released.to_vec()));
    play.assert_empty();
}
