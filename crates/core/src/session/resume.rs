//! What a client and a manager say to each other over one connection after another: each message
//! comes once, and in order.
//!
//! Both sides count the messages that they get. What the other side may not have got is kept; when
//! they are connected again, each says how many it has, and is sent the rest.

use crate::wire::frame;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How many messages come until the other side is informed, if no time passes meanwhile.
const REPORT_INTERVAL: u64 = 64;

/// One side of a conversation that outlives its connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Resumable {
    /// Frames that the other side may not have, in order.
    sent: VecDeque<Box<[u8]>>,
    nbytes: usize,
    /// How many frames were sent before those.
    confirmed: u64,
    received: u64,
    /// As far as the other side was informed.
    reported: u64,
}

/// The other side claims to have got more than was sent, or less than it has said before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it has got {received} messages, as it says, and was sent {sent}")]
pub struct Unsent {
    /// What it claims.
    pub received: u64,
    /// How many there are.
    pub sent: u64,
}

impl Resumable {
    /// These whole frames are sent, now or as soon as there is a connection.
    pub fn send(&mut self, mut frames: &[u8]) {
        self.nbytes += frames.len();
        while !frames.is_empty() {
            let (first, rest) = frames.split_at(frame::first_nbytes(frames).min(frames.len()));
            self.sent.push_back(first.into());
            frames = rest;
        }
    }

    /// The other side has got so many messages.
    ///
    /// # Errors
    /// [`Unsent`]: no such other side is in order.
    pub fn confirm(&mut self, received: u64) -> Result<(), Unsent> {
        let sent = self.sent();
        if received < self.confirmed || received > sent {
            return Err(Unsent { received, sent });
        }
        for frame in self.sent.drain(..(received - self.confirmed) as usize) {
            self.nbytes -= frame.len();
        }
        self.confirmed = received;
        Ok(())
    }

    /// How many messages were sent.
    pub fn sent(&self) -> u64 {
        self.confirmed + self.sent.len() as u64
    }

    /// What is to be sent again on a new connection, after [`confirm`](Self::confirm).
    pub fn unconfirmed(&self) -> impl Iterator<Item = &[u8]> {
        self.sent.iter().map(AsRef::as_ref)
    }

    /// Bytes that the other side may not have.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// A message has come.
    pub fn count(&mut self) {
        self.received += 1;
    }

    /// How many messages have come.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// How many messages the other side is to be informed of: after some, or when time has passed.
    pub fn report(&mut self, time_passed: bool) -> Option<u64> {
        let interval = if time_passed { 1 } else { REPORT_INTERVAL };
        (self.received - self.reported >= interval).then(|| {
            self.reported = self.received;
            self.received
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Frames;

    fn framed(numbers: std::ops::Range<u64>) -> Vec<u8> {
        let mut frames = Vec::new();
        for number in numbers {
            frame::encode(&vec![number; number as usize % 5], &mut frames).unwrap();
            frame::encode(&vec![number], &mut frames).unwrap();
        }
        frames
    }

    /// A generator of numbers below `bound`.
    fn draw(state: &mut u64, bound: u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % bound
    }

    /// One side sends, and connections end after any byte: the other side gets each message once.
    fn is_delivered(seed: u64) {
        let mut state = seed;
        let (mut sender, mut receiver) = (Resumable::default(), Resumable::default());
        let (mut got, mut next) = (Vec::<Vec<u64>>::new(), 0);
        let mut wire = Vec::new();
        while got.len() < 100 {
            let mut frames = Frames::default();
            for _ in 0..draw(&mut state, 20) {
                let count = draw(&mut state, 4).min(50 - next);
                sender.send(&framed(next..next + count));
                wire.extend(framed(next..next + count));
                next += count;
                let arrived = draw(&mut state, wire.len() as u64 + 1) as usize;
                frames.extend(&wire.drain(..arrived).collect::<Vec<u8>>());
                while let Some(message) = frames.next::<Vec<u64>>().unwrap() {
                    receiver.count();
                    got.push(message);
                }
                if let Some(received) = receiver.report(draw(&mut state, 3) == 0) {
                    sender.confirm(received).unwrap();
                }
            }
            sender.confirm(receiver.received()).unwrap();
            wire = sender.unconfirmed().flatten().copied().collect();
        }
        let mut wanted = Vec::new();
        let mut frames = Frames::default();
        frames.extend(&framed(0..50));
        while let Some(message) = frames.next::<Vec<u64>>().unwrap() {
            wanted.push(message);
        }
        assert_eq!(got, wanted, "seed {seed}");
    }

    #[test]
    fn every_message_comes_once_and_in_order_however_connections_end() {
        (0..200).for_each(is_delivered);
    }

    #[test]
    fn what_was_confirmed_is_not_kept() {
        let mut side = Resumable::default();
        side.send(&framed(0..3));
        assert_eq!(side.nbytes(), framed(0..3).len());
        side.confirm(4).unwrap();
        assert_eq!(side.unconfirmed().flatten().copied().collect::<Vec<u8>>(), framed(2..3));
        assert_eq!(side.nbytes(), framed(2..3).len());
    }

    #[test]
    fn what_was_never_sent_is_not_confirmed() {
        let mut side = Resumable::default();
        side.send(&framed(0..2));
        assert_eq!(side.confirm(5), Err(Unsent { received: 5, sent: 4 }));
        side.confirm(3).unwrap();
        assert_eq!(side.confirm(2), Err(Unsent { received: 2, sent: 4 }));
    }

    #[test]
    fn reports_are_few() {
        let mut side = Resumable::default();
        assert_eq!(side.report(true), None);
        side.count();
        assert_eq!(
            (side.report(false), side.report(true), side.report(true)),
            (None, Some(1), None)
        );
        (0..REPORT_INTERVAL).for_each(|_| side.count());
        assert_eq!(side.report(false), Some(1 + REPORT_INTERVAL));
    }
}
