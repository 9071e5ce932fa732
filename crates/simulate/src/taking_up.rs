//! The manager's process is killed, and another one goes on by its journal.

use super::cluster::{Cluster, Standing};
use super::journal::content_of;
use super::queue::Happening;
use freestone_base::WorkerId;
use freestone_core::manager::Event;

impl Cluster {
    /// Another manager goes on. All workers lose their connections, and those that live reconnect.
    pub(super) fn take_up(&mut self) {
        let config = self.options.config.clone();
        let former = content_of(&self.manager, self.now);
        match self.journal.replayed(config.clone()) {
            Ok(manager) => self.manager = manager,
            Err(problem) => return self.violation(problem),
        }
        if content_of(&self.manager, self.now) != former {
            return self.violation("the journal has led to another state".to_owned());
        }
        self.tell(Event::TakenUp(Box::new(config)));
        for index in 0..self.links.len() {
            if !self.links[index].closed {
                self.cut(WorkerId(index as u32));
            }
        }
    }

    /// The connection of a worker ends, at once on both sides.
    fn cut(&mut self, worker: WorkerId) {
        let link = &mut self.links[worker.0 as usize];
        let lives = link.alive && !link.silent && link.standing != Standing::Left;
        link.alive = false;
        self.injected.gone.insert(worker);
        for name in link.worker.blocks.keys() {
            self.injected.at(*name).lost += 1;
        }
        self.on_left(worker);
        if lives {
            let at_ns = self.now + self.random.between(0, 2_000_000);
            self.queue.plan(at_ns, Happening::Reconnect(worker));
        }
    }
}
