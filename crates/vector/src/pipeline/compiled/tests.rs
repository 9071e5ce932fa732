use proptest::prelude::*;

use super::Program;
use crate::cell::{CELLS, Cell, Number};
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

impl Draw {
    fn number(&mut self) -> f64 {
        const SPECIAL: [f64; 12] = [
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            0.5,
            -2.5,
            9_223_372_036_854_775_808.0,
            -9.3e18,
            4_294_967_296.5,
            9_007_199_254_740_993.0,
        ];
        match self.below(40) {
            at @ 0..12 => SPECIAL[at],
            _ => (self.below(400_001) as f64 - 200_000.0) / 6400.0,
        }
    }

    /// A number's bits: of whole numbers sometimes any.
    fn word(&mut self, cell: Cell) -> u64 {
        if cell.is_whole() && self.below(4) == 0 {
            let parts = [self.below(1 << 32) as u64, self.below(1 << 32) as u64];
            return with_cell!(cell, T => bits(T::from_i64((parts[0] << 32 | parts[1]).cast_signed())));
        }
        with_cell!(cell, T => bits(T::from_f64(self.number())))
    }

    /// Memory of cells, which begins so many cells after where a vector would.
    fn cells(&mut self, cell: Cell, count: usize, skipped: usize) -> Vec<u8> {
        let mut bytes = vec![0; (count + skipped) * cell.size()];
        for place in bytes.chunks_exact_mut(cell.size()) {
            let word = self.word(cell);
            place.copy_from_slice(&word.to_le_bytes()[..cell.size()]);
        }
        bytes
    }

    /// An instruction of which one side is of all cells, and others are of its type.
    fn instruction(&mut self, cells: &[Cell], full: &[Register]) -> Instruction {
        let one = if self.below(2) == 0 { full[full.len() - 1] } else { self.one(full) };
        let cell = cells[one];
        let alike: Vec<Register> = (0..cells.len()).filter(|at| cells[*at] == cell).collect();
        let (two, three) = (self.one(&alike), self.one(&alike));
        match self.below(10) {
            0 | 1 => Instruction::Unary(self.one(&UNARY), cell, one),
            2 => Instruction::Select(cell, [one, two, three]),
            3 => Instruction::Select(cell, [two, three, one]),
            4 | 5 => Instruction::Cast(self.one(&CELLS), one),
            6 => Instruction::Binary(self.binary(cell), cell, two, one),
            _ => Instruction::Binary(self.binary(cell), cell, one, two),
        }
    }

    /// An operation that can't fail.
    fn binary(&mut self, cell: Cell) -> Binary {
        match self.one(&BINARY) {
            Binary::Div if cell.is_whole() => Binary::Mul,
            name => name,
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
fn found(pipeline: &mut Pipeline, options: &Options) -> (Vec<u64>, Vec<Vec<u64>>) {
    let kinds = pipeline.kinds().expect("it is well formed");
    let mut stores = Vec::new();
    for output in &mut pipeline.outputs {
        if let Output::Store(register, memory) = output {
            let cell = kinds[*register].cell;
            let bytes = pipeline.rows * pipeline.columns * cell.size();
            // One cell more, which has to stay as it is.
            let mut room = vec![0xA5_u8; bytes + 2 * cell.size()];
            *memory = room[cell.size()..].as_mut_ptr();
            stores.push((cell, room));
        }
    }
    let reduced = run(pipeline, options).expect("it is well formed");
    let word = |one: &Reduced| words(one.cell, &one.bits.to_le_bytes()[..one.cell.size()])[0];
    let reduced = reduced.iter().map(word).collect();
    (reduced, stores.iter().map(|(cell, room)| words(*cell, room)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn compiled_chains_give_the_bits_of_others(
        seed in any::<u64>(),
        types in prop_oneof![
            2 => proptest::sample::select(&CELLS).prop_map(|cell| [cell; 4]),
            1 => Just([Cell::F64, Cell::I64, Cell::F64, Cell::U8]),
            1 => proptest::array::uniform4(proptest::sample::select(&CELLS)),
        ],
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
        let classes = [Class::Full, Class::Full, Class::Row, Class::Column];
        let mut memory = Vec::new();
        for (count, cell) in counts.into_iter().zip(types) {
            memory.push(draw.cells(cell, count, skipped));
        }
        let mut inputs: Vec<Input> = classes
            .into_iter()
            .zip(types)
            .zip(&memory)
            .map(|((class, cell), bytes)| {
                let place = Operand::Memory(bytes[skipped * cell.size()..].as_ptr());
                Input { cell, class, place }
            })
            .collect();
        if draw.below(2) == 0 {
            // Without a row and a column a chain is one loop.
            inputs.truncate(2);
        }
        for cell in [types[0], types[1]] {
            let two = with_cell!(cell, T => bits(T::ONE.plus(T::ONE)));
            let word = if draw.below(3) == 0 { two } else { draw.word(cell) };
            inputs.push(Input { cell, class: Class::Scalar, place: Operand::Bits(word) });
        }
        let mut cells: Vec<Cell> = inputs.iter().map(|input| input.cell).collect();
        let (given, mut full) = (inputs.len(), vec![0, 1]);
        let mut instructions = Vec::new();
        for _ in 0..=draw.below(10) {
            let instruction = draw.instruction(&cells, &full);
            full.push(cells.len());
            cells.push(match instruction {
                Instruction::Cast(to, _) => to,
                Instruction::Unary(_, cell, _)
                | Instruction::Select(cell, _)
                | Instruction::Binary(_, cell, ..) => cell,
                _ => unreachable!("no others are drawn"),
            });
            instructions.push(instruction);
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
        let expected = found(&mut pipeline, &plain);
        prop_assert_eq!(found(&mut pipeline, &options), expected);
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

/// Which of the operations on elements of a type are compiled, beside one that is.
#[test]
fn chains_of_all_types_are_compiled() {
    let wide = crate::kernels::has_wide_vectors();
    let widest = crate::kernels::has_widest_vectors();
    let word = [3_u64; 4];
    let is_compiled = |cell, instruction| {
        let place = Operand::Memory(word.as_ptr().cast());
        let inputs = vec![Input { cell, class: Class::Full, place }];
        let instructions = vec![Instruction::Unary(Unary::Minus, cell, 0), instruction];
        let outputs = vec![Output::Store(2, std::ptr::null_mut())];
        let pipeline =
            Pipeline { rows: 1, columns: 2, inputs, structure: None, instructions, outputs };
        Program::of(&pipeline).is_some()
    };
    for cell in CELLS {
        let long = cell.is_whole() && cell.size() == 8;
        for name in BINARY {
            let expected = match name {
                Binary::Div if cell.is_whole() => false,
                Binary::Pow => false,
                Binary::Mul | Binary::Min | Binary::Max if long => widest,
                _ => wide,
            };
            assert_eq!(is_compiled(cell, Instruction::Binary(name, cell, 0, 1)), expected);
        }
        assert_eq!(is_compiled(cell, Instruction::Select(cell, [0, 1, 0])), wide);
        for to in CELLS {
            let expected = match (cell, to) {
                _ if cell == to => wide,
                (_, Cell::F32 | Cell::F64) if long || cell == Cell::U32 => widest,
                (Cell::F32 | Cell::F64, _) if to.is_whole() => widest,
                _ if to.is_whole() && to.size() < cell.size() => widest,
                _ => wide,
            };
            assert_eq!(is_compiled(cell, Instruction::Cast(to, 1)), expected, "{cell:?} {to:?}");
        }
    }
}

#[test]
fn extremes_of_long_integers_are_compiled_where_the_processor_has_them() {
    let word = [3_u64; 4];
    for cell in [Cell::I64, Cell::U64] {
        for how in [Reduce::Sum, Reduce::Min, Reduce::Max] {
            let place = Operand::Memory(word.as_ptr().cast());
            let pipeline = Pipeline {
                rows: 1,
                columns: 4,
                inputs: vec![Input { cell, class: Class::Full, place }],
                structure: None,
                instructions: vec![Instruction::Binary(Binary::Add, cell, 0, 0)],
                outputs: vec![Output::Reduce(how, 1)],
            };
            let expected = match how {
                Reduce::Sum => crate::kernels::has_wide_vectors(),
                _ => crate::kernels::has_widest_vectors(),
            };
            assert_eq!(Program::of(&pipeline).is_some(), expected, "{cell:?} {how:?}");
            let options = Options { compiled_from: 0, ..Options::default() };
            let found = run(&pipeline, &options).expect("it is well formed");
            assert_eq!(found[0].bits, if how == Reduce::Sum { 24 } else { 6 });
        }
    }
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
    let expected = found(&mut pipeline, &options(usize::MAX));
    assert_eq!(found(&mut pipeline, &options(0)), expected);
}
