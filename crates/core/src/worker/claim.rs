//! Taking back calls that an executor was sent but has not begun.
//!
//! Worker and executor share one word: the sequence of the call that the executor claimed last
//! (high half) and the sequence from which on calls are revoked (low half, `u32::MAX`: none).
//! An executor claims each call before it begins; the worker revokes all calls from some sequence
//! on. Both change the whole word in one compare-and-swap, so each call is either claimed or
//! revoked, and both sides know which.
//!
//! A revocation stays in force until the executor reads `Resume`: by then it has passed over
//! everything that was sent before. The worker sends `Resume` right after revoking, before any
//! newer call, and cannot revoke again until the executor has read it.
//!
//! See docs/decisions/003-calls-are-revoked-through-one-shared-word.md

use std::sync::atomic::{AtomicU64, Ordering};

/// Nothing is revoked. Never the sequence of a call.
const NO_LIMIT: u32 = u32::MAX;

/// The largest sequence that a call may have; sequences begin at 1.
pub const LAST_SEQUENCE: u32 = u32::MAX - 1;

/// The word before the first call.
pub const INITIAL: u64 = NO_LIMIT as u64;

/// The shared word, for both sides.
///
/// Every operation is on this one atomic alone and nothing else is published through it, so its
/// modification order is all that matters; `AcqRel` and `Acquire` pair the compare-and-swap of
/// one side with that of the other.
#[derive(Clone, Copy, Debug)]
pub struct Claims<'a>(&'a AtomicU64);

impl<'a> Claims<'a> {
    /// The word of one executor, [`INITIAL`] at its start.
    pub const fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// Executor: claims a call before it begins. False: it is revoked and must be passed over.
    pub fn try_claim(&self, sequence: u32) -> bool {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                let (_, limit) = split(word);
                (sequence < limit).then(|| join(sequence, limit))
            })
            .is_ok()
    }

    /// Executor: `Resume` was read, so calls that come after it may be claimed again.
    pub fn resume(&self) {
        self.0.fetch_or(u64::from(NO_LIMIT), Ordering::AcqRel);
    }

    /// Worker: revokes the calls from `sequence` on, as far as they are not claimed. Returns the
    /// first sequence that is revoked: `sequence`, or a larger one. `None`: the executor has not
    /// yet read the `Resume` of the last revocation, and nothing changes.
    pub fn revoke_from(&self, sequence: u32) -> Option<u32> {
        let mut first = sequence;
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                let (claimed, limit) = split(word);
                first = sequence.max(claimed.saturating_add(1));
                (limit == NO_LIMIT).then(|| join(claimed, first))
            })
            .ok()
            .map(|_| first)
    }

    /// Worker: revokes more of the calls that were sent before the last revocation, whether or not
    /// the executor has read its `Resume`. Nothing may have been sent since then, so that all that is
    /// revoked comes before that `Resume`. Returns the first sequence that is revoked, and whether
    /// that `Resume` is still to be read: then there must be no second.
    pub fn revoke_more(&self, sequence: u32) -> (u32, bool) {
        let (mut first, mut is_unread) = (sequence, false);
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            let (claimed, limit) = split(word);
            first = sequence.max(claimed.saturating_add(1));
            is_unread = limit != NO_LIMIT;
            Some(join(claimed, first.min(limit)))
        });
        (first, is_unread)
    }

    /// Worker: revokes calls for the first time ([`Self::revoke_from`]) or again
    /// ([`Self::revoke_more`]). Returns the first sequence that is revoked, if any, and whether an
    /// earlier `Resume` is still to be read.
    pub fn revoke(&self, sequence: u32, again: bool) -> (Option<u32>, bool) {
        if !again {
            return (self.revoke_from(sequence), false);
        }
        let (first, is_unread) = self.revoke_more(sequence);
        (Some(first), is_unread)
    }

    /// Worker: the last claimed call, which runs or has run; 0 before the first.
    pub fn claimed(&self) -> u32 {
        split(self.0.load(Ordering::Acquire)).0
    }
}

const fn split(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

const fn join(claimed: u32, limit: u32) -> u64 {
    (claimed as u64) << 32 | limit as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// What the worker puts into the socket.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Sent {
        Call(u32),
        Resume,
    }

    /// What the worker does, step by step.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Send,
        Revoke(u32),
        RevokeMore(u32),
    }

    #[derive(Clone)]
    struct Model {
        word: u64,
        socket: VecDeque<Sent>,
        next: u32,
        /// Calls that the worker took back.
        taken: Vec<u32>,
        /// Calls that the executor began.
        begun: Vec<u32>,
    }

    impl Model {
        /// Each step is one operation on the word or on the socket: the real code runs on a real
        /// atomic, from the word that the interleaving so far led to.
        fn on_word<T>(&mut self, operate: impl FnOnce(Claims) -> T) -> T {
            let word = AtomicU64::new(self.word);
            let result = operate(Claims::new(&word));
            self.word = word.into_inner();
            result
        }

        fn worker(&mut self, step: Step) {
            match step {
                Step::Send => {
                    self.socket.push_back(Sent::Call(self.next));
                    self.next += 1;
                }
                Step::Revoke(sequence) => {
                    if let Some(first) = self.on_word(|claims| claims.revoke_from(sequence)) {
                        assert!(first >= sequence);
                        let held = (first..self.next).filter(|call| !self.taken.contains(call));
                        let held: Vec<u32> = held.collect();
                        self.taken.extend(held);
                        self.socket.push_back(Sent::Resume);
                    }
                }
                Step::RevokeMore(sequence) => {
                    let (first, is_unread) = self.on_word(|claims| claims.revoke_more(sequence));
                    let held = (first..self.next).filter(|call| !self.taken.contains(call));
                    let held: Vec<u32> = held.collect();
                    self.taken.extend(held);
                    if !is_unread {
                        self.socket.push_back(Sent::Resume);
                    }
                }
            }
        }

        fn executor(&mut self) {
            match self.socket.pop_front() {
                Some(Sent::Call(sequence)) if self.on_word(|claims| claims.try_claim(sequence)) => {
                    self.begun.push(sequence);
                }
                Some(Sent::Resume) => self.on_word(|claims| claims.resume()),
                Some(Sent::Call(_)) | None => {}
            }
        }
    }

    /// Runs every interleaving of the worker's steps with the executor's.
    fn explore(model: &Model, steps: &[Step], ended: &mut usize) {
        if let Some((step, rest)) = steps.split_first() {
            let mut next = model.clone();
            next.worker(*step);
            explore(&next, rest, ended);
        }
        if !model.socket.is_empty() {
            let mut next = model.clone();
            next.executor();
            explore(&next, steps, ended);
        } else if steps.is_empty() {
            *ended += 1;
            let mut all: Vec<u32> = model.taken.iter().chain(&model.begun).copied().collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), model.taken.len() + model.begun.len(), "both, or twice");
            assert_eq!(all, (1..model.next).collect::<Vec<_>>(), "neither");
            assert_eq!(split(model.word).1, NO_LIMIT);
        }
    }

    fn explore_all(steps: &[Step]) -> usize {
        let model = Model {
            word: INITIAL,
            socket: VecDeque::new(),
            next: 1,
            taken: Vec::new(),
            begun: Vec::new(),
        };
        let mut ended = 0;
        explore(&model, steps, &mut ended);
        ended
    }

    #[test]
    fn each_call_is_begun_or_taken_back_in_every_interleaving() {
        use Step::{Revoke, RevokeMore, Send};
        assert!(explore_all(&[Send, Send, Send, Revoke(1), Send, Send]) > 50);
        explore_all(&[Send, Send, Revoke(2), Send, Revoke(1), Send, Revoke(3), Send]);
        explore_all(&[Revoke(1), Send, Send, Revoke(2), Revoke(2), Send, Revoke(1), Send]);
        explore_all(&[Send, Send, Send, Send, Revoke(4), Revoke(3), Revoke(1), Send, Send]);
        explore_all(&[Send, Send, Send, RevokeMore(3), RevokeMore(2), Send, Revoke(4), Send]);
    }

    #[test]
    fn threads_agree_on_who_has_which_call() {
        const CALLS: u32 = 20_000;
        let word = AtomicU64::new(INITIAL);
        let claims = Claims::new(&word);
        let (sender, socket) = std::sync::mpsc::channel();
        let (taken, begun) = std::thread::scope(|scope| {
            let executor = scope.spawn(move || {
                let mut begun = Vec::new();
                for message in socket {
                    match message {
                        Sent::Call(sequence) if claims.try_claim(sequence) => begun.push(sequence),
                        Sent::Call(_) => {}
                        Sent::Resume => claims.resume(),
                    }
                }
                begun
            });
            let mut taken = Vec::new();
            for sequence in 1..=CALLS {
                sender.send(Sent::Call(sequence)).unwrap();
                if sequence % 7 != 0 {
                    continue;
                }
                if let Some(first) = claims.revoke_from(sequence - 3) {
                    taken.extend(first..=sequence);
                    sender.send(Sent::Resume).unwrap();
                }
            }
            drop(sender);
            (taken, executor.join().unwrap())
        });
        let mut all: Vec<u32> = taken.into_iter().chain(begun).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=CALLS).collect::<Vec<_>>());
    }
}
