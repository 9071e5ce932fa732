//! All blocks that the client named, by name and in the order of naming.

use super::known::{Known, Origin};
use freestone_base::Name;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Names are hashes: eight of their bytes are one, too.
#[derive(Default)]
struct OfName(u64);

impl Hasher for OfName {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(word) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*word);
        }
    }

    fn write_usize(&mut self, _length: usize) {}
}

/// All blocks that the client named.
#[derive(Default)]
pub struct Blocks {
    all: Vec<(Name, Known)>,
    index: HashMap<Name, usize, BuildHasherDefault<OfName>>,
    /// Those that the client holds references to, in order.
    held: Vec<usize>,
}

impl Blocks {
    pub fn insert(&mut self, name: Name, known: Known) {
        let index = self.all.len();
        if known.references > 0 {
            self.held.push(index);
        }
        self.index.insert(name, index);
        self.all.push((name, known));
    }

    pub fn get(&self, name: &Name) -> Option<&Known> {
        self.index.get(name).map(|index| &self.all[*index].1)
    }

    pub fn get_mut(&mut self, name: &Name) -> Option<&mut Known> {
        self.index.get(name).map(|index| &mut self.all[*index].1)
    }

    /// In the order of naming.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.all.iter().map(|(name, _)| *name)
    }

    /// How many there are, or how many of them the client holds references to.
    pub fn count(&self, held: bool) -> usize {
        if held { self.held.len() } else { self.all.len() }
    }

    /// The block at a place of that order, or of the order of those that the client holds.
    pub fn at(&self, place: usize, held: bool) -> Name {
        self.all[if held { self.held[place] } else { place }].0
    }

    /// The client holds one reference more.
    pub fn hold(&mut self, name: &Name) {
        let Some(index) = self.index.get(name) else { return };
        let known = &mut self.all[*index].1;
        known.references += 1;
        if known.references == 1
            && let Err(place) = self.held.binary_search(index)
        {
            self.held.insert(place, *index);
        }
    }

    /// The client gives a reference back, if it holds one; whether it does and how many are left.
    pub fn release(&mut self, name: &Name) -> Option<u32> {
        let index = self.index.get(name)?;
        let known = &mut self.all[*index].1;
        known.references = known.references.checked_sub(1)?;
        if known.references == 0 {
            known.released = true;
            if let Ok(place) = self.held.binary_search(index) {
                self.held.remove(place);
            }
        }
        Some(known.references)
    }

    /// The block that stands for this one: a reduction of one input is that input.
    pub fn resolve(&self, mut name: Name) -> Name {
        while let Some(Known { origin: Origin::Reduce { .. }, inputs, .. }) = self.get(&name) {
            let [input] = inputs[..] else { break };
            name = input;
        }
        name
    }

    /// What a block is made of, however far back, with what was made along with it.
    pub fn ancestry(&self, name: Name) -> Ancestry<'_> {
        let mut ancestry = Ancestry {
            blocks: self,
            found: vec![false; self.all.len()],
            known: Vec::new(),
            unknown: Vec::new(),
        };
        let mut next = vec![name];
        while let Some(name) = next.pop() {
            let Some(index) = self.index.get(&name) else {
                ancestry.unknown.push(name);
                continue;
            };
            if std::mem::replace(&mut ancestry.found[*index], true) {
                continue;
            }
            let known = &self.all[*index].1;
            ancestry.known.push(known);
            next.extend(&known.inputs);
            if let Origin::Call { outputs, .. } = &known.origin {
                next.extend(outputs);
            }
        }
        ancestry
    }
}

impl std::ops::Index<&Name> for Blocks {
    type Output = Known;

    fn index(&self, name: &Name) -> &Known {
        self.get(name).expect("the client named it")
    }
}

/// What a block is made of, however far back.
pub struct Ancestry<'a> {
    blocks: &'a Blocks,
    found: Vec<bool>,
    pub known: Vec<&'a Known>,
    unknown: Vec<Name>,
}

impl Ancestry<'_> {
    /// Those that the client named.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        let all = self.blocks.all.iter().zip(&self.found);
        all.filter(|(_, found)| **found).map(|((name, _), _)| name)
    }

    pub fn contains(&self, name: &Name) -> bool {
        match self.blocks.index.get(name) {
            Some(index) => self.found[*index],
            None => self.unknown.contains(name),
        }
    }
}
