//! What is sent, and how urgently.

use crate::manager::tests::{call, inline, play};
use crate::manager::*;
use freestone_base::WorkerId;

#[test]
fn a_worker_has_slack_while_calls_wait_there_behind_those_that_run() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let first = play.runs(0).remove(0);
    play.done(0, &first, inline(b"x"));
    assert_eq!(play.manager.slack_ns(WorkerId(0), 0), 0, "it has nothing to do");
    play.request(Request::Submit(vec![call(2, &[])]));
    let second = play.runs(0).remove(0);
    assert_eq!(play.manager.slack_ns(WorkerId(0), 0), 0, "it will have nothing after this call");
    play.request(Request::Submit(vec![call(3, &[])]));
    // As long as the first call took.
    assert!((1_000..2_000).contains(&play.manager.slack_ns(WorkerId(0), 0)));
    assert_eq!(play.manager.slack_ns(WorkerId(0), 1), 0, "that call has not left");
    play.done(0, &second, inline(b"y"));
    assert_eq!(play.manager.slack_ns(WorkerId(0), 0), 0);
    assert_eq!(play.manager.slack_ns(WorkerId(1), 0), 0, "it never joined");
}
