//! What runtimes say to each other, as bytes.

use crate::error::Failure;
use crate::event::Rank;
use crate::termination::{Flow, Flows, Members, Message, Sums, Verdict};

/// What one rank's runtime tells another's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Termination(Message),
    Failed(Failure),
    /// A rank, or a client, is lost.
    Lost(Rank),
    /// A client has fired so many events and received so many of each rank, and neither fires nor receives any more.
    Detached {
        sent: u64,
        received: Vec<u64>,
    },
    /// A client waits, and does nothing before it receives an event.
    Waits(Wait),
    /// It goes on.
    Resumes,
    /// A client has detached, after it had received so many events of who hears this: what it is sent counts no more.
    Left {
        client: Rank,
        received: u64,
    },
    /// To clients: the run is stuck, as this report says.
    Stuck(String),
}

/// How a client stands that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Events that it has fired, to all ranks together.
    pub sent: u64,
    /// Events that it has received.
    pub received: u64,
    /// What for and where, for people.
    pub what: String,
}

const PROBE: u8 = 0;
const ANSWER: u8 = 1;
const CONCLUDE: u8 = 2;
const FAILED: u8 = 3;
const JOINED: u8 = 4;
const DETACHED: u8 = 5;
const LOST: u8 = 6;
const WAITS: u8 = 7;
const RESUMES: u8 = 8;
const LEFT: u8 = 9;
const STUCK: u8 = 10;

impl Control {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Termination(Message::Probe { wave, members }) => {
                words(PROBE, &[*wave, packed(*members)])
            }
            Self::Termination(Message::Answer { wave, members, sums }) => {
                let flags =
                    [sums.outstanding, sums.hopeful, sums.waiting, sums.draining, sums.attended];
                let flags =
                    (0..).zip(flags).fold(0, |all, (bit, flag)| all | u64::from(flag) << bit);
                let Sums { count, flows: Flows { between, out, back }, activity, .. } = *sums;
                let head = [*wave, packed(*members), u64::from(count), flags, activity];
                let flows = [between, out, back].map(|flow| [flow.sent, flow.received]);
                words(ANSWER, &[&head[..], flows.as_flattened()].concat())
            }
            Self::Termination(Message::Conclude { verdict }) => words(CONCLUDE, &[*verdict as u64]),
            Self::Termination(Message::Joined { ranks }) => words(JOINED, &[u64::from(*ranks)]),
            Self::Lost(rank) => words(LOST, &[u64::from(*rank)]),
            Self::Detached { sent, received } => {
                words(DETACHED, &[&[*sent], &received[..]].concat())
            }
            Self::Waits(Wait { sent, received, what }) => {
                [&words(WAITS, &[*sent, *received]), what.as_bytes()].concat()
            }
            Self::Resumes => words(RESUMES, &[]),
            Self::Left { client, received } => words(LEFT, &[u64::from(*client), *received]),
            Self::Stuck(report) => [&[STUCK], report.as_bytes()].concat(),
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
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if what == STUCK {
            return Some(Self::Stuck(text(rest)));
        }
        if what == WAITS {
            let (sent, rest) = rest.split_first_chunk::<8>()?;
            let (received, what) = rest.split_first_chunk::<8>()?;
            let [sent, received] = [sent, received].map(|word| u64::from_le_bytes(*word));
            return Some(Self::Waits(Wait { sent, received, what: text(what) }));
        }
        let (chunks, []) = rest.as_chunks::<8>() else { return None };
        let words: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        let message = match (what, words[..].as_ref()) {
            (LOST, &[rank]) => return Some(Self::Lost(u32::try_from(rank).ok()?)),
            (DETACHED, &[sent, ref received @ ..]) => {
                return Some(Self::Detached { sent, received: received.to_vec() });
            }
            (RESUMES, &[]) => return Some(Self::Resumes),
            (LEFT, &[client, received]) => {
                return Some(Self::Left { client: u32::try_from(client).ok()?, received });
            }
            (PROBE, &[wave, members]) => Message::Probe { wave, members: unpacked(members) },
            (JOINED, &[ranks]) => Message::Joined { ranks: u32::try_from(ranks).ok()? },
            (CONCLUDE, &[verdict]) => {
                let verdicts = [Verdict::Ended, Verdict::Drained, Verdict::Stuck];
                Message::Conclude { verdict: *verdicts.get(verdict as usize)? }
            }
            (ANSWER, &[wave, members, count, flags, activity, ref flows @ ..]) => {
                let (flows, []) = flows.as_chunks::<2>() else { return None };
                let flow = |&[sent, received]: &[u64; 2]| Flow { sent, received };
                let [between, out, back] = flows else { return None };
                let [between, out, back] = [between, out, back].map(flow);
                let [outstanding, hopeful, waiting, draining, attended] =
                    [1, 2, 4, 8, 16].map(|bit| flags & bit != 0);
                let count = u32::try_from(count).ok()?;
                let sums = Sums {
                    count,
                    flows: Flows { between, out, back },
                    activity,
                    outstanding,
                    hopeful,
                    waiting,
                    draining,
                    attended,
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
            attended: true,
            flows: Flows {
                between: Flow { sent: 1, received: 2 },
                out: Flow { sent: 3, received: 4 },
                back: Flow { sent: 5, received: 6 },
            },
            activity: 7,
        };
        let members = Members { ranks: 9, lost: 1 };
        let verdict = Verdict::Stuck;
        for control in [
            Control::Termination(Message::Probe { wave: 9, members }),
            Control::Termination(Message::Answer { wave: 9, members, sums }),
            Control::Termination(Message::Conclude { verdict }),
            Control::Termination(Message::Joined { ranks: 7 }),
            Control::Failed(Failure::text("no")),
            Control::Detached { sent: 5, received: vec![1, 2] },
            Control::Lost(5),
            Control::Waits(Wait { sent: 1, received: 2, what: "for 'x'".into() }),
            Control::Resumes,
            Control::Left { client: 3, received: 1 },
            Control::Stuck("rank 0: nothing".into()),
        ] {
            let bytes = control.encode();
            for len in 0..bytes.len() {
                assert_ne!(Control::decode(&bytes[..len]).as_ref(), Some(&control));
            }
            assert_eq!(Control::decode(&bytes), Some(control));
        }
    }
}
