//! Tickets: which cell an outcome is for.

use super::cell::Cell;
use freestone_base::Ticket;

/// Cells that wait for their outcomes. A ticket is a slot and how often it was reused, so that an
/// outcome told twice finds nobody.
#[derive(Debug, Default)]
pub struct Tickets {
    cells: Vec<Option<Cell>>,
    /// How often each slot was reused.
    generations: Vec<u32>,
    free: Vec<u32>,
}

impl Tickets {
    /// A ticket for `cell`.
    pub fn give(&mut self, cell: Cell) -> Ticket {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.cells.push(None);
            self.generations.push(0);
            self.cells.len() as u32 - 1
        });
        self.cells[slot as usize] = Some(cell);
        let generation = self.generations[slot as usize];
        Ticket((u64::from(generation) << 32 | u64::from(slot)) & Ticket::FREE)
    }

    /// The cell of a ticket, which is then void.
    pub fn take(&mut self, ticket: Ticket) -> Option<Cell> {
        let slot = ticket.0 as u32;
        let generation = self.generations.get_mut(slot as usize)?;
        if (u64::from(*generation) << 32) & Ticket::FREE != ticket.0 & !u64::from(u32::MAX) {
            return None;
        }
        let cell = self.cells[slot as usize].take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(slot);
        Some(cell)
    }

    /// All cells that still wait.
    pub fn drain(&mut self) -> impl Iterator<Item = Cell> + '_ {
        self.free.clear();
        self.generations.clear();
        self.cells.drain(..).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once() {
        let mut tickets = Tickets::default();
        let first = tickets.give(Cell::default());
        assert!(tickets.take(first).is_some());
        assert!(tickets.take(first).is_none());
        let second = tickets.give(Cell::default());
        assert_ne!(first, second);
        assert!(tickets.take(first).is_none());
        assert_eq!(tickets.drain().count(), 1);
    }
}
