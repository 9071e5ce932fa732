use super::*;
use std::io::{PipeWriter, Write};

/// An executor's pipes, and the words that it shares with its worker.
struct World {
    prints: Prints,
    writers: [PipeWriter; 2],
    reads: AtomicU32,
    ends: AtomicU32,
    claimed: u32,
}

type Seen<'a> = (u32, bool, &'a str, u64);

fn seen(pieces: &[Piece]) -> Vec<Seen<'_>> {
    let text = |piece: &'_ Piece| std::str::from_utf8(&piece.text).unwrap().to_owned();
    let texts: Vec<String> = pieces.iter().map(text).collect();
    let texts: &'static [String] = texts.leak();
    let row = |(piece, text): (&Piece, &'static String)| {
        (piece.sequence, piece.is_error, text.as_str(), piece.left_out)
    };
    pieces.iter().zip(texts).map(row).collect()
}

impl World {
    fn new() -> Self {
        let (output, to_output) = io::pipe().unwrap();
        let (error, to_error) = io::pipe().unwrap();
        Self {
            prints: Prints::new([output, error]).unwrap(),
            writers: [to_output, to_error],
            reads: AtomicU32::new(0),
            ends: AtomicU32::new(0),
            claimed: 0,
        }
    }

    fn print(&mut self, text: &[u8]) {
        self.writers[0].write_all(text).unwrap();
    }

    fn end(&mut self, sequence: u32) {
        for writer in &mut self.writers {
            writer.write_all(&end_of(sequence)).unwrap();
        }
        self.ends.fetch_add(1, Ordering::Release);
    }

    fn read_at(&mut self, now: Now) -> Vec<Piece> {
        let claimed = self.claimed;
        let reads = Reads { reads: &self.reads, ends: &self.ends };
        self.prints.read(reads, || claimed, now)
    }

    fn read(&mut self) -> Vec<Piece> {
        self.read_at(0)
    }
}

#[test]
fn lines_are_of_the_call_that_runs() {
    let mut world = World::new();
    world.claimed = 1;
    world.print(b"one\ntw");
    assert_eq!(seen(&world.read()), [(1, false, "one\n", 0)]);
    world.writers[1].write_all(b"wrong\n").unwrap();
    world.print(b"o\n");
    assert_eq!(seen(&world.read()), [(1, false, "two\n", 0), (1, true, "wrong\n", 0)]);
    assert!(world.prints.is_quiet());
}

#[test]
fn marks_tell_calls_apart_that_ended_unread() {
    let mut world = World::new();
    world.print(b"a");
    world.end(1);
    world.print(b"b\n");
    world.end(2);
    world.claimed = 3;
    world.print(b"c\n");
    let reads = Reads { reads: &world.reads, ends: &world.ends };
    assert!(world.prints.is_behind(reads));
    assert_eq!(
        seen(&world.read()),
        [(1, false, "a", 0), (2, false, "b\n", 0), (3, false, "c\n", 0)]
    );
    let reads = Reads { reads: &world.reads, ends: &world.ends };
    assert!(!world.prints.is_behind(reads));
}

#[test]
fn a_line_without_an_end_stays_with_the_call_that_began_it() {
    let mut world = World::new();
    world.claimed = 1;
    world.print(b"partial");
    assert_eq!(seen(&world.read()), []);
    // Call 1 ended with nothing left in the pipe, and so without a mark.
    world.claimed = 2;
    world.print(b"next\n");
    assert_eq!(seen(&world.read()), [(1, false, "partial", 0), (2, false, "next\n", 0)]);
}

#[test]
fn what_a_call_left_is_finished_with_it() {
    let mut world = World::new();
    world.claimed = 1;
    world.print(b"partial");
    world.read();
    assert_eq!(seen(&world.prints.finish(Some(2))), []);
    assert_eq!(seen(&world.prints.finish(Some(1))), [(1, false, "partial", 0)]);
    assert_eq!(seen(&world.prints.finish(None)), []);
}

#[test]
fn a_mark_that_is_read_in_parts_is_a_mark() {
    let mut world = World::new();
    let mark = end_of(7);
    world.claimed = 7;
    world.print(b"x");
    world.print(&mark[..3]);
    assert_eq!(seen(&world.read()), []);
    world.claimed = 8;
    world.print(&mark[3..]);
    world.print(b"y\n");
    assert_eq!(seen(&world.read()), [(7, false, "x", 0), (8, false, "y\n", 0)]);
}

#[test]
fn what_is_far_too_much_is_left_out_but_for_its_end() {
    let mut world = World::new();
    world.claimed = 1;
    let line = [&[b'x'; 1023][..], b"\n"].concat();
    let mut passed = 0;
    for _ in 0..1024 {
        world.print(&line);
        passed += world.read().iter().map(|piece| piece.text.len()).sum::<usize>();
    }
    world.print(b"last words");
    passed += world.read().iter().map(|piece| piece.text.len()).sum::<usize>();
    assert_eq!(passed, 256 << 10, "as much as may be printed at once");
    let last = world.prints.finish(Some(1));
    assert_eq!(last.len(), 1);
    assert!(last[0].text.ends_with(b"x\nlast words"));
    let nbytes = passed + last[0].text.len() + last[0].left_out as usize;
    assert_eq!(nbytes, (1 << 20) + b"last words".len(), "every byte is passed on or counted");
    // A while later it may print again.
    world.claimed = 2;
    world.print(b"again\n");
    assert_eq!(seen(&world.read_at(60_000_000_000)), [(2, false, "again\n", 0)]);
}

#[test]
fn others_have_their_turn_when_a_pipe_is_full() {
    let mut world = World::new();
    world.claimed = 1;
    world.print(b"little\n");
    world.read_at(5);
    assert_eq!(world.prints.again_at(), None);
    world.print(&vec![b'x'; TURN_NBYTES]);
    world.read_at(5);
    assert_eq!(world.prints.again_at(), Some(5 + PAUSE_NS));
    world.read_at(6 + PAUSE_NS);
    assert_eq!(world.prints.again_at(), None);
}
