//! What runtimes say to each other, as bytes.

use crate::error::Failure;
use crate::event::Rank;
use crate::termination::{Members, Message, Sums, Verdict};

/// What one rank's runtime tells another's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Termination(Message),
    Failed(Failure),
    /// A rank, or a client, is lost.
    Lost(Rank),
    /// A client has fired so many events, and fires no more.
    Detached(u64),
}

const PROBE: u8 = 0;
const ANSWER: u8 = 1;
const CONCLUDE: u8 = 2;
const FAILED: u8 = 3;
const JOINED: u8 = 4;
const DETACHED: u8 = 5;
const LOST: u8 = 6;

impl Control {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Termination(Message::Probe { wave, members }) => {
                words(PROBE, &[*wave, packed(*members)])
            }
            Self::Termination(Message::Answer { wave, members, sums }) => {
                let flags = [sums.outstanding, sums.hopeful, sums.waiting, sums.draining];
                let flags =
                    (0..).zip(flags).fold(0, |all, (bit, flag)| all | u64::from(flag) << bit);
                let Sums { count, sent, received, activity, .. } = *sums;
                let head = [*wave, packed(*members), u64::from(count), flags];
                words(ANSWER, &[&head[..], &[sent, received, activity]].concat())
            }
            Self::Termination(Message::Conclude { verdict }) => words(CONCLUDE, &[*verdict as u64]),
            Self::Termination(Message::Joined { ranks }) => words(JOINED, &[u64::from(*ranks)]),
            Self::Lost(rank) => words(LOST, &[u64::from(*rank)]),
            Self::Detached(sent) => words(DETACHED, &[*sent]),
            Self::Failed(Failure { kind, bytes }) => {
                [&words(FAILED, &[u64::from(*kind)]), &bytes[..]].concat()
            }
        }
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&what, rest) = bytes.split_first()?;
        if what == FAILED {
            let (kind, bytes) = rest.split_first_chunk::<8>()?;
            let kind = u32::try_from(u64::from_le_bytes(*kind)).ok()?;
            return Some(Self::Failed(Failure { kind, bytes: bytes.to_vec() }));
        }
        let (chunks, []) = rest.as_chunks::<8>() else { return None };
        let words: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        let message = match (what, words[..].as_ref()) {
            (LOST, &[rank]) => return Some(Self::Lost(u32::try_from(rank).ok()?)),
            (DETACHED, &[sent]) => return Some(Self::Detached(sent)),
            (PROBE, &[wave, members]) => Message::Probe { wave, members: unpacked(members) },
            (JOINED, &[ranks]) => Message::Joined { ranks: u32::try_from(ranks).ok()? },
            (CONCLUDE, &[verdict]) => {
                let verdicts = [Verdict::Ended, Verdict::Drained, Verdict::Stuck];
                Message::Conclude { verdict: *verdicts.get(verdict as usize)? }
            }
            (ANSWER, &[wave, members, count, flags, sent, received, activity]) => {
                let [outstanding, hopeful, waiting, draining] =
                    [1, 2, 4, 8].map(|bit| flags & bit != 0);
                let count = u32::try_from(count).ok()?;
                let sums = Sums {
                    count,
                    sent,
                    received,
                    activity,
                    outstanding,
                    hopeful,
                    waiting,
                    draining,
                };
                Message::Answer { wave, members: unpacked(members), sums }
            }
            _ => return None,
        };
        Some(Self::Termination(message))
    }
}

fn packed(Members { ranks, lost }: Members) -> u64 {
    u64::from(ranks) << 32 | u64::from(lost)
}

fn unpacked(word: u64) -> Members {
    Members { ranks: (word >> 32) as u32, lost: word as u32 }
}

fn words(what: u8, words: &[u64]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    std::iter::once(what).chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_comes_out_as_it_went_in() {
        let sums = Sums {
            count: 7,
            outstanding: false,
            hopeful: true,
            waiting: false,
            draining: true,
            sent: 1,
            received: 2,
            activity: 3,
        };
        let members = Members { ranks: 9, lost: 1 };
        let verdict = Verdict::Stuck;
        for control in [
            Control::Termination(Message::Probe { wave: 9, members }),
            Control::Termination(Message::Answer { wave: 9, members, sums }),
            Control::Termination(Message::Conclude { verdict }),
            Control::Termination(Message::Joined { ranks: 7 }),
            Control::Failed(Failure::text("no")),
            Control::Detached(5),
            Control::Lost(5),
        ] {
            let bytes = control.encode();
            for len in 0..bytes.len() {
                assert_ne!(Control::decode(&bytes[..len]).as_ref(), Some(&control));
            }
            assert_eq!(Control::decode(&bytes), Some(control));
        }
    }
}
