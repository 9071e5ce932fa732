//! Journals that are almost right: records with a checksum that fits, and what they say does not.

use crate::mutations::{self, Dice};
use crate::{AMPLIFICATION, BASE, memory, with_seeds};
use freestone_base::{Name, WorkerId};
use freestone_core::journal::{Entry, Records, StateParts, append};
use freestone_core::manager::Config;
use std::collections::{BTreeMap, BTreeSet};

/// What a state is made of, in small.
type State = (Vec<u64>, BTreeMap<u32, String>, Option<Box<[u8]>>);

fn entries(state: &[u8]) -> Vec<Entry<'_>> {
    let worker = WorkerId(7);
    vec![
        Entry::Began(Box::<Config>::default()),
        Entry::Own(b"own"),
        Entry::Connected(worker),
        Entry::Worker(worker, &[9; 300]),
        Entry::Left(worker),
        Entry::Tick,
        Entry::Opened(Some((Name::of(b"a"), 30_000))),
        Entry::Reconnected(3, 1 << 40),
        Entry::Client(3, b"request"),
        Entry::Ended(3),
        Entry::CarriedOut,
        Entry::Answered,
        Entry::Sent(3, b"frames"),
        Entry::State { part: &state[..4], is_last: false },
        Entry::State { part: &state[4..], is_last: true },
    ]
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Began(_) => "began",
        Entry::Own(_) => "own",
        Entry::Connected(_) => "connected",
        Entry::Worker(..) => "worker",
        Entry::Left(_) => "left",
        Entry::Tick => "tick",
        Entry::Opened(_) => "opened",
        Entry::Reconnected(..) => "reconnected",
        Entry::Client(..) => "client",
        Entry::Ended(_) => "ended",
        Entry::CarriedOut => "carried out",
        Entry::Answered => "answered",
        Entry::Sent(..) => "sent",
        Entry::State { .. } => "state",
    }
}

/// Reads a journal as the next process does; how many entries it has, and how many states.
fn read(journal: &[u8]) -> (usize, usize) {
    let (mut records, mut parts) = (Records::new(journal, 0), StateParts::default());
    let (mut count, mut states) = (0, 0);
    while let Ok(Some(record)) = records.next() {
        let Ok((_, entry)) = Entry::decode(record) else { break };
        count += 1;
        let Entry::State { part, is_last } = entry else { continue };
        match parts.take::<State>(part, is_last) {
            Ok(state) => states += usize::from(state.is_some()),
            Err(_) => break,
        }
    }
    assert!(records.offset() <= journal.len() as u64);
    (count, states)
}

#[test]
fn what_a_killed_process_has_written() {
    let state: State =
        ((0..100).collect(), BTreeMap::from([(1, "a".to_owned())]), Some([8; 9].into()));
    let state = postcard::to_allocvec(&state).unwrap();
    let entries = entries(&state);
    assert_eq!(entries.iter().map(kind).collect::<BTreeSet<_>>().len(), 14);
    let encoded: Vec<Vec<u8>> = entries
        .iter()
        .map(|entry| {
            let mut bytes = Vec::new();
            entry.encode(1 << 40, &mut bytes);
            bytes
        })
        .collect();
    let mut whole = Vec::new();
    for bytes in &encoded {
        append(whole.len() as u64, &mut whole, |out| out.extend(bytes));
    }
    assert_eq!(read(&whole), (entries.len(), 1));
    with_seeds(|seed| {
        let mut dice = Dice::new(seed);
        let mut journal = Vec::new();
        for _ in 0..=dice.below(4) {
            let record = if dice.below(3) == 0 {
                encoded[dice.below(encoded.len())].clone()
            } else {
                mutations::mutate(&encoded, &mut dice)
            };
            append(journal.len() as u64, &mut journal, |out| out.extend(record));
        }
        if dice.below(4) == 0 {
            let at = dice.below(journal.len());
            journal[at] ^= 1 << dice.below(8);
        }
        let peak = memory::peak_of(|| _ = read(&journal));
        // Room for a record is made a MiB at a time, in a buffer that doubles.
        let room = BASE + (4 << 20) + AMPLIFICATION * journal.len();
        assert!(peak <= room, "FREESTONE_SEED={seed}: {peak} bytes for {journal:?}");
    });
}
