//! What workers report while something else is under way to them.

use crate::manager::tests::{call, name, play, stored};
use crate::manager::*;
use crate::wire::{Assignment, FromWorker, Report, Spent, ToWorker};
use freestone_base::Ticket;
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
