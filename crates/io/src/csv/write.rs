//! Rows written by many threads into one file.

use crate::{IoError, Result, meter, parallel};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex};

/// Where the next piece begins: a prefix sum over pieces that become known in any order.
struct Ends {
    known: Mutex<(usize, u64, bool)>,
    changed: Condvar,
}

impl Ends {
    /// Waits until all pieces before number `piece` are known; then says where it begins.
    fn place(&self, piece: usize, nbytes: u64) -> Option<u64> {
        let mut known = self.known.lock().ok()?;
        while known.0 < piece && !known.2 {
            known = self.changed.wait(known).ok()?;
        }
        if known.2 {
            return None;
        }
        let offset = known.1;
        *known = (piece + 1, offset + nbytes, false);
        self.changed.notify_all();
        Some(offset)
    }

    /// Lets all others go: a piece failed, and its end will never be known.
    fn give_up(&self) {
        if let Ok(mut known) = self.known.lock() {
            known.2 = true;
        }
        self.changed.notify_all();
    }
}

/// Writes rows `0..rows` from `offset` on, `step` rows at a time; the offset behind the last.
///
/// `format` appends the text of some rows. Each thread formats its piece, learns where it begins
/// from the pieces before it, and writes it there while the others go on; memory is one piece per
/// thread. No call to the operating system crosses a multiple of `unit` bytes, unless that is 1.
///
/// # Errors
/// What `format` or the operating system says.
pub fn write_parallel(
    file: &File,
    offset: u64,
    rows: usize,
    step: usize,
    threads: usize,
    unit: u64,
    format: impl Fn(Range<usize>, &mut Vec<u8>) -> Result<()> + Sync,
) -> Result<u64> {
    let step = step.max(1);
    let pieces: Vec<(usize, usize)> = (0..rows).step_by(step).enumerate().collect();
    let ends = Ends { known: Mutex::new((0, offset, false)), changed: Condvar::new() };
    let spare: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    parallel::for_each(pieces, threads, |(piece, start)| {
        let mut text = spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        text.clear();
        let written = format(start..rows.min(start + step), &mut text)
            .map_err(|error| error.below(start as u64))
            .and_then(|()| {
                let Some(begin) = ends.place(piece, text.len() as u64) else { return Ok(()) };
                write_at(file, &text, begin, unit)
            });
        if let Ok(mut spare) = spare.lock() {
            spare.push(text);
        }
        written.inspect_err(|_| ends.give_up())
    })?;
    ends.known
        .into_inner()
        .map(|known| known.1)
        .map_err(|_| IoError::Io(io::Error::other("a thread that wrote has panicked")))
}

fn write_at(file: &File, mut text: &[u8], mut offset: u64, unit: u64) -> Result<()> {
    while !text.is_empty() {
        let room = if unit > 1 { unit - offset % unit } else { u64::MAX };
        let count = usize::try_from(room).map_or(text.len(), |room| room.min(text.len()));
        file.write_all_at(&text[..count], offset)?;
        meter::count(0, count as u64);
        text = &text[count..];
        offset += count as u64;
    }
    Ok(())
}
