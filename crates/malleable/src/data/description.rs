//! What is registered, as ranks compare it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// When rows move.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Kind {
    /// They do not change, so that they can move while the program computes.
    Constant,
    /// They move once the program waits.
    Variable,
}

/// How data is held.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Form {
    /// Rows of the same size, in memory of the library.
    Rows {
        /// How many on all ranks.
        rows: u64,
        /// Bytes of each.
        row_nbytes: u64,
        /// When they move.
        kind: Kind,
    },
    /// The same bytes on all ranks, in memory of the program.
    Replicated {
        /// How many.
        nbytes: u64,
    },
    /// Rows that functions of the program pack and unpack.
    User {
        /// How many on all ranks.
        rows: u64,
        /// Whether a rank may have several runs of them.
        has_runs: bool,
    },
}

/// What is registered under a name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Description {
    /// The name.
    pub name: String,
    /// How it is held.
    pub form: Form,
    /// A number that arrays share whose rows were replaced together; 0 if they were not.
    pub replaced: u64,
}

impl Description {
    /// What is registered under a name.
    pub fn new(name: &str, form: Form) -> Self {
        Self { name: name.to_owned(), form, replaced: 0 }
    }

    /// What its rows are dealt by, if it has rows: data with the same lies alike.
    pub fn deal(&self) -> Option<u64> {
        self.rows().map(|rows| if self.replaced == 0 { rows } else { self.replaced })
    }

    /// The same with another number of rows, replaced together with others.
    #[must_use]
    pub fn with_rows(&self, count: u64, replaced: u64) -> Self {
        let form = match self.form {
            Form::Rows { row_nbytes, kind, .. } => Form::Rows { rows: count, row_nbytes, kind },
            Form::User { has_runs, .. } => Form::User { rows: count, has_runs },
            Form::Replicated { .. } => self.form,
        };
        Self { name: self.name.clone(), form, replaced }
    }

    /// Whether a rank that joins may register this where others have `other`: the program may not
    /// have the number of rows that were replaced.
    fn is_alike(&self, other: &Self) -> bool {
        match (self.rows(), other.rows()) {
            (Some(_), Some(rows)) if other.replaced != 0 => {
                self.with_rows(rows, other.replaced) == *other
            }
            _ => self == other,
        }
    }

    /// Whether each rank has to have all of its rows in one run.
    pub fn needs_one_run(&self) -> bool {
        matches!(self.form, Form::User { has_runs: false, .. })
    }

    /// How many rows it has, if it has rows.
    pub fn rows(&self) -> Option<u64> {
        match self.form {
            Form::Rows { rows, .. } | Form::User { rows, .. } => Some(rows),
            Form::Replicated { .. } => None,
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.form {
            Form::Rows { rows, row_nbytes, kind } => {
                let kind = if kind == Kind::Constant { "constant" } else { "variable" };
                write!(f, "{kind} {name:?} with {rows} rows of {row_nbytes} bytes")
            }
            Form::Replicated { nbytes } => write!(f, "replicated {name:?} of {nbytes} bytes"),
            Form::User { rows, has_runs } => {
                let how = if has_runs { " in runs" } else { "" };
                write!(f, "user-described {name:?} with {rows} rows{how}")
            }
        }
    }
}

/// A number for data whose rows are replaced together, other than any number of rows.
pub fn together(names: &[String]) -> u64 {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    xxhash_rust::xxh3::xxh3_64(names.join("\0").as_bytes()) | 1 << 63
}

/// A number that is equal for equal values, such as registrations, and hardly ever for others.
pub fn fingerprint(value: &impl Serialize) -> i64 {
    let bytes = postcard::to_stdvec(value).unwrap_or_default();
    // A vote has its negative, too.
    (xxhash_rust::xxh3::xxh3_64(&bytes) >> 1).cast_signed()
}

/// In what one rank's registrations differ from those that, for example, "rank 0 has".
pub fn difference(own: &[Description], other: &[Description], who_has: &str) -> Option<String> {
    let mut pairs = (0..own.len().max(other.len())).map(|at| (own.get(at), other.get(at)));
    pairs.find_map(|(own, other)| match (own, other) {
        (Some(own), Some(other)) if own.is_alike(other) => None,
        (Some(own), Some(other)) => {
            Some(format!("has registered {own}, not {other}, as {who_has}"))
        }
        (Some(own), None) => Some(format!("has registered {own}, which {who_has} not")),
        (None, Some(other)) => Some(format!("has not registered {other}, which {who_has}")),
        (None, None) => None,
    })
}
