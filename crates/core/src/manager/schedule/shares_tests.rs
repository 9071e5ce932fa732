//! Programs that share a cluster take turns.

use crate::manager::tests::{call, inline, play};
use crate::manager::{Request, Submission};
use freestone_base::Tenant;

fn of(tenant: u32, priority: i32, outputs: std::ops::Range<u32>) -> Request {
    let calls = outputs.map(|output| {
        let tenant = Some(Tenant(tenant));
        Submission { priority, tenant, ..call(output, &[]) }
    });
    Request::Submit(calls.collect())
}

/// Whose calls a worker of one slot runs, one after another, until it has none.
fn order(requests: Vec<Request>) -> Vec<u32> {
    let mut play = play();
    play.join(0, 1);
    let mut sent = Vec::new();
    for request in requests {
        play.request(request);
        sent.extend(play.runs(0));
    }
    let mut order = Vec::new();
    while !sent.is_empty() {
        let assignment = sent.remove(0);
        order.push(assignment.tenant.0);
        play.now += 10_000_000;
        play.done(0, &assignment, inline(b"1"));
        sent.extend(play.runs(0));
    }
    order
}

#[test]
fn a_program_that_submits_much_holds_up_no_other() {
    let order = order(vec![of(1, 5, 0..60), of(2, 0, 100..110)]);
    let late: Vec<usize> = (0..order.len()).filter(|index| order[*index] == 2).collect();
    assert_eq!((order.len(), late.len()), (70, 10));
    assert!(late.windows(2).all(|pair| pair[1] - pair[0] <= 3), "{order:?}");
    assert!(late[9] < 40, "{order:?}");
}

#[test]
fn priority_orders_calls_of_one_program() {
    let mut play = play();
    play.request(of(1, 0, 0..2));
    play.request(of(1, 3, 2..4));
    play.join(0, 1);
    let (first, mut order) = (play.runs(0), Vec::new());
    let mut sent = first;
    while !sent.is_empty() {
        let assignment = sent.remove(0);
        order.push(assignment.priority);
        play.done(0, &assignment, inline(b"1"));
        sent.extend(play.runs(0));
    }
    assert_eq!(order, [3, 3, 0, 0]);
}
