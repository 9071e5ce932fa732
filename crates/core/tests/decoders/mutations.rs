//! Streams that are almost right.

/// Numbers from a seed (`SplitMix64`).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// The largest length there is, as a varint.
pub const HUGE: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

/// Some frames one after the other, some of them changed.
pub fn mutate(frames: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..=dice.below(3) {
        let mut frame = frames[dice.below(frames.len())].clone();
        for _ in 0..dice.below(4) {
            change(&mut frame, frames, dice);
        }
        if dice.below(4) > 0 {
            // A header that fits lets the change through to the decoder of the message.
            mend(&mut frame);
        }
        stream.extend(frame);
    }
    stream
}

fn mend(frame: &mut [u8]) {
    if let Some((header, body)) = frame.split_first_chunk_mut::<4>()
        && header[0] != 0x93
    {
        *header = (body.len() as u32).to_le_bytes();
    }
}

fn change(frame: &mut Vec<u8>, others: &[Vec<u8>], dice: &mut Dice) {
    if frame.is_empty() {
        return;
    }
    let at = dice.below(frame.len());
    match dice.below(7) {
        0 => frame[at] ^= 1 << dice.below(8),
        1 => frame[at] = dice.next() as u8,
        2 => frame.truncate(at),
        3 => drop(frame.remove(at)),
        4 => frame.insert(at, dice.next() as u8),
        5 => {
            let length = 1 + dice.below(HUGE.len());
            frame.splice(at..at, HUGE[HUGE.len() - length..].iter().copied());
        }
        _ => {
            let other = &others[dice.below(others.len())];
            let from = dice.below(other.len());
            let to = from + dice.below(other.len() - from + 1);
            frame.splice(at..at, other[from..to].iter().copied());
        }
    }
}
