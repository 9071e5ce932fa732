//! Tickets: which cell an outcome is for.

use super::cell::Cell;
use freestone_base::Ticket;
use std::sync::Arc;

/// Cells that wait for their outcomes. A ticket is a slot and how often it was reused, so that an
/// outcome told twice finds nobody.
#[derive(Debug, Default)]
pub struct Tickets {
    slots: Vec<(u32, Option<Arc<Cell>>)>,
    free: Vec<u32>,
}

impl Tickets {
    /// A ticket for `cell`.
    pub fn give(&mut self, cell: Arc<Cell>) -> Ticket {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, place) = &mut self.slots[slot as usize];
        *place = Some(cell);
        Ticket((u64::from(*generation) << 32 | u64::from(slot)) & Ticket::FREE)
    }

    /// The cell of a ticket, which is then void.
    pub fn take(&mut self, ticket: Ticket) -> Option<Arc<Cell>> {
        let slot = ticket.0 as u32;
        let (generation, place) = self.slots.get_mut(slot as usize)?;
        if (u64::from(*generation) << 32) & Ticket::FREE != ticket.0 & !u64::from(u32::MAX) {
            return None;
        }
        let cell = place.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(slot);
        Some(cell)
    }

    /// All cells that still wait.
    pub fn drain(&mut self) -> impl Iterator<Item = Arc<Cell>> + '_ {
        self.free.clear();
        self.slots.drain(..).filter_map(|(_, cell)| cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once() {
        let mut tickets = Tickets::default();
        let first = tickets.give(Arc::default());
        assert!(tickets.take(first).is_some());
        assert!(tickets.take(first).is_none());
        let second = tickets.give(Arc::default());
        assert_ne!(first, second);
        assert!(tickets.take(first).is_none());
        assert_eq!(tickets.drain().count(), 1);
    }
}
