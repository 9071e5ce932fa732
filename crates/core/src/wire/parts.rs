//! Messages that no frame can carry: those of several parts are sent as several messages, and what
//! is too large by itself comes back to the sender, who knows whose call it is.

use super::frame;
use super::messages::{
    CallResult, FromExecutor, FromWorker, Report, TaskFailure, ToExecutor, ToWorker,
};
use serde::Serialize;

/// A message that may have several parts.
pub trait Divide: Serialize + Sized {
    /// Two messages that say together, and in its order, what this one says; itself if it has but
    /// one part.
    ///
    /// # Errors
    /// The message.
    fn divide(self) -> Result<[Self; 2], Self>;
}

/// Appends a message to `out`, as several frames if one can't carry it. Returns the parts that are
/// too large by themselves, each with its bytes.
pub fn encode_parts<T: Divide>(message: T, out: &mut Vec<u8>) -> Vec<(T, usize)> {
    let mut refused = Vec::new();
    let mut parts = vec![message];
    while let Some(part) = parts.pop() {
        let Err(error) = frame::encode(&part, out) else { continue };
        match part.divide() {
            Ok([first, second]) => parts.extend([second, first]),
            Err(whole) => refused.push((whole, error.nbytes())),
        }
    }
    refused
}

fn halves<T>(mut items: Vec<T>) -> Result<[Vec<T>; 2], Vec<T>> {
    if items.len() < 2 {
        return Err(items);
    }
    let second = items.split_off(items.len() / 2);
    Ok([items, second])
}

/// Divides a message that is a list.
fn divide<T, M>(items: Vec<T>, message: impl Fn(Vec<T>) -> M) -> Result<[M; 2], M> {
    match halves(items) {
        Ok(halves) => Ok(halves.map(message)),
        Err(items) => Err(message(items)),
    }
}

impl Divide for ToWorker {
    fn divide(self) -> Result<[Self; 2], Self> {
        match self {
            Self::Run(calls) => divide(calls, Self::Run),
            Self::Drop(names) => divide(names, Self::Drop),
            Self::Return(tasks) => divide(tasks, Self::Return),
            Self::Cancel(tasks) => divide(tasks, Self::Cancel),
            whole => Err(whole),
        }
    }
}

impl Divide for FromWorker {
    fn divide(self) -> Result<[Self; 2], Self> {
        match self {
            Self::Done(reports) => divide(reports, Self::Done),
            Self::Lost { names, reason } => {
                divide(names, |names| Self::Lost { names, reason: reason.clone() })
            }
            whole => Err(whole),
        }
    }
}

impl Divide for ToExecutor {
    fn divide(self) -> Result<[Self; 2], Self> {
        match self {
            Self::Calls(calls) => divide(calls, Self::Calls),
            Self::Forget(names) => divide(names, Self::Forget),
            whole => Err(whole),
        }
    }
}

impl Divide for FromExecutor {
    fn divide(self) -> Result<[Self; 2], Self> {
        let Self::Results { results, unmapped } = self else { return Err(self) };
        let of = |results, unmapped| Self::Results { results, unmapped };
        match halves(results) {
            Ok([first, second]) => Ok([of(first, Vec::new()), of(second, unmapped)]),
            Err(one) if one.is_empty() || unmapped.is_empty() => {
                divide(unmapped, |unmapped| of(Vec::new(), unmapped)).map_err(|empty| match empty {
                    Self::Results { unmapped, .. } => of(one, unmapped),
                    other => other,
                })
            }
            Err(one) => Ok([of(one, Vec::new()), of(Vec::new(), unmapped)]),
        }
    }
}

impl Report {
    /// The report in place of one that no frame can carry.
    #[must_use]
    pub fn too_large(self, nbytes: usize) -> Self {
        Self { result: Err(TaskFailure::of_result(nbytes)), ..self }
    }
}

impl CallResult {
    /// The result in place of one that no frame can carry.
    #[must_use]
    pub fn too_large(self, nbytes: usize) -> Self {
        Self { result: Err(TaskFailure::of_result(nbytes)), ..self }
    }
}

impl TaskFailure {
    fn of_result(nbytes: usize) -> Self {
        Self::TooLarge { nbytes: nbytes as u64, is_result: true }
    }

    /// How a call fails whose arguments and small inputs no frame can carry.
    pub fn of_arguments(nbytes: usize) -> Self {
        Self::TooLarge { nbytes: nbytes as u64, is_result: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Frames, MAX_FRAME, Output, Spent};
    use freestone_base::Name;
    use smallvec::smallvec;

    fn result(sequence: u32, nbytes: usize) -> CallResult {
        let output = Output::Inline(vec![0; nbytes].into());
        CallResult { sequence, spent: Spent::default(), result: Ok(smallvec![output]) }
    }

    #[test]
    fn what_no_frame_can_carry_together_goes_in_several_and_in_order() {
        let third = MAX_FRAME / 3;
        let results: Vec<CallResult> = (1..=4).map(|number| result(number, third)).collect();
        let unmapped = vec![Name::of(b"one")];
        let mut out = Vec::new();
        let message =
            FromExecutor::Results { results: results.clone(), unmapped: unmapped.clone() };
        assert!(encode_parts(message, &mut out).is_empty());
        let mut frames = Frames::default();
        frames.extend(&out);
        let (mut got, mut gone, mut messages) = (Vec::new(), Vec::new(), 0);
        while let Some(FromExecutor::Results { results, unmapped }) = frames.next().unwrap() {
            got.extend(results);
            gone.extend(unmapped);
            messages += 1;
        }
        assert!(got == results);
        assert_eq!((gone, messages), (unmapped, 2));
    }

    #[test]
    fn what_is_too_large_by_itself_comes_back_and_the_others_are_sent() {
        let results = vec![result(1, 10), result(2, MAX_FRAME), result(3, 10)];
        let unmapped = vec![Name::of(b"one"), Name::of(b"two")];
        let mut out = Vec::new();
        let refused = encode_parts(FromExecutor::Results { results, unmapped }, &mut out);
        let [(FromExecutor::Results { results, unmapped }, nbytes)] = refused.as_slice() else {
            panic!("{refused:?}");
        };
        assert_eq!((results[0].sequence, results.len(), unmapped.len()), (2, 1, 0));
        assert!(*nbytes > MAX_FRAME);
        let mut frames = Frames::default();
        frames.extend(&out);
        let (mut sequences, mut gone) = (Vec::new(), 0);
        while let Some(FromExecutor::Results { results, unmapped }) = frames.next().unwrap() {
            sequences.extend(results.iter().map(|result| result.sequence));
            gone += unmapped.len();
        }
        assert_eq!((sequences, gone), (vec![1, 3], 2));
    }

    #[test]
    fn lists_are_divided_down_to_one_part() {
        let mut left = vec![ToExecutor::Forget((0..5_u8).map(|n| Name::of(&[n])).collect())];
        let mut ends = Vec::new();
        while let Some(message) = left.pop() {
            match message.divide() {
                Ok([first, second]) => left.extend([second, first]),
                Err(ToExecutor::Forget(names)) => ends.extend(names),
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(ends, (0..5_u8).map(|n| Name::of(&[n])).collect::<Vec<_>>());
        assert!(ToWorker::Shutdown.divide().is_err());
    }
}
