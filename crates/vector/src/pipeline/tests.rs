use proptest::prelude::*;

use super::*;
use crate::queues::{Layout, Victims};
use freestone_base::task_sizes::{SCHEMES, Scheme};

fn memory(cells: &[f64], class: Class) -> Input {
    Input { cell: Cell::F64, class, place: Operand::Memory(cells.as_ptr().cast()) }
}

fn scalar(value: f64) -> Input {
    Input { cell: Cell::F64, class: Class::Scalar, place: Operand::Bits(value.to_bits()) }
}

/// A matrix, a row, a column and a number: what is in the registers 0 to 3.
fn all_shapes(x: &[f64], row: &[f64], column: &[f64], number: f64) -> Vec<Input> {
    vec![
        memory(x, Class::Full),
        memory(row, Class::Row),
        memory(column, Class::Column),
        scalar(number),
    ]
}

fn values(reduced: &[Reduced]) -> Vec<f64> {
    reduced.iter().map(|one| f64::from_bits(one.bits)).collect()
}

fn every_way(workers: usize) -> Vec<Options> {
    let mut ways = Vec::new();
    for (_, scheme) in SCHEMES {
        for layout in [Layout::Centralized, Layout::PerGroup, Layout::PerCpu] {
            for victims in [Victims::Seq, Victims::SeqPri, Victims::Random, Victims::RandomPri] {
                let shared_out = victims == Victims::SeqPri;
                let batch_bytes = if victims == Victims::Seq { 0 } else { 256 };
                ways.push(Options {
                    cut: Cut::By(scheme),
                    layout,
                    victims,
                    workers,
                    batch_bytes,
                    shared_out,
                    ..Options::default()
                });
            }
        }
    }
    ways
}

#[test]
fn a_chain_is_fused_and_reduced_whatever_the_schedule() {
    let (rows, columns) = (101, 7);
    let x: Vec<f64> = (0..rows * columns).map(|at| (at % 13) as f64 - 5.0).collect();
    let row: Vec<f64> = (0..columns).map(|at| at as f64).collect();
    let column: Vec<f64> = (0..rows).map(|at| (at % 3) as f64).collect();
    for options in every_way(3) {
        let mut stored = vec![0.0; rows * columns];
        let mut sums = vec![0.0; columns];
        let pipeline = Pipeline {
            rows,
            columns,
            inputs: all_shapes(&x, &row, &column, 2.0),
            structure: None,
            instructions: vec![
                Instruction::Binary(Binary::Mul, Cell::F64, 0, 3),
                Instruction::Binary(Binary::Add, Cell::F64, 4, 1),
                Instruction::Binary(Binary::Sub, Cell::F64, 5, 2),
                Instruction::RowReduce(Reduce::Max, 6),
            ],
            outputs: vec![
                Output::Store(6, stored.as_mut_ptr().cast()),
                Output::Reduce(Reduce::Sum, 6),
                Output::ColumnReduce(Reduce::Sum, 6, sums.as_mut_ptr().cast()),
                Output::Reduce(Reduce::Max, 7),
            ],
        };
        let found = run(&pipeline, &options).expect("it is well formed");
        let expected: Vec<f64> = (0..rows * columns)
            .map(|at| x[at] * 2.0 + row[at % columns] - column[at / columns])
            .collect();
        assert_eq!(stored, expected, "{options:?}");
        let most = expected.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(values(&found), [expected.iter().sum::<f64>(), most], "{options:?}");
        for (at, sum) in sums.iter().enumerate() {
            let of_column: f64 = expected.iter().skip(at).step_by(columns).sum();
            assert!((sum - of_column).abs() < 1e-9);
        }
    }
}

#[test]
fn all_workers_add_up() {
    let rows = 100_003;
    let x: Vec<f64> = (0..rows).map(|at| (at % 7) as f64).collect();
    let mut doubled = vec![0.0; rows];
    for options in every_way(4) {
        if matches!(options.cut, Cut::By(Scheme::Ss)) {
            continue;
        }
        let pipeline = Pipeline {
            rows,
            columns: 1,
            inputs: vec![memory(&x, Class::Column), scalar(2.0)],
            structure: None,
            instructions: vec![Instruction::Binary(Binary::Mul, Cell::F64, 0, 1)],
            outputs: vec![
                Output::Store(2, doubled.as_mut_ptr().cast()),
                Output::Reduce(Reduce::Sum, 2),
            ],
        };
        let found = run(&pipeline, &options).expect("it is well formed");
        assert_eq!(values(&found), [2.0 * x.iter().sum::<f64>()], "{options:?}");
        assert!(doubled.iter().zip(&x).all(|(two, one)| *two == 2.0 * one));
    }
}

#[test]
fn a_division_by_zero_is_reported() {
    let x = [1_i64, 2, 3];
    let y = [1_i64, 0, 1];
    let mut out = [0_i64; 3];
    let input = |cells: &[i64]| Input {
        cell: Cell::I64,
        class: Class::Column,
        place: Operand::Memory(cells.as_ptr().cast()),
    };
    let pipeline = Pipeline {
        rows: 3,
        columns: 1,
        inputs: vec![input(&x), input(&y)],
        structure: None,
        instructions: vec![Instruction::Binary(Binary::Div, Cell::I64, 0, 1)],
        outputs: vec![Output::Store(2, out.as_mut_ptr().cast())],
    };
    assert_eq!(run(&pipeline, &Options::default()), Err(Error::DivisionByZero));
}

#[test]
fn a_selection_takes_sides_of_all_shapes() {
    let rows = 37;
    for columns in [5, 150] {
        let x: Vec<f64> = (0..rows * columns).map(|at| (at % 11) as f64 - 5.0).collect();
        let row: Vec<f64> = (0..columns).map(|at| 100.0 + at as f64).collect();
        let column: Vec<f64> = (0..rows).map(|at| (at % 2) as f64).collect();
        // Where an odd row's cell is positive, its own; the row's elsewhere.
        for options in every_way(2).into_iter().step_by(7) {
            let mut stored = vec![0.0; rows * columns];
            let pipeline = Pipeline {
                rows,
                columns,
                inputs: all_shapes(&x, &row, &column, 0.0),
                structure: None,
                instructions: vec![
                    Instruction::Binary(Binary::Gt, Cell::F64, 0, 3),
                    Instruction::Select(Cell::F64, [4, 0, 1]),
                    Instruction::Select(Cell::F64, [2, 5, 1]),
                    Instruction::Select(Cell::F64, [2, 3, 2]),
                    Instruction::Binary(Binary::Add, Cell::F64, 6, 7),
                ],
                outputs: vec![
                    Output::Store(8, stored.as_mut_ptr().cast()),
                    Output::Reduce(Reduce::Sum, 8),
                ],
            };
            let found = run(&pipeline, &options).expect("it is well formed");
            let expected: Vec<f64> = (0..rows * columns)
                .map(|at| {
                    let odd = column[at / columns] != 0.0;
                    if odd && x[at] > 0.0 { x[at] } else { row[at % columns] }
                })
                .collect();
            assert_eq!(stored, expected, "{options:?}");
            assert_eq!(values(&found), [expected.iter().sum::<f64>()]);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let x = [1.0; 4];
    let mut pipeline = Pipeline {
        rows: 2,
        columns: 2,
        inputs: vec![memory(&x, Class::Full)],
        structure: None,
        instructions: vec![Instruction::Unary(Unary::Exp, Cell::F64, 3)],
        outputs: vec![],
    };
    assert!(matches!(pipeline.kinds(), Err(Error::Malformed(_))));
    pipeline.instructions = vec![Instruction::Unary(Unary::Exp, Cell::F32, 0)];
    assert!(matches!(pipeline.kinds(), Err(Error::Malformed(_))));
    pipeline.instructions = vec![Instruction::RowProduct(0, 0)];
    assert!(matches!(pipeline.kinds(), Err(Error::Malformed(_))));
    pipeline.instructions = vec![Instruction::Select(Cell::F32, [0, 0, 0])];
    assert!(matches!(pipeline.kinds(), Err(Error::Malformed(_))));
    pipeline.inputs[0].class = Class::Sparse;
    assert!(matches!(pipeline.kinds(), Err(Error::Malformed(_))));
}

proptest! {
    #[test]
    fn csr_matrices_give_what_dense_ones_give(
        rows in 1_usize..12,
        columns in 1_usize..9,
        seed in any::<u64>(),
        workers in 1_usize..4,
    ) {
        let mut state = seed | 1;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % 7) as f64 - 3.0
        };
        let dense: Vec<f64> = (0..rows * columns).map(|_| draw().max(0.0)).collect();
        let vector: Vec<f64> = (0..columns).map(|_| draw()).collect();
        let (mut offsets, mut places, mut cells) = (vec![0_i64], Vec::new(), Vec::new());
        for row in dense.chunks(columns) {
            for (at, cell) in row.iter().enumerate().filter(|(_, cell)| **cell != 0.0) {
                places.push(at as u32);
                cells.push(*cell);
            }
            offsets.push(cells.len() as i64);
        }
        let of = |sparse: bool, product: &mut [f64], most: &mut [f64]| {
            let pipeline = Pipeline {
                rows,
                columns,
                inputs: vec![
                    memory(
                        if sparse { &cells } else { &dense },
                        if sparse { Class::Sparse } else { Class::Full },
                    ),
                    memory(&vector, Class::Row),
                ],
                structure: sparse.then_some(Structure {
                    offsets: offsets.as_ptr(),
                    columns: places.as_ptr(),
                    stored: places.len(),
                }),
                instructions: vec![
                    Instruction::RowProduct(0, 1),
                    Instruction::Binary(Binary::Mul, Cell::F64, 0, 1),
                    Instruction::RowReduce(Reduce::Max, 3),
                ],
                outputs: vec![
                    Output::Store(2, product.as_mut_ptr().cast()),
                    Output::Store(4, most.as_mut_ptr().cast()),
                    Output::Reduce(Reduce::Sum, 3),
                    Output::Reduce(Reduce::Min, 3),
                ],
            };
            let options = Options { workers, ..Options::default() };
            values(&run(&pipeline, &options).expect("it is well formed"))
        };
        let (mut one, mut two) = (vec![0.0; rows], vec![0.0; rows]);
        let (mut three, mut four) = (vec![0.0; rows], vec![0.0; rows]);
        let left = of(true, &mut one, &mut two);
        let right = of(false, &mut three, &mut four);
        prop_assert_eq!((one, two, left), (three, four, right));
    }
}
