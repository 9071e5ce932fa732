use crate::manager::tests::{Play, call, name, play};
use crate::manager::{Outcome, Reduction, Request, Why};
use freestone_base::{FunctionId, Ticket};
use std::sync::Arc;

/// Abandons blocks of which one client holds a reference each; the tickets that were cancelled.
fn abandon(play: &mut Play, blocks: &[u32]) -> Vec<u64> {
    play.request(Request::Abandon(blocks.iter().map(|block| (name(*block), 1)).collect()));
    cancelled(play)
}

fn cancelled(play: &Play) -> Vec<u64> {
    let mut tickets: Vec<u64> = play
        .outcomes()
        .into_iter()
        .filter(|(_, outcome)| {
            matches!(outcome, Outcome::Failed(failure) if failure.why == Why::Cancelled)
        })
        .map(|(ticket, _)| ticket)
        .collect();
    tickets.sort_unstable();
    tickets
}

fn names(blocks: &[u32]) -> Vec<freestone_base::Name> {
    let mut names: Vec<_> = blocks.iter().map(|block| name(*block)).collect();
    names.sort_unstable();
    names
}

#[test]
fn what_nobody_else_needs_is_cancelled_with_all_that_depends_on_it() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1]), call(3, &[2]), call(4, &[])]));
    let mut dependents = play.manager.dependents(&[name(1)]);
    dependents.sort_unstable();
    assert_eq!(dependents, names(&[1, 2, 3]));
    assert_eq!(abandon(&mut play, &[1, 2, 3]), [1, 2, 3]);
    play.request(Request::Release(names(&[1, 2, 3, 4])));
    assert_eq!(play.statistics().tasks, 1);
}

#[test]
fn what_another_client_holds_runs_on_with_all_that_it_needs() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[1]), call(3, &[1])]));
    // Another client asks for 2 as well.
    play.request(Request::Submit(vec![call(2, &[1])]));
    assert_eq!(abandon(&mut play, &[1, 2, 3]), [3]);
    assert_eq!(play.statistics().tasks, 2);
}

#[test]
fn what_another_client_let_go_of_is_not_this_ones() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    // Another client's call, whose future it has dropped.
    play.request(Request::Submit(vec![call(2, &[1])]));
    play.request(Request::Release(vec![name(2)]));
    assert_eq!(abandon(&mut play, &[1]), [0_u64; 0]);
    assert_eq!(play.statistics().tasks, 2);
}

#[test]
fn outputs_of_one_call_stay_together() {
    let mut play = play();
    play.join(0, 1);
    let mut both = call(1, &[]);
    both.outputs.push(name(2));
    both.tickets.push(Ticket(2));
    play.request(Request::Submit(vec![both]));
    play.request(Request::Watch { name: name(2), ticket: Ticket(7) });
    assert_eq!(abandon(&mut play, &[1, 2]), [0_u64; 0]);
    play.request(Request::Release(vec![name(2)]));
    assert_eq!(abandon(&mut play, &[1, 2]), [1, 2, 7]);
}

#[test]
fn a_reduction_depends_on_its_inputs() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[]), call(2, &[])]));
    play.request(Request::Reduce(Reduction {
        output: name(3),
        function: FunctionId(0),
        arguments: vec![Vec::new().into()],
        inputs: vec![name(1), name(2)],
        arity: 2,
        commutes: true,
        options: Arc::default(),
        retries: 0,
        priority: 0,
        tenant: None,
        ticket: Ticket(3),
    }));
    assert_eq!(play.manager.dependents(&[name(2)]).len(), 2);
    play.request(Request::Watch { name: name(3), ticket: Ticket(8) });
    assert_eq!(abandon(&mut play, &[1, 2, 3]), [0_u64; 0]);
    play.request(Request::Release(vec![name(3)]));
    assert_eq!(abandon(&mut play, &[1, 2, 3]), [1, 2, 3, 8]);
}
