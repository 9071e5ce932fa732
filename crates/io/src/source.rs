//! Where bytes come from.

use crate::meter;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at any place, by many threads at once.
pub trait Source: Sync {
    /// Reads into a buffer at an offset; how many bytes, 0 at the end.
    ///
    /// # Errors
    /// What the operating system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// How many bytes there are.
    ///
    /// # Errors
    /// What the operating system says.
    fn nbytes(&self) -> io::Result<u64>;

    /// Fills a buffer from an offset; as far as there are bytes.
    ///
    /// # Errors
    /// What the operating system says.
    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl Source for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = FileExt::read_at(self, buffer, offset)?;
        meter::count(count as u64, 0);
        Ok(count)
    }

    fn nbytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Source for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let count = buffer.len().min(self.len() - start);
        buffer[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }

    fn nbytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}
