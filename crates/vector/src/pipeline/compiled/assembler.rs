//! An assembler for the instructions that compiled chains are made of: AVX2 on x86-64, and those that
//! 64-bit integers need of AVX-512.

/// A general register, by its number in an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct General(pub u8);

/// The registers that the calling convention of System V gives arguments in, and others.
impl General {
    pub const RAX: Self = Self(0);
    pub const RCX: Self = Self(1);
    pub const RDX: Self = Self(2);
    pub const RBX: Self = Self(3);
    pub const RSI: Self = Self(6);
    pub const RDI: Self = Self(7);
}

/// A vector register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector(pub u8);

/// A register that counts elements of so many bytes: 1, 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(pub General, pub u8);

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(Vector),
    /// Memory: at a base, an index if there is one, and a distance in bytes.
    Memory(General, Option<Index>, i32),
}

/// The prefix that is part of an operation's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    None = 0,
    P66 = 1,
    PF3 = 2,
    PF2 = 3,
}

/// The table of operations that a code is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    Base = 1,
    Second = 2,
    Extended = 3,
}

/// A vector operation's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub map: Map,
    pub prefix: Prefix,
    pub opcode: u8,
}

/// A place in the code.
#[derive(Clone, Copy, Debug)]
pub struct Label(usize);

/// A jump whose end is not known yet.
#[derive(Debug)]
#[must_use]
pub struct Jump(usize);

/// When a jump is taken, after a comparison of unsigned numbers.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    Below = 0x82,
    NotBelow = 0x83,
}

/// Machine code, while it is written.
#[derive(Default)]
pub struct Assembler {
    pub bytes: Vec<u8>,
}

impl Assembler {
    /// `out = operation(one, last)`, on whole registers or, if not `wide`, on their first 128 bits.
    pub fn vector(
        &mut self,
        code: Code,
        wide: bool,
        out: Vector,
        one: Option<Vector>,
        last: Operand,
    ) {
        let (index, base) = match last {
            Operand::Register(register) => (0, register.0),
            Operand::Memory(base, index, _) => (index.map_or(0, |index| index.0.0), base.0),
        };
        let high = |number: u8| u8::from(number >= 8);
        let inverted =
            ((1 - high(out.0)) << 7) | ((1 - high(index)) << 6) | ((1 - high(base)) << 5);
        // An operand that an operation does not have is 15, which is inverted to 0.
        let second = !one.map_or(0, |one| one.0) & 15;
        let lengths = second << 3 | u8::from(wide) << 2 | code.prefix as u8;
        self.bytes.extend([0xC4, inverted | code.map as u8, lengths, code.opcode]);
        self.operand(out.0 & 7, last);
    }

    /// The same, by an operation of AVX-512 on registers; `long` ones are of 64 bits.
    pub fn newer(
        &mut self,
        code: Code,
        (wide, long): (bool, bool),
        out: Vector,
        one: Option<Vector>,
        last: Vector,
    ) {
        let high = |number: u8| u8::from(number >= 8);
        let inverted = ((1 - high(out.0)) << 7) | 1 << 6 | ((1 - high(last.0)) << 5) | 1 << 4;
        let second = !one.map_or(0, |one| one.0) & 15;
        let middle = u8::from(long) << 7 | second << 3 | 1 << 2 | code.prefix as u8;
        let lengths = u8::from(wide) << 5 | 1 << 3;
        self.bytes.extend([0x62, inverted | code.map as u8, middle, lengths, code.opcode]);
        self.operand(out.0 & 7, Operand::Register(last));
    }

    fn operand(&mut self, register: u8, operand: Operand) {
        match operand {
            Operand::Register(other) => self.bytes.push(0xC0 | register << 3 | other.0 & 7),
            Operand::Memory(base, index, distance) => {
                let short = i8::try_from(distance).ok();
                let mode = if short.is_some() { 0x40 } else { 0x80 };
                // Number 4 stands for an index byte, and in it for no index.
                if index.is_some() || base.0 & 7 == 4 {
                    let index = index.map_or(4 << 3, |Index(index, size)| {
                        (size.trailing_zeros() as u8) << 6 | (index.0 & 7) << 3
                    });
                    self.bytes.extend([mode | register << 3 | 4, index | base.0 & 7]);
                } else {
                    self.bytes.push(mode | register << 3 | base.0 & 7);
                }
                match short {
                    Some(short) => self.bytes.push(short.cast_unsigned()),
                    None => self.bytes.extend(distance.to_le_bytes()),
                }
            }
        }
    }

    /// A byte after an operation: which comparison, which rounding.
    pub fn immediate(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Clears the upper halves of all vector registers, which code of fewer bits would wait for.
    pub fn clear_upper(&mut self) {
        self.bytes.extend([0xC5, 0xF8, 0x77]);
    }

    /// `out = memory[base + distance]`.
    pub fn load(&mut self, out: General, base: General, distance: i32) {
        self.wide_prefix(out.0, base.0);
        self.bytes.push(0x8B);
        self.operand(out.0 & 7, Operand::Memory(base, None, distance));
    }

    /// `out = 0`.
    pub fn zero(&mut self, out: General) {
        self.between(0x31, out, out);
    }

    /// `out -= other`.
    pub fn subtract(&mut self, out: General, other: General) {
        self.between(0x29, out, other);
    }

    /// `out *= size`, of a power of 2.
    pub fn scale(&mut self, out: General, size: u8) {
        self.wide_prefix(0, out.0);
        self.bytes.extend([0xC1, 0xE0 | out.0 & 7, size.trailing_zeros() as u8]);
    }

    /// Compares two registers, for a conditional jump.
    pub fn compare(&mut self, one: General, two: General) {
        self.between(0x39, one, two);
    }

    /// `out += number`.
    pub fn add(&mut self, out: General, number: i32) {
        self.wide_prefix(0, out.0);
        self.bytes.extend([0x81, 0xC0 | out.0 & 7]);
        self.bytes.extend(number.to_le_bytes());
    }

    pub fn push(&mut self, register: General) {
        self.bytes.extend([0x40 | register.0 >> 3, 0x50 | register.0 & 7]);
    }

    pub fn pop(&mut self, register: General) {
        self.bytes.extend([0x40 | register.0 >> 3, 0x58 | register.0 & 7]);
    }

    pub fn ret(&mut self) {
        self.bytes.push(0xC3);
    }

    /// Where a loop begins: where the processor fetches code from.
    pub fn label(&mut self) -> Label {
        self.bytes.resize(self.bytes.len().next_multiple_of(32), 0x90);
        Label(self.bytes.len())
    }

    pub fn jump_back(&mut self, when: Condition, to: Label) {
        let jump = self.jump(when);
        self.lands_at(&jump, to.0);
    }

    /// A jump to where [`Assembler::land`] is called with it.
    pub fn jump(&mut self, when: Condition) -> Jump {
        self.bytes.extend([0x0F, when as u8, 0, 0, 0, 0]);
        Jump(self.bytes.len())
    }

    pub fn land(&mut self, jump: &Jump) {
        self.lands_at(jump, self.bytes.len());
    }

    fn lands_at(&mut self, jump: &Jump, place: usize) {
        let distance = place as i32 - jump.0 as i32;
        self.bytes[jump.0 - 4..jump.0].copy_from_slice(&distance.to_le_bytes());
    }

    fn between(&mut self, opcode: u8, out: General, other: General) {
        self.wide_prefix(other.0, out.0);
        self.bytes.extend([opcode, 0xC0 | (other.0 & 7) << 3 | out.0 & 7]);
    }

    /// Says that an operation is of 64 bits.
    fn wide_prefix(&mut self, register: u8, base: u8) {
        self.bytes.push(0x48 | register >> 3 << 2 | base >> 3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: Code = Code { map: Map::Base, prefix: Prefix::P66, opcode: 0x58 };

    fn written(write: impl FnOnce(&mut Assembler)) -> Vec<u8> {
        let mut to = Assembler::default();
        write(&mut to);
        to.bytes
    }

    #[test]
    fn vector_operations_are_encoded_as_the_manual_says() {
        let vector = |out, one, last| {
            written(|to| to.vector(ADD, true, Vector(out), Some(Vector(one)), last))
        };
        // vaddpd ymm1, ymm2, ymm3; ymm9, ymm10, ymm11
        assert_eq!(vector(1, 2, Operand::Register(Vector(3))), [0xC4, 0xE1, 0x6D, 0x58, 0xCB]);
        assert_eq!(vector(9, 10, Operand::Register(Vector(11))), [0xC4, 0x41, 0x2D, 0x58, 0xCB]);
        // vaddpd ymm1, ymm2, [r12 + rax + 32]; [rsi + 256]; [r12 + 0]; [r13 + rax + 0]
        let memory = |base, index, distance| Operand::Memory(General(base), index, distance);
        let rax = Some(Index(General::RAX, 1));
        assert_eq!(vector(1, 2, memory(12, rax, 32)), [0xC4, 0xC1, 0x6D, 0x58, 0x4C, 0x04, 0x20]);
        assert_eq!(
            vector(1, 2, memory(6, None, 256)),
            [0xC4, 0xE1, 0x6D, 0x58, 0x8E, 0x00, 0x01, 0x00, 0x00]
        );
        assert_eq!(vector(1, 2, memory(12, None, 0)), [0xC4, 0xC1, 0x6D, 0x58, 0x4C, 0x24, 0x00]);
        assert_eq!(vector(1, 2, memory(13, rax, 0)), [0xC4, 0xC1, 0x6D, 0x58, 0x4C, 0x05, 0x00]);
        // vaddpd ymm1, ymm2, [r13 + 8 * rax + 0]
        let eights = Some(Index(General::RAX, 8));
        assert_eq!(vector(1, 2, memory(13, eights, 0)), [0xC4, 0xC1, 0x6D, 0x58, 0x4C, 0xC5, 0x00]);
        // vpmullq ymm1, ymm2, ymm3; ymm9, ymm10, ymm11
        let multiply = Code { map: Map::Second, prefix: Prefix::P66, opcode: 0x40 };
        let newer = |out, one, last| {
            let (out, one, last) = (Vector(out), Some(Vector(one)), Vector(last));
            written(|to| to.newer(multiply, (true, true), out, one, last))
        };
        assert_eq!(newer(1, 2, 3), [0x62, 0xF2, 0xED, 0x28, 0x40, 0xCB]);
        assert_eq!(newer(9, 10, 11), [0x62, 0x52, 0xAD, 0x28, 0x40, 0xCB]);
    }

    #[test]
    fn other_operations_are_encoded_as_the_manual_says() {
        // mov r9, [rdi + 8]; sub rdi, rdx; cmp rax, rcx; add rax, 128; shl rdx, 3; push r12; pop rbx
        assert_eq!(written(|to| to.load(General(9), General::RDI, 8)), [0x4C, 0x8B, 0x4F, 8]);
        assert_eq!(written(|to| to.subtract(General::RDI, General::RDX)), [0x48, 0x29, 0xD7]);
        assert_eq!(written(|to| to.compare(General::RAX, General::RCX)), [0x48, 0x39, 0xC8]);
        assert_eq!(written(|to| to.add(General::RAX, 128)), [0x48, 0x81, 0xC0, 0x80, 0, 0, 0]);
        assert_eq!(written(|to| to.scale(General::RDX, 8)), [0x48, 0xC1, 0xE2, 3]);
        assert_eq!(written(|to| to.push(General(12))), [0x41, 0x54]);
        assert_eq!(written(|to| to.pop(General::RBX)), [0x40, 0x5B]);
    }

    #[test]
    fn jumps_go_forth_and_back() {
        let code = written(|to| {
            let jump = to.jump(Condition::NotBelow);
            let top = to.label();
            to.jump_back(Condition::Below, top);
            to.land(&jump);
        });
        assert_eq!(code[..6], [0x0F, 0x83, 32, 0, 0, 0]);
        assert_eq!(code[32..], [0x0F, 0x82, 0xFA, 0xFF, 0xFF, 0xFF]);
    }
}
