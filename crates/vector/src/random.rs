//! Random numbers that other implementations of the language draw, too: the Mersenne twister,
//! and the distributions that the GNU C++ library makes of it.

const SIZE: usize = 624;
const SHIFT: usize = 397;

/// The 32-bit Mersenne twister of Matsumoto and Nishimura.
pub struct Twister {
    state: [u32; SIZE],
    at: usize,
}

impl Twister {
    /// Seeds with the low half of a number.
    pub fn new(seed: i64) -> Self {
        let mut state = [0; SIZE];
        state[0] = seed as u32;
        for at in 1..SIZE {
            let last: u32 = state[at - 1];
            state[at] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        Self { state, at: SIZE }
    }

    fn refill(&mut self) {
        for at in 0..SIZE {
            let high = self.state[at] & 0x8000_0000;
            let low = self.state[(at + 1) % SIZE] & 0x7fff_ffff;
            let mixed = high | low;
            let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[at] = self.state[(at + SHIFT) % SIZE] ^ (mixed >> 1) ^ odd;
        }
        self.at = 0;
    }

    /// The next 32 bits.
    pub fn draw(&mut self) -> u32 {
        if self.at == SIZE {
            self.refill();
        }
        let mut bits = self.state[self.at];
        self.at += 1;
        bits ^= bits >> 11;
        bits ^= (bits << 7) & 0x9d2c_5680;
        bits ^= (bits << 15) & 0xefc6_0000;
        bits ^ (bits >> 18)
    }

    /// A float of 64 bits from `low` up to `high`.
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        let (first, second) = (f64::from(self.draw()), f64::from(self.draw()));
        let share = (first + second * 4_294_967_296.0) / 18_446_744_073_709_551_616.0;
        share.min(1.0_f64.next_down()) * (high - low) + low
    }

    /// A float of 32 bits from `low` up to `high`.
    pub fn single(&mut self, low: f32, high: f32) -> f32 {
        let share = self.draw() as f32 / 4_294_967_296.0_f32;
        share.min(1.0_f32.next_down()) * (high - low) + low
    }

    /// A whole number from `low` to `high`, both included.
    pub fn whole(&mut self, low: i64, high: i64) -> i64 {
        low.wrapping_add(self.below(high.wrapping_sub(low) as u64) as i64)
    }

    fn below(&mut self, most: u64) -> u64 {
        let full = u64::from(u32::MAX);
        if most < full {
            return self.scaled(most as u32 + 1);
        }
        if most == full {
            return u64::from(self.draw());
        }
        // Two draws; what leaves the range is drawn anew.
        loop {
            let high = self.below(most >> 32) << 32;
            let sum = high.wrapping_add(u64::from(self.draw()));
            if sum <= most && sum >= high {
                return sum;
            }
        }
    }

    /// Lemire's method: a product's high half, unless its low half is in the part that would
    /// make some numbers more likely.
    fn scaled(&mut self, range: u32) -> u64 {
        loop {
            let product = u64::from(self.draw()) * u64::from(range);
            if (product as u32) >= range || (product as u32) >= range.wrapping_neg() % range {
                return product >> 32;
            }
        }
    }
}

/// A type that matrices are drawn in.
pub trait Drawn: Copy + PartialEq + Send + Sync {
    /// 0.
    const NOTHING: Self;
    /// Draws a number between two others.
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self;
}

impl Drawn for f64 {
    const NOTHING: Self = 0.0;
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self {
        twister.real(low, high)
    }
}

impl Drawn for f32 {
    const NOTHING: Self = 0.0;
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self {
        twister.single(low, high)
    }
}

impl Drawn for i64 {
    const NOTHING: Self = 0;
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self {
        twister.whole(low, high)
    }
}

/// Fills cells with random numbers other than 0, and leaves a share of `1 - sparsity` at 0.
///
/// `low` and `high` may not both be 0, unless `sparsity` is. A second twister, seeded with three
/// times the seed, chooses the cells of the rarer kind.
pub fn fill<T: Drawn>(cells: &mut [T], low: T, high: T, sparsity: f64, seed: i64) {
    let mut values = Twister::new(seed);
    let mut places = Twister::new(seed.wrapping_mul(3));
    let other = |twister: &mut Twister| loop {
        let value = T::draw(twister, low, high);
        if value != T::NOTHING {
            return value;
        }
    };
    let dense = sparsity >= 0.5;
    let share = if dense { 1.0 - sparsity } else { sparsity };
    let rare = (share * cells.len() as f64).round() as usize;
    for cell in cells.iter_mut() {
        *cell = if dense { other(&mut values) } else { T::NOTHING };
    }
    for place in selected(&mut places, cells.len(), rare) {
        cells[place] = if dense { T::NOTHING } else { other(&mut values) };
    }
}

/// Chooses `wanted` of `count` places, in ascending order, with one draw for each looked at.
fn selected(twister: &mut Twister, count: usize, wanted: usize) -> impl Iterator<Item = usize> {
    let mut chosen = 0;
    (0..count).filter(move |place| {
        if chosen == wanted {
            return false;
        }
        let drawn = twister.whole(0, count as i64 - 1) as usize % (count - place);
        let take = drawn < wanted - chosen;
        chosen += usize::from(take);
        take
    })
}

/// Draws numbers from 0 up to, and without, `range`.
pub fn sample_reals(out: &mut [f64], range: f64, seed: i64) {
    let mut twister = Twister::new(seed);
    for cell in out {
        *cell = twister.real(0.0, range.next_down());
    }
}

/// Draws whole numbers below `range`; without `again`, none twice, for which there have to be
/// enough.
pub fn sample_wholes(out: &mut [i64], range: i64, again: bool, seed: i64) {
    let mut twister = Twister::new(seed);
    if again {
        for cell in out {
            *cell = twister.whole(0, range - 1);
        }
        return;
    }
    let found: Vec<usize> = selected(&mut twister, range as usize, out.len()).collect();
    for (cell, place) in out.iter_mut().zip(found) {
        *cell = place as i64;
    }
    shuffle(out, &mut twister);
}

/// Shuffles as the GNU C++ library does: one draw for two swaps while ranges are small.
fn shuffle(items: &mut [i64], twister: &mut Twister) {
    let count = items.len() as u64;
    if count < 2 {
        return;
    }
    if u64::from(u32::MAX) / count < count {
        for at in 1..items.len() {
            items.swap(at, twister.whole(0, at as i64) as usize);
        }
        return;
    }
    let mut at = 1;
    if count.is_multiple_of(2) {
        items.swap(1, twister.whole(0, 1) as usize);
        at = 2;
    }
    while at < items.len() {
        let (one, two) = (at as i64 + 1, at as i64 + 2);
        let drawn = twister.whole(0, one * two - 1);
        items.swap(at, (drawn / two) as usize);
        items.swap(at + 1, (drawn % two) as usize);
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twister_draws_the_published_numbers() {
        let mut twister = Twister::new(5489);
        let drawn: Vec<u32> = (0..10000).map(|_| twister.draw()).collect();
        assert_eq!(drawn[0], 3_499_211_612);
        // The C++ standard names the ten-thousandth.
        assert_eq!(drawn[9999], 4_123_659_995);
    }

    #[test]
    fn as_many_cells_are_zero_as_wanted() {
        for (sparsity, zeros) in [(0.0, 100), (0.2, 80), (0.5, 50), (0.73, 27), (1.0, 0)] {
            let mut cells = [9.0; 100];
            fill(&mut cells, 1.0, 2.0, sparsity, 7);
            assert_eq!(cells.iter().filter(|cell| **cell == 0.0).count(), zeros);
        }
        let mut cells = [0; 100];
        fill(&mut cells, -3, 3, 1.0, 7);
        assert!(cells.iter().all(|cell| (-3..=3).contains(cell) && *cell != 0));
    }

    #[test]
    fn a_sample_without_replacement_is_a_permutation() {
        for count in [1, 2, 7, 100] {
            let mut cells = vec![0; count];
            sample_wholes(&mut cells, count as i64, false, 3);
            cells.sort_unstable();
            assert_eq!(cells, (0..count as i64).collect::<Vec<_>>());
        }
    }
}
