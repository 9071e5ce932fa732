//! Rings between threads; `tests/loom` has all interleavings of small cases.

use super::region::Region;
use super::ring::{Reader, Writer, footprint};
use std::sync::Arc;

fn ring(capacity: usize) -> (Writer, Reader) {
    let region = Region::anonymous(footprint(capacity)).unwrap();
    (Writer::new(Arc::clone(&region), 0, capacity), Reader::new(region, 0, capacity))
}

fn pop(reader: &mut Reader) -> Option<Vec<u8>> {
    let frame = reader.pop(<[u8]>::to_vec);
    reader.release();
    frame
}

#[test]
fn frames_come_out_as_they_went_in() {
    let (mut writer, mut reader) = ring(256);
    for round in 0..1_000_usize {
        let frame: Vec<u8> = (0..round % 100).map(|byte| byte as u8).collect();
        let (left, right) = frame.split_at(frame.len() / 3);
        assert!(writer.push(&[left, &[], right]));
        assert!(reader.has_frame());
        assert_eq!(pop(&mut reader), Some(frame));
    }
    assert_eq!(pop(&mut reader), None);
}

#[test]
fn a_full_ring_says_so_and_hears_of_room() {
    let (mut writer, mut reader) = ring(256);
    let mut pushed = 0;
    while writer.push(&[&[7; 40]]) {
        pushed += 1;
    }
    assert_eq!(pushed, 5);
    assert!(writer.wait_for_room(40));
    reader.pop(|_| ());
    assert!(reader.release() && !reader.release());
    assert!(writer.push(&[&[8; 8]]));
    assert_eq!(std::iter::from_fn(|| pop(&mut reader)).count(), 5);
}

const COUNT: u64 = 300_000;

#[test]
fn two_threads_lose_and_swap_nothing() {
    let (mut writer, mut reader) = ring(1024);
    let sending = std::thread::spawn(move || {
        for number in 0..COUNT {
            let padding = vec![number as u8; (number % 97) as usize];
            while !writer.push(&[&number.to_le_bytes(), &padding]) {
                std::thread::yield_now();
            }
        }
    });
    let mut expected = 0;
    while expected < COUNT {
        let seen = reader.pop(|frame| {
            assert_eq!(frame[..8], expected.to_le_bytes());
            assert_eq!(frame.len() as u64, 8 + expected % 97);
            assert!(frame[8..].iter().all(|&byte| byte == expected as u8));
        });
        reader.release();
        match seen {
            Some(()) => expected += 1,
            None => std::thread::yield_now(),
        }
    }
    sending.join().unwrap();
    assert!(!reader.has_frame());
}
