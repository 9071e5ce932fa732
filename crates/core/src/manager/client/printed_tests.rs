use crate::manager::tests::{Play, call, name, play};
use crate::manager::{Action, Event, Request};
use crate::wire::{FromWorker, Printed, PrintedOf, Stream};
use freestone_base::{TaskId, Ticket, WorkerId};

fn print(play: &mut Play, task: Option<TaskId>) -> (Vec<Ticket>, PrintedOf) {
    let text = (&b"hello\n"[..]).into();
    let printed = Printed { task, stream: Stream::Error, text, left_out: 3 };
    play.handle(Event::Worker(WorkerId(0), FromWorker::Printed(Box::new(printed))));
    let found = play.out.drain(..).find_map(|action| match action {
        Action::Print(tickets, piece) => Some((tickets.to_vec(), *piece)),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn what_a_task_prints_is_for_those_who_wait_for_it() {
    let mut play = play();
    play.join(0, 1);
    play.request(Request::Submit(vec![call(1, &[])]));
    let task = play.runs(0)[0].task;
    play.request(Request::Watch { name: name(1), ticket: Ticket(77) });
    let (tickets, piece) = print(&mut play, Some(task));
    assert!(tickets.contains(&Ticket(77)) && tickets.len() == 2, "{tickets:?}");
    assert_eq!((piece.name, piece.worker), (Some(name(1)), WorkerId(0)));
    assert_eq!(piece.printed.text.as_slice(), b"hello\n");
    assert_eq!((piece.printed.stream, piece.printed.left_out), (Stream::Error, 3));
    assert_eq!(piece.printed.task, Some(task));
}

#[test]
fn what_no_task_or_an_unknown_one_prints_has_no_name() {
    let mut play = play();
    play.join(0, 1);
    for task in [None, Some(TaskId::new(99, 3))] {
        let (tickets, piece) = print(&mut play, task);
        assert_eq!((tickets, piece.name, piece.printed.task), (vec![], None, None));
    }
}
