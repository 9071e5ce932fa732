use proptest::prelude::*;

use super::Program;
use crate::cell::{Cell, Number};
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::reduce::Reduce;
use crate::kernels::dense::unary::Unary;
use crate::pipeline::drawing::Draw;
use crate::pipeline::words::{bits, number};
use crate::pipeline::{
    Class, Input, Instruction, Operand, Options, Output, Pipeline, Reduced, Register, run,
};
use crate::with_cell;

const BINARY: [Binary; 15] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::Min,
    Binary::Max,
    Binary::Eq,
    Binary::Neq,
    Binary::Lt,
    Binary::Le,
    Binary::Gt,
    Binary::Ge,
    Binary::And,
    Binary::Or,
    Binary::Pow,
];
const UNARY: [Unary; 8] = [
    Unary::Minus,
    Unary::Abs,
    Unary::Sign,
    Unary::Sqrt,
    Unary::Round,
    Unary::Floor,
    Unary::Ceil,
    Unary::IsNan,
];
const TYPES: [Cell; 2] = [Cell::F64, Cell::F32];

impl Draw {
    fn number(&mut self) -> f64 {
        const SPECIAL: [f64; 8] =
            [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 0.5, -2.5];
        match self.below(40) {
            at @ 0..8 => SPECIAL[at],
            _ => (self.below(400_001) as f64 - 200_000.0) / 6400.0,
        }
    }

    /// Memory of cells, which begins so many cells after where a vector would.
    fn cells(&mut self, cell: Cell, count: usize, skipped: usize) -> Vec<u8> {
        let mut bytes = vec![0; (count + skipped) * cell.size()];
        for place in bytes.chunks_exact_mut(cell.size()) {
            let word = with_cell!(cell, T => bits(T::from_f64(self.number())));
            place.copy_from_slice(&word.to_le_bytes()[..cell.size()]);
        }
        bytes
    }

    /// An instruction on registers of a type, of which some are of all cells.
    fn instruction(&mut self, cell: Cell, made: usize, full: &[Register]) -> Instruction {
        let (one, two, three) = (self.one(full), self.below(made), self.below(made));
        match self.below(8) {
            0 | 1 => Instruction::Unary(self.one(&UNARY), cell, one),
            2 => Instruction::Select(cell, [one, two, three]),
            3 => Instruction::Select(cell, [two, three, one]),
            4 => Instruction::Binary(self.one(&BINARY), cell, two, one),
            _ => Instruction::Binary(self.one(&BINARY), cell, one, two),
        }
    }
}

/// Words of cells, of which those of all that is no number are alike.
fn words(cell: Cell, bytes: &[u8]) -> Vec<u64> {
    let word = |place: &[u8]| {
        let mut word = [0; 8];
        word[..place.len()].copy_from_slice(place);
        let word = u64::from_le_bytes(word);
        with_cell!(cell, T => if number::<T>(word).to_f64().is_nan() { u64::MAX } else { word })
    };
    bytes.chunks_exact(cell.size()).map(word).collect()
}

/// What a pipeline gives: what it reduces, and what it stores.
fn found(pipeline: &mut Pipeline, cell: Cell, options: &Options) -> (Vec<u64>, Vec<Vec<u64>>) {
    let bytes = pipeline.rows * pipeline.columns * cell.size();
    let mut stores = Vec::new();
    for output in &mut pipeline.outputs {
        if let Output::Store(_, memory) = output {
            // One cell more, which has to stay as it is.
            let mut room = vec![0xA5_u8; bytes + 2 * cell.size()];
            *memory = room[cell.size()..].as_mut_ptr();
            stores.push(room);
        }
    }
    let reduced = run(pipeline, options).expect("it is well formed");
    let word = |one: &Reduced| words(cell, &one.bits.to_le_bytes()[..cell.size()])[0];
    let reduced = reduced.iter().map(word).collect();
    (reduced, stores.iter().map(|room| words(cell, room)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn compiled_chains_give_the_bits_of_others(
        seed in any::<u64>(),
        cell in proptest::sample::select(&TYPES),
        (rows, columns) in prop_oneof![
            (1_usize..20, 1_usize..20),
            (1_usize..60, 60_usize..400),
        ],
        skipped in 0_usize..4,
        workers in 1_usize..3,
        batch_bytes in prop_oneof![4 => Just(0_usize), 1 => 1_usize..5000],
    ) {
        let mut draw = Draw(seed | 1);
        let counts = [rows * columns, rows * columns, columns, rows];
        let memory = counts.map(|count| draw.cells(cell, count, skipped));
        let classes = [Class::Full, Class::Full, Class::Row, Class::Column];
        let place = |bytes: &Vec<u8>| Operand::Memory(bytes[skipped * cell.size()..].as_ptr());
        let mut inputs: Vec<Input> = classes
            .into_iter()
            .zip(&memory)
            .map(|(class, bytes)| Input { cell, class, place: place(bytes) })
            .collect();
        if draw.below(2) == 0 {
            // Without a row and a column a chain is one loop.
            inputs.truncate(2);
        }
        for _ in 0..2 {
            let given = if draw.below(3) == 0 { 2.0 } else { draw.number() };
            let word = with_cell!(cell, T => bits(T::from_f64(given)));
            inputs.push(Input { cell, class: Class::Scalar, place: Operand::Bits(word) });
        }
        let (given, mut full) = (inputs.len(), vec![0, 1]);
        let mut instructions = Vec::new();
        for _ in 0..=draw.below(10) {
            let made = given + instructions.len();
            instructions.push(draw.instruction(cell, made, &full));
            full.push(made);
        }
        let last = given + instructions.len() - 1;
        let mut outputs = Vec::new();
        for register in given..=last {
            if register == last || draw.below(5) == 0 {
                outputs.push(Output::Store(register, std::ptr::null_mut()));
            }
        }
        let how = draw.one(&[Reduce::Sum, Reduce::Sum, Reduce::Min, Reduce::Max]);
        match draw.below(3) {
            0 => outputs.push(Output::Reduce(how, draw.one(&full))),
            1 => outputs = vec![Output::Reduce(how, last)],
            _ => {}
        }
        let mut pipeline =
            Pipeline { rows, columns, inputs, structure: None, instructions, outputs };
        let options = Options { workers, batch_bytes, compiled_from: 0, ..Options::default() };
        let plain = Options { compiled_from: usize::MAX, ..options.clone() };
        let expected = found(&mut pipeline, cell, &plain);
        prop_assert_eq!(found(&mut pipeline, cell, &options), expected);
    }
}

fn chain(instructions: Vec<Instruction>, outputs: Vec<Output>) -> Pipeline {
    static CELLS: [f64; 6] = [1.0, -2.0, 3.0, 4.5, 5.0, 6.0];
    let place = Operand::Memory(CELLS.as_ptr().cast());
    let input = |class, place| Input { cell: Cell::F64, class, place };
    let number = |number: f64| input(Class::Scalar, Operand::Bits(number.to_bits()));
    let inputs = vec![input(Class::Full, place), number(2.0), number(3.0)];
    Pipeline { rows: 2, columns: 3, inputs, structure: None, instructions, outputs }
}

fn sum_of_squares(power: Register) -> Pipeline {
    let instructions = vec![
        Instruction::Binary(Binary::Sub, Cell::F64, 0, 1),
        Instruction::Binary(Binary::Pow, Cell::F64, 3, power),
    ];
    chain(instructions, vec![Output::Reduce(Reduce::Sum, 4)])
}

#[test]
fn a_structure_is_compiled_once_whatever_its_numbers() {
    let program = Program::of(&sum_of_squares(1));
    assert_eq!(program.is_some(), crate::kernels::has_wide_vectors());
    let mut again = sum_of_squares(1);
    again.inputs[2].place = Operand::Bits(7_f64.to_bits());
    if let (Some(one), Some(two)) = (program, Program::of(&again)) {
        assert!(std::sync::Arc::ptr_eq(&one, &two));
    }
    // Other powers than squares are no product.
    assert!(Program::of(&sum_of_squares(2)).is_none());
}

#[test]
fn what_needs_more_registers_than_there_are_is_not_compiled() {
    let each = |at: usize| Instruction::Binary(Binary::Add, Cell::F64, at, 0);
    let mut instructions: Vec<Instruction> = (2..14).map(each).collect();
    for at in 0..11 {
        let last = 3 + instructions.len() - 1;
        instructions.push(Instruction::Binary(Binary::Mul, Cell::F64, last, 3 + at));
    }
    let last = 3 + instructions.len() - 1;
    let mut pipeline = chain(instructions, vec![Output::Reduce(Reduce::Sum, last)]);
    assert!(Program::of(&pipeline).is_none());
    let options = |compiled_from| Options { compiled_from, ..Options::default() };
    let expected = found(&mut pipeline, Cell::F64, &options(usize::MAX));
    assert_eq!(found(&mut pipeline, Cell::F64, &options(0)), expected);
}
