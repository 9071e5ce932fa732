//! What runtimes say to each other, as bytes.

use crate::error::Failure;
use crate::termination::{Message, Quiet, Stage, Verdict};

/// What one rank's runtime tells another's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Control {
    Termination(Message),
    Failed(Failure),
}

const PROBE: u8 = 0;
const ANSWER: u8 = 1;
const CONCLUDE: u8 = 2;
const FAILED: u8 = 3;
const JOINED: u8 = 4;

impl Control {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Termination(Message::Probe { wave }) => words(PROBE, &[*wave]),
            Self::Termination(Message::Answer { wave, lost, quiet }) => {
                let flags = u64::from(quiet.outstanding) | u64::from(quiet.hopeful) << 1;
                let counts = [quiet.sent, quiet.received, quiet.activity];
                let [sent, received, activity] = counts;
                let stage = quiet.stage as u64;
                words(ANSWER, &[*wave, u64::from(*lost), stage, flags, sent, received, activity])
            }
            Self::Termination(Message::Conclude { verdict }) => words(CONCLUDE, &[*verdict as u64]),
            Self::Termination(Message::Joined { ranks }) => words(JOINED, &[u64::from(*ranks)]),
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
            (PROBE, &[wave]) => Message::Probe { wave },
            (JOINED, &[ranks]) => Message::Joined { ranks: u32::try_from(ranks).ok()? },
            (CONCLUDE, &[verdict]) => {
                let verdicts = [Verdict::Ended, Verdict::Drained, Verdict::Stuck];
                Message::Conclude { verdict: *verdicts.get(verdict as usize)? }
            }
            (ANSWER, &[wave, lost, stage, flags, sent, received, activity]) => {
                let stages = [Stage::Waiting, Stage::Draining, Stage::Ending];
                let stage = *stages.get(stage as usize)?;
                let (outstanding, hopeful) = (flags & 1 != 0, flags & 2 != 0);
                let quiet = Quiet { stage, outstanding, hopeful, sent, received, activity };
                Message::Answer { wave, lost: lost as u32, quiet }
            }
            _ => return None,
        };
        Some(Self::Termination(message))
    }
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
        let quiet = Quiet {
            stage: Stage::Draining,
            outstanding: false,
            hopeful: true,
            sent: 1,
            received: 2,
            activity: 3,
        };
        let verdict = Verdict::Stuck;
        for control in [
            Control::Termination(Message::Probe { wave: 9 }),
            Control::Termination(Message::Answer { wave: 9, lost: 1, quiet }),
            Control::Termination(Message::Conclude { verdict }),
            Control::Termination(Message::Joined { ranks: 7 }),
            Control::Failed(Failure::text("no")),
        ] {
            let bytes = control.encode();
            for len in 0..bytes.len() {
                assert_ne!(Control::decode(&bytes[..len]).as_ref(), Some(&control));
            }
            assert_eq!(Control::decode(&bytes), Some(control));
        }
    }
}
