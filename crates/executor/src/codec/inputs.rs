//! The positions of a call's inputs.

use freestone_base::Name;
use std::collections::HashMap;

/// So many names are searched faster than looked up.
const MAX_SEARCHED: usize = 16;

/// The blocks that a call's arguments refer to, each once, in the order of their first mention.
#[derive(Debug, Default)]
pub struct Inputs {
    names: Vec<Name>,
    /// Where each is in `names`, once there are more than a few.
    positions: HashMap<Name, usize>,
}

impl Inputs {
    /// The position of a block, which it gets now if it has none.
    pub fn position(&mut self, name: Name) -> usize {
        let next = self.names.len();
        let known = if next <= MAX_SEARCHED {
            self.names.iter().position(|other| *other == name)
        } else {
            if self.positions.is_empty() {
                self.positions = self.names.iter().copied().zip(0..).collect();
            }
            self.positions.get(&name).copied()
        };
        known.unwrap_or_else(|| {
            self.names.push(name);
            if next > MAX_SEARCHED {
                self.positions.insert(name, next);
            }
            next
        })
    }

    /// The blocks, by position.
    pub fn into_names(self) -> Vec<Name> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_one_position_however_many_there_are() {
        let mut inputs = Inputs::default();
        let name = |number: u8| Name([number; 16]);
        let all: Vec<_> =
            (0..60).chain(0..60).map(|number| inputs.position(name(number))).collect();
        assert_eq!(all, (0..60).chain(0..60).collect::<Vec<_>>());
        assert_eq!(inputs.into_names(), (0..60).map(|n| name(n as u8)).collect::<Vec<_>>());
    }
}
