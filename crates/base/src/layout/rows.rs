//! Contiguous blocks of rows, one a place.

use std::ops::Range;
use thiserror::Error;

/// Why rows can't be laid out as asked.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LayoutError {
    /// Rows need somewhere to be.
    #[error("a layout needs at least one place")]
    NoPlaces,
    /// A table of all places would not fit into memory.
    #[error("a layout of {places} places: {limit} are the most")]
    TooManyPlaces {
        /// How many places.
        places: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A weight is negative, infinite or not a number, or all are zero.
    #[error("weight {index} is {value}: weights are finite, not negative, and not all zero")]
    Weight {
        /// Which weight.
        index: usize,
        /// What was given.
        value: f64,
    },
    /// A table of offsets has to begin with zero and may not fall.
    #[error(
        "offset {index} of {length} is {value}: offsets begin with 0 and none is less than the \
         one before it"
    )]
    Offsets {
        /// Which offset.
        index: usize,
        /// What was given.
        value: u64,
        /// How many offsets there are.
        length: usize,
    },
    /// A table has an entry for each place.
    #[error("there are {given} entries for {places} places: give one for each")]
    Places {
        /// How many entries.
        given: usize,
        /// How many places.
        places: usize,
    },
    /// Each place needs a process of its own.
    #[error("there are {given} processes that may have one of {places} places: each has one")]
    Processes {
        /// How many processes.
        given: usize,
        /// How many places.
        places: usize,
    },
    /// Two layouts of different data can't be compared.
    #[error("the layouts have {from} and {to} rows: rows are moved, not made")]
    Rows {
        /// Rows of the one that is.
        from: u64,
        /// Rows of the one that shall be.
        to: u64,
    },
    /// A table of weights has an offset before each row, and one behind the last.
    #[error("the table weighs {given} rows, and the layouts have {rows}")]
    Table {
        /// Rows of the table.
        given: u64,
        /// Rows of the layouts.
        rows: u64,
    },
    /// Rows that are moved have to be in the table of weights.
    #[error("rows {start} to {end} do not lie in the {rows} of the table")]
    Outside {
        /// The first row.
        start: u64,
        /// The end of the rows.
        end: u64,
        /// Rows of the table.
        rows: u64,
    },
    /// What crosses between nodes can be said only of processes that are on one.
    #[error("process {process} has no node: {given} are given")]
    NoNode {
        /// Which process.
        process: usize,
        /// How many processes have a node.
        given: usize,
    },
}

/// Rows dealt to places in order, one contiguous block each; a block may be empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RowBlocks {
    /// Where each block begins, and where the last one ends.
    bounds: Vec<u64>,
}

impl RowBlocks {
    /// As many rows for each place as for any other, or one more for the first ones.
    ///
    /// # Errors
    /// [`LayoutError::NoPlaces`], [`LayoutError::TooManyPlaces`].
    pub fn even(rows: u64, places: usize) -> Result<Self, LayoutError> {
        let count = count_places(places)?;
        let (share, rest) = (rows / count, rows % count);
        Ok(Self { bounds: (0..=count).map(|place| place * share + place.min(rest)).collect() })
    }

    /// Rows in proportion to each place's weight, such as its speed; exact to one row.
    ///
    /// # Errors
    /// [`LayoutError::NoPlaces`], [`LayoutError::Weight`].
    pub fn weighted(rows: u64, weights: &[f64]) -> Result<Self, LayoutError> {
        count_places(weights.len())?;
        let wrong = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0);
        let total: f64 = weights.iter().sum();
        if let Some(index) = wrong.or((total <= 0.0).then_some(0)) {
            return Err(LayoutError::Weight { index, value: weights[index] });
        }
        let mut before = 0.0;
        let mut bounds = vec![0];
        for weight in weights {
            before += weight;
            bounds.push((before / total * rows as f64).round() as u64);
        }
        // Rounding of the sum must not lose or make a row.
        let count = bounds.len();
        bounds[count - 1] = rows;
        for place in (0..count - 1).rev() {
            bounds[place] = bounds[place].min(bounds[place + 1]);
        }
        Ok(Self { bounds })
    }

    /// Rows so that each place has about the same load, given what all rows before each one and
    /// all of them load: the row pointers of a CSR matrix, for equal numbers of non-zeros.
    /// Each bound is the one nearest to equal shares. `places · log rows`.
    ///
    /// # Errors
    /// [`LayoutError::NoPlaces`], [`LayoutError::Offsets`].
    pub fn by_load(offsets: &[u64], places: usize) -> Result<Self, LayoutError> {
        let count = count_places(places)?;
        let total = check_offsets(offsets)?;
        let mut bounds = vec![0];
        for place in 1..count {
            let ideal = (u128::from(total) * u128::from(place) / u128::from(count)) as u64;
            let after = offsets.partition_point(|offset| *offset < ideal);
            let is_nearer_before = after > 0
                && ideal - offsets[after - 1] < offsets.get(after).map_or(u64::MAX, |o| o - ideal);
            let bound = if is_nearer_before { after - 1 } else { after } as u64;
            bounds.push(bound.max(bounds[bounds.len() - 1]));
        }
        bounds.push(offsets.len() as u64 - 1);
        Ok(Self { bounds })
    }

    /// A layout by its table of offsets: one more than there are places.
    ///
    /// # Errors
    /// [`LayoutError::NoPlaces`], [`LayoutError::Offsets`].
    pub fn from_offsets(offsets: Vec<u64>) -> Result<Self, LayoutError> {
        count_places(offsets.len().saturating_sub(1))?;
        check_offsets(&offsets)?;
        Ok(Self { bounds: offsets })
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.bounds.len() - 1
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.bounds[self.places()]
    }

    /// The rows of a place.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn of(&self, place: usize) -> Range<u64> {
        self.bounds[place]..self.bounds[place + 1]
    }

    /// The rows of each place.
    pub fn runs(&self) -> impl Iterator<Item = (Range<u64>, usize)> + '_ {
        (0..self.places()).map(|place| (self.of(place), place))
    }

    /// Where each block begins, and where the last one ends.
    pub fn offsets(&self) -> &[u64] {
        &self.bounds
    }
}

/// More places than any machine has: each takes an entry in several tables.
const MAX_PLACES: usize = 1 << 24;

/// How many places there are, if a layout can have so many.
pub(super) fn count_places(places: usize) -> Result<u64, LayoutError> {
    match places {
        0 => Err(LayoutError::NoPlaces),
        1..=MAX_PLACES => Ok(places as u64),
        _ => Err(LayoutError::TooManyPlaces { places, limit: MAX_PLACES }),
    }
}

/// What all rows load, if the offsets are some.
pub(super) fn check_offsets(offsets: &[u64]) -> Result<u64, LayoutError> {
    let length = offsets.len();
    let wrong = |index: usize| {
        let value = offsets.get(index).copied().unwrap_or_default();
        LayoutError::Offsets { index, value, length }
    };
    if offsets.first() != Some(&0) {
        return Err(wrong(0));
    }
    match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(index) => Err(wrong(index + 1)),
        None => Ok(offsets[length - 1]),
    }
}
