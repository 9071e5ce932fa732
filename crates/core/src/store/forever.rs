//! Blocks that are kept for later runs, in a folder that runs share.
//!
//! Beside each block's file lies a small one that describes it, written last: a block without it
//! is not there. Whoever finds a block checks its checksum before the first use.
//!
//! See docs/decisions/013-blocks-kept-forever-lie-in-a-folder-that-the-user-names.md

use super::error::{At, StoreError};
use super::files::{create_unique, make_folder, place};
use crate::wire::{BlockDesc, Frames, frame};
use freestone_base::Name;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const TEMPORARY: &str = "tmp";
const SIDECAR: &str = "block";

/// The folder of the blocks that are kept.
#[derive(Clone, Debug)]
pub struct Forever {
    folder: PathBuf,
}

impl Forever {
    /// Makes the folder if it isn't there.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        make_folder(folder)?;
        make_folder(&folder.join(TEMPORARY))?;
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// The blocks that are here, as far as can be told without reading them.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder can't be read; a broken description is passed over.
    pub fn blocks(&self) -> Result<Vec<BlockDesc>, StoreError> {
        let mut blocks = Vec::new();
        for entry in std::fs::read_dir(&self.folder).at(&self.folder)? {
            let path = entry.at(&self.folder)?.path();
            if path.extension().is_some_and(|extension| extension == SIDECAR) {
                blocks.extend(read_sidecar(&path).filter(|block| self.is_whole(block)));
            }
        }
        blocks.sort_unstable_by_key(|block| block.name);
        Ok(blocks)
    }

    /// Where a block lies, if it is here.
    pub fn path(&self, block: &BlockDesc) -> Option<PathBuf> {
        let path = place(&self.folder, block.name, &block.form).ok()?;
        self.is_whole(block).then_some(path)
    }

    /// Copies a block's file here. Linear in its bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Full`]; then nothing is left here.
    pub fn keep(&self, block: &BlockDesc, from: &Path) -> Result<(), StoreError> {
        let place = place(&self.folder, block.name, &block.form)?;
        if let Some(folder) = place.parent() {
            make_folder(folder)?;
        }
        self.put(&place, |file| io::copy(&mut File::open(from)?, file).map(|_| ()))?;
        let mut description = Vec::new();
        frame::encode(block, &mut description).map_err(io::Error::other).at(&place)?;
        self.put(&self.sidecar(block.name), |file| file.write_all(&description))
    }

    /// Removes a block, for instance one that is damaged.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove(&self, block: &BlockDesc) -> Result<(), StoreError> {
        let sidecar = self.sidecar(block.name);
        std::fs::remove_file(&sidecar).at(&sidecar)?;
        let path = place(&self.folder, block.name, &block.form)?;
        std::fs::remove_file(&path).at(&path)
    }

    fn put(
        &self,
        place: &Path,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let temporary = self.folder.join(TEMPORARY);
        let (mut file, path) = create_unique(&temporary)?;
        let put = write(&mut file).and_then(|()| std::fs::rename(&path, place));
        if put.is_err() {
            // What can't be removed is in nobody's way.
            let _ = std::fs::remove_file(&path);
        }
        put.at(place)
    }

    fn sidecar(&self, name: Name) -> PathBuf {
        self.folder.join(format!("{name}.{SIDECAR}"))
    }

    fn is_whole(&self, block: &BlockDesc) -> bool {
        place(&self.folder, block.name, &block.form)
            .ok()
            .and_then(|path| std::fs::metadata(path).ok())
            .is_some_and(|found| found.len() == block.nbytes)
    }
}

fn read_sidecar(path: &Path) -> Option<BlockDesc> {
    let mut frames = Frames::default();
    frames.extend(&std::fs::read(path).ok()?);
    frames.next().ok().flatten()
}

/// XXH3 (64 bits) of a file. Linear in its bytes, about as fast as they can be read.
///
/// # Errors
/// [`StoreError::Io`].
pub fn checksum_of(path: &Path) -> Result<u64, StoreError> {
    let mut file = File::open(path).at(path)?;
    let mut buffer = vec![0; super::segment::CHUNK];
    let mut hash = Xxh3::new();
    loop {
        match file.read(&mut buffer).at(path)? {
            0 => return Ok(hash.digest()),
            nbytes => hash.update(&buffer[..nbytes]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Form;

    fn block(bytes: &[u8], form: Form) -> BlockDesc {
        let checksum = xxhash_rust::xxh3::xxh3_64(bytes);
        BlockDesc { name: Name::of(bytes), nbytes: bytes.len() as u64, checksum, form }
    }

    #[test]
    fn what_is_kept_is_found_again_unless_it_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::write(&from, b"bytes").unwrap();
        let place = folder.path().join("kept");
        let forever = Forever::open(&place).unwrap();
        let blocks =
            [block(b"bytes", Form::Value), block(b"bytes", Form::File("a.txt".to_owned()))];
        for block in &blocks {
            forever.keep(block, &from).unwrap();
            let again = Forever::open(&place).unwrap();
            assert_eq!(again.blocks().unwrap(), std::slice::from_ref(block));
            let path = again.path(block).unwrap();
            assert_eq!(checksum_of(&path).unwrap(), block.checksum);
            std::fs::write(&path, b"less").unwrap();
            assert_eq!(again.blocks().unwrap(), []);
            forever.remove(block).unwrap();
        }
        std::fs::write(place.join("x.block"), b"\xff\xff\xff").unwrap();
        assert_eq!(forever.blocks().unwrap(), []);
    }
}
