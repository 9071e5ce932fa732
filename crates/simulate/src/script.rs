//! Symbolic calls: what a simulated call does stands in its argument bytes, and the value of a
//! block is one number, a hash of all that it was made of, so that every result can be checked.

use super::random::mix;
use freestone_base::{FunctionId, Name};
use freestone_core::wire::{BlockDesc, Form, Input, Output, Payload};

/// How a simulated function makes its value from those of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Combine {
    /// A hash of the function, the argument bytes and the inputs in order.
    #[default]
    Hash,
    /// A sum: associative and commutative, for reductions that commute.
    Sum,
    /// A composition of affine maps: associative only, for reductions that don't commute.
    Compose,
}

/// What a simulated call does, as its argument bytes say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Script {
    /// How the value is made.
    pub combine: Combine,
    /// Whether it raises whenever it is called.
    pub raises: bool,
    /// How long it runs.
    pub duration_ns: u64,
    /// Bytes of each output.
    pub nbytes: u64,
    /// Tells calls of the same function apart.
    pub salt: u64,
}

const LEN: usize = 26;

impl Script {
    /// The argument bytes.
    pub fn encode(&self) -> Payload {
        let mut bytes = [0; LEN];
        bytes[0] = self.combine as u8;
        bytes[1] = u8::from(self.raises);
        bytes[2..10].copy_from_slice(&self.duration_ns.to_le_bytes());
        bytes[10..18].copy_from_slice(&self.nbytes.to_le_bytes());
        bytes[18..].copy_from_slice(&self.salt.to_le_bytes());
        Payload::from(&bytes[..])
    }

    /// Reads argument bytes; `None` if they are not those of a script.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != LEN {
            return None;
        }
        Some(Self {
            combine: match bytes[0] {
                0 => Combine::Hash,
                1 => Combine::Sum,
                2 => Combine::Compose,
                _ => return None,
            },
            raises: bytes[1] != 0,
            duration_ns: number(&bytes[2..10]),
            nbytes: number(&bytes[10..18]),
            salt: number(&bytes[18..]),
        })
    }

    /// The value of an output.
    pub fn value(&self, function: FunctionId, inputs: &[u64], output: usize) -> u64 {
        match self.combine {
            Combine::Sum => inputs.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
            Combine::Compose => inputs.iter().copied().reduce(compose).unwrap_or_default(),
            Combine::Hash => {
                let seed = mix(self.salt ^ mix(u64::from(function.0) << 8 | output as u64));
                inputs.iter().fold(seed, |hash, value| mix(hash.rotate_left(5) ^ value))
            }
        }
    }
}

/// `x -> a(b(x))` of two maps `x -> m * x + c` over 32 bits, `m` in the upper half.
fn compose(a: u64, b: u64) -> u64 {
    let (am, ac) = ((a >> 32) as u32, a as u32);
    let (bm, bc) = ((b >> 32) as u32, b as u32);
    let multiplier = am.wrapping_mul(bm);
    let constant = am.wrapping_mul(bc).wrapping_add(ac);
    u64::from(multiplier) << 32 | u64::from(constant)
}

fn number(bytes: &[u8]) -> u64 {
    let mut array = [0; 8];
    let len = bytes.len().min(8);
    array[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(array)
}

/// An output of this value: inline up to `inline_nbytes`.
pub fn output(name: Name, nbytes: u64, value: u64, inline_nbytes: u64) -> Output {
    if nbytes <= inline_nbytes {
        return Output::Inline(Payload::from(&value.to_le_bytes()[..]));
    }
    Output::Stored(block(name, nbytes, value))
}

/// A stored block of this value: its checksum is the value.
pub fn block(name: Name, nbytes: u64, value: u64) -> BlockDesc {
    BlockDesc { name, nbytes, checksum: value, form: Form::Value }
}

/// The value of an output.
pub fn output_value(output: &Output) -> u64 {
    match output {
        Output::Inline(bytes) => number(bytes.as_slice()),
        Output::Stored(block) => block.checksum,
    }
}

/// The value of an input.
pub fn input_value(input: &Input) -> u64 {
    match input {
        Input::Inline(bytes) => number(bytes.as_slice()),
        Input::Stored(block) => block.checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_back() {
        let script = Script {
            combine: Combine::Compose,
            raises: true,
            duration_ns: 5,
            nbytes: 1 << 40,
            salt: u64::MAX,
        };
        assert_eq!(Script::decode(script.encode().as_slice()), Some(script));
        assert_eq!(Script::decode(b"no script"), None);
    }

    #[test]
    fn composing_is_associative_and_does_not_commute() {
        let (a, b, c) = (mix(1), mix(2), mix(3));
        assert_eq!(compose(compose(a, b), c), compose(a, compose(b, c)));
        assert_ne!(compose(a, b), compose(b, a));
    }
}
