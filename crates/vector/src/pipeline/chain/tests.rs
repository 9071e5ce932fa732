use proptest::prelude::*;

use super::spread::{spread_column, spread_row};
use super::*;
use crate::kernels::dense::binary::Binary;
use crate::kernels::dense::unary::Unary;
use crate::pipeline::drawing::Draw;
use crate::pipeline::scratch::locations;
use crate::pipeline::step::{Tile, Workspace};
use crate::pipeline::{Input, Operand, Register};
use crate::pipeline::{Options, Reduced, run};

const BINARY: [Binary; 15] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
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
    Binary::Log,
];
const UNARY: [Unary; 11] = [
    Unary::Minus,
    Unary::Abs,
    Unary::Sign,
    Unary::Sqrt,
    Unary::Round,
    Unary::Floor,
    Unary::Ceil,
    Unary::IsNan,
    Unary::Exp,
    Unary::Ln,
    Unary::Tanh,
];
const TYPES: [Cell; 5] = [Cell::F64, Cell::F32, Cell::I32, Cell::I64, Cell::U8];

/// Memory of any cells, as words.
fn drawn(draw: &mut Draw, cell: Cell, count: usize) -> Vec<u64> {
    let mut words = vec![0_u64; (count * cell.size()).div_ceil(8)];
    with_cell!(cell, T => {
        // SAFETY: there is room for so many cells of this type.
        let cells = unsafe {
            std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<T>(), count)
        };
        cells.fill_with(|| T::from_f64((draw.below(4001) as f64 - 2000.0) / 64.0));
    });
    words
}

/// The cells of memory as words, of which those of all that is no number are alike.
fn read<T: Number>(cells: &[T]) -> Vec<u64> {
    let word = |cell: &T| if cell.partial_cmp(cell).is_some() { bits(*cell) } else { u64::MAX };
    cells.iter().map(word).collect()
}

/// A chain of random operations on a type's matrices, a row, a column and numbers, the registers 0 to 5.
fn random(
    draw: &mut Draw,
    (rows, columns): (usize, usize),
    cell: Cell,
    memory: &[Vec<u64>; 4],
) -> Pipeline {
    let classes = [Class::Full, Class::Full, Class::Row, Class::Column];
    let mut inputs: Vec<Input> = classes
        .into_iter()
        .zip(memory)
        .map(|(class, words)| Input { cell, class, place: Operand::Memory(words.as_ptr().cast()) })
        .collect();
    for number in [2.0, -3.0] {
        let word = with_cell!(cell, T => bits(T::from_f64(number)));
        inputs.push(Input { cell, class: Class::Scalar, place: Operand::Bits(word) });
    }
    let mut cells = vec![cell; 6];
    let mut instructions = Vec::new();
    let full = |register: usize| !(2..=5).contains(&register);
    for _ in 0..=draw.below(6) {
        // One of the last registers, and others of its type.
        let arg = loop {
            let arg = cells.len() - 1 - draw.below(cells.len());
            if full(arg) {
                break arg;
            }
        };
        let alike: Vec<usize> = (0..cells.len()).filter(|at| cells[*at] == cells[arg]).collect();
        let (one, two, now) = (draw.one(&alike), draw.one(&alike), cells[arg]);
        let instruction = match draw.below(6) {
            0 => Instruction::Unary(draw.one(&UNARY), now, arg),
            1 => Instruction::Select(now, [one, arg, two]),
            2 => Instruction::Cast(draw.one(&TYPES), arg),
            // By a number, where there is one of that type.
            3 if !now.is_whole() => {
                let by = if now == cell { 4 + draw.below(2) } else { one };
                Instruction::Binary(draw.one(&[Binary::Div, Binary::Pow]), now, arg, by)
            }
            4 => Instruction::Binary(draw.one(&BINARY), now, one, arg),
            _ => Instruction::Binary(draw.one(&BINARY), now, arg, one),
        };
        cells.push(if let Instruction::Cast(to, _) = instruction { to } else { now });
        instructions.push(instruction);
    }
    Pipeline { rows, columns, inputs, structure: None, instructions, outputs: Vec::new() }
}

/// What the last instruction makes, one instruction after the other on all cells.
fn one_by_one(pipeline: &Pipeline) -> Vec<u64> {
    let kinds = pipeline.kinds().expect("it is well formed");
    let locations = locations(pipeline, &kinds);
    let mut workspace = Workspace::new(pipeline, &kinds, &locations);
    let tile = Tile { rows: 0..pipeline.rows, stored: 0..0 };
    for at in 0..pipeline.instructions.len() {
        workspace.step(at, &tile).expect("no whole number is divided");
    }
    let last = kinds.len() - 1;
    with_cell!(kinds[last].cell, T => read(workspace.cells::<T>(last, &tile)))
}

fn reductions(register: Register) -> Vec<Output> {
    [Reduce::Sum, Reduce::Min, Reduce::Max].map(|how| Output::Reduce(how, register)).to_vec()
}

fn is_chain(pipeline: &Pipeline) -> bool {
    let kinds = pipeline.kinds().expect("it is well formed");
    Chain::of(pipeline, &kinds, &locations(pipeline, &kinds), 0, None).is_some()
}

fn numbers(pipeline: &Pipeline, options: &Options) -> Vec<u64> {
    let found = run(pipeline, options).expect("it is well formed");
    let word = |one: &Reduced| with_cell!(one.cell, T => read(&[number::<T>(one.bits)])[0]);
    found.iter().map(word).collect()
}

proptest! {
    #[test]
    fn a_chain_gives_what_its_operations_give(
        seed in any::<u64>(),
        cell in proptest::sample::select(&TYPES),
        rows in 1_usize..60,
        columns in prop_oneof![1_usize..9, 60_usize..300],
        workers in 1_usize..4,
        batch_bytes in prop_oneof![Just(0_usize), 1_usize..5000],
    ) {
        let mut draw = Draw(seed | 1);
        let memory =
            [rows * columns, rows * columns, columns, rows].map(|count| drawn(&mut draw, cell, count));
        let mut pipeline = random(&mut draw, (rows, columns), cell, &memory);
        let expected = one_by_one(&pipeline);
        let last = pipeline.inputs.len() + pipeline.instructions.len() - 1;
        let made = pipeline.kinds().expect("it is well formed")[last].cell;
        let mut stored = vec![0_u64; (rows * columns * made.size()).div_ceil(8)];
        pipeline.outputs = reductions(last);
        pipeline.outputs.push(Output::Store(last, stored.as_mut_ptr().cast()));
        prop_assert!(is_chain(&pipeline));
        let options = Options { workers, batch_bytes, ..Options::default() };
        let together = numbers(&pipeline, &options);
        let found = with_cell!(made, T => {
            // SAFETY: there is room for all cells of this type.
            read(unsafe {
                std::slice::from_raw_parts(stored.as_ptr().cast::<T>(), rows * columns)
            })
        });
        prop_assert_eq!(found, expected);

        // Reduced of what was stored, and without storing it: the same, to the last digit.
        let place = Operand::Memory(stored.as_ptr().cast());
        let apart = Pipeline {
            inputs: vec![Input { cell: made, class: Class::Full, place }],
            instructions: Vec::new(),
            outputs: reductions(0),
            ..pipeline.clone()
        };
        prop_assert!(is_chain(&apart));
        let even = Options { batch_bytes: 0, ..options };
        pipeline.outputs.pop();
        prop_assert_eq!(numbers(&pipeline, &even), numbers(&apart, &even));
        prop_assert_eq!(together.len(), 3);
    }

    #[test]
    fn rows_and_columns_are_spread_from_any_cell_on(
        columns in 1_usize..40,
        at in 0_usize..400,
        count in 1_usize..200,
    ) {
        let row: Vec<usize> = (0..columns).collect();
        let cells: Vec<usize> = (0..600).collect();
        let (mut across, mut down) = (vec![0; count], vec![0; count]);
        spread_row(&row, at % columns, &mut across);
        spread_column(&cells[at / columns..], columns, at % columns, &mut down);
        let places = || at..at + count;
        prop_assert_eq!(across, places().map(|cell| cell % columns).collect::<Vec<_>>());
        prop_assert_eq!(down, places().map(|cell| cell / columns).collect::<Vec<_>>());
    }
}

#[test]
fn a_large_result_arrives_past_the_caches() {
    let (rows, columns) = (70_001, 61);
    let x: Vec<f64> = (0..rows * columns).map(|at| (at % 1009) as f64 - 500.0).collect();
    // Not where a line begins.
    let mut room = vec![0.0; rows * columns + 1];
    let out = &mut room[1..];
    let input =
        Input { cell: Cell::F64, class: Class::Full, place: Operand::Memory(x.as_ptr().cast()) };
    let three = Operand::Bits(3_f64.to_bits());
    let pipeline = Pipeline {
        rows,
        columns,
        inputs: vec![input, Input { cell: Cell::F64, class: Class::Scalar, place: three }],
        structure: None,
        instructions: vec![
            Instruction::Unary(Unary::Abs, Cell::F64, 0),
            Instruction::Binary(Binary::Div, Cell::F64, 2, 1),
        ],
        outputs: vec![Output::Store(3, out.as_mut_ptr().cast()), Output::Reduce(Reduce::Max, 3)],
    };
    assert!(is_chain(&pipeline));
    let options = Options { workers: 2, ..Options::default() };
    assert_eq!(numbers(&pipeline, &options), [(508_f64 / 3.0).to_bits()]);
    assert!(out.iter().zip(&x).all(|(out, x)| *out == x.abs() / 3.0));
}

#[test]
fn what_is_not_cell_by_cell_is_no_chain() {
    let x = [1.0, 2.0, 3.0, 4.0];
    let place = Operand::Memory(x.as_ptr().cast());
    let input = Input { cell: Cell::F64, class: Class::Full, place };
    let of = |instructions: Vec<Instruction>, outputs: Vec<Output>| Pipeline {
        rows: 2,
        columns: 2,
        inputs: vec![input],
        structure: None,
        instructions,
        outputs,
    };
    let sum = |register| vec![Output::Reduce(Reduce::Sum, register)];
    assert!(is_chain(&of(vec![Instruction::Unary(Unary::Abs, Cell::F64, 0)], sum(1))));
    assert!(!is_chain(&of(vec![Instruction::RowReduce(Reduce::Sum, 0)], sum(1))));
    let mut sums = [0.0; 2];
    let columns = Output::ColumnReduce(Reduce::Sum, 0, sums.as_mut_ptr().cast());
    assert!(!is_chain(&of(Vec::new(), vec![columns])));
}
