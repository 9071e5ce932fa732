//! The types of cells, and what a kernel needs of them.

/// The type of a matrix's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Cell {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// All cell types, in the order of their codes.
pub const CELLS: [Cell; 8] =
    [Cell::I8, Cell::U8, Cell::I32, Cell::U32, Cell::I64, Cell::U64, Cell::F32, Cell::F64];

impl Cell {
    /// The cell type with this code.
    pub fn of_code(code: u8) -> Option<Self> {
        CELLS.get(usize::from(code)).copied()
    }

    /// Its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "si8",
            Self::U8 => "ui8",
            Self::I32 => "si32",
            Self::U32 => "ui32",
            Self::I64 => "si64",
            Self::U64 => "ui64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of a cell.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether cells are whole numbers.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }
}

/// A number that cells can hold, with the arithmetic of compiled code: whole numbers wrap around.
pub trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// Which of the cell types it is.
    const CELL: Cell;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least number, or minus infinity.
    const LEAST: Self;
    /// The greatest number, or infinity.
    const MOST: Self;
    /// Whether it is a whole number.
    const WHOLE: bool;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// The quotient, truncated; a whole number may not be divided by zero.
    fn over(self, other: Self) -> Self;
    /// The rest, with the sign of `self`.
    fn rest(self, other: Self) -> Self;
    /// The power.
    fn power(self, other: Self) -> Self;
    /// The negative.
    fn negative(self) -> Self;
    /// The absolute value.
    fn magnitude(self) -> Self;
    /// -1, 0 or 1, or NaN.
    fn signum(self) -> Self;
    /// As a 64-bit float.
    fn to_f64(self) -> f64;
    /// From a 64-bit float, truncated.
    fn from_f64(value: f64) -> Self;
    /// As a 64-bit integer, truncated.
    fn to_i64(self) -> i64;
    /// From a 64-bit integer, wrapped around.
    fn from_i64(value: i64) -> Self;
}

macro_rules! whole {
    ($($type:ident $cell:ident)*) => {$(
        impl Number for $type {
            const CELL: Cell = Cell::$cell;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = Self::MIN;
            const MOST: Self = Self::MAX;
            const WHOLE: bool = true;
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn over(self, other: Self) -> Self { self.wrapping_div(other) }
            #[inline(always)]
            fn rest(self, other: Self) -> Self { self.wrapping_rem(other) }
            #[inline(always)]
            fn power(self, other: Self) -> Self {
                if other < 0 as Self {
                    return Self::from_f64((self as f64).powf(other as f64));
                }
                let (mut base, mut left, mut result) = (self, other, 1 as Self);
                while left > 0 {
                    if left & 1 == 1 { result = result.wrapping_mul(base); }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                result
            }
            #[inline(always)]
            fn negative(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "unsigned numbers, too, pass here")]
            fn magnitude(self) -> Self { if self < 0 { self.wrapping_neg() } else { self } }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "unsigned numbers, too, pass here")]
            fn signum(self) -> Self {
                if self > 0 { 1 } else if self < 0 { (0 as Self).wrapping_sub(1) } else { 0 }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { (value as i64) as Self }
            #[inline(always)]
            fn to_i64(self) -> i64 { self as i64 }
            #[inline(always)]
            fn from_i64(value: i64) -> Self { value as Self }
        }
    )*};
}

whole!(i8 I8 u8 U8 i32 I32 u32 U32 i64 I64 u64 U64);

macro_rules! float {
    ($($type:ident $cell:ident)*) => {$(
        impl Number for $type {
            const CELL: Cell = Cell::$cell;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = Self::NEG_INFINITY;
            const MOST: Self = Self::INFINITY;
            const WHOLE: bool = false;
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn over(self, other: Self) -> Self { self / other }
            #[inline(always)]
            fn rest(self, other: Self) -> Self { self % other }
            #[inline(always)]
            fn power(self, other: Self) -> Self { self.powf(other) }
            #[inline(always)]
            fn negative(self) -> Self { -self }
            #[inline(always)]
            fn magnitude(self) -> Self { self.abs() }
            #[inline(always)]
            fn signum(self) -> Self {
                // The sum gives -0 the sign of 0, and leaves NaN.
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { self + 0.0 }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { value as Self }
            #[inline(always)]
            fn to_i64(self) -> i64 { self as i64 }
            #[inline(always)]
            fn from_i64(value: i64) -> Self { value as Self }
        }
    )*};
}

float!(f32 F32 f64 F64);

macro_rules! same {
    ($type:ident $cell:ident $read:ident $write:ident $bits:literal) => {
        #[doc = concat!("The same cells, if they are floats of ", $bits, " bits.")]
        pub fn $read<T: Number>(cells: &[T]) -> Option<&[$type]> {
            // SAFETY: the type is the same.
            (T::CELL == Cell::$cell)
                .then(|| unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) })
        }

        #[doc = concat!("The same cells, if they are floats of ", $bits, " bits.")]
        pub fn $write<T: Number>(cells: &mut [T]) -> Option<&mut [$type]> {
            // SAFETY: the type is the same.
            (T::CELL == Cell::$cell).then(|| unsafe {
                std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast(), cells.len())
            })
        }
    };
}

same!(f64 F64 reals reals_mut "64");
same!(f32 F32 singles singles_mut "32");

/// Runs code with the Rust type of a cell type.
#[macro_export]
macro_rules! with_cell {
    ($cell:expr, $type:ident => $body:expr) => {
        match $cell {
            $crate::cell::Cell::I8 => {
                type $type = i8;
                $body
            }
            $crate::cell::Cell::U8 => {
                type $type = u8;
                $body
            }
            $crate::cell::Cell::I32 => {
                type $type = i32;
                $body
            }
            $crate::cell::Cell::U32 => {
                type $type = u32;
                $body
            }
            $crate::cell::Cell::I64 => {
                type $type = i64;
                $body
            }
            $crate::cell::Cell::U64 => {
                type $type = u64;
                $body
            }
            $crate::cell::Cell::F32 => {
                type $type = f32;
                $body
            }
            $crate::cell::Cell::F64 => {
                type $type = f64;
                $body
            }
        }
    };
}
