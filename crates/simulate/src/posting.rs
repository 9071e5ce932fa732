//! What the manager sends, collected for each worker and written when its shell would write it, so that
//! writes can be counted.

use super::cluster::Cluster;
use super::queue::Happening;
use freestone_base::WorkerId;
use freestone_core::net::held::may_be_held;
use freestone_core::wire::ToWorker;

impl Cluster {
    /// A message for a worker is written with others, at the end of the event or later.
    pub(super) fn post(&mut self, worker: WorkerId, message: ToWorker) {
        let post = &mut self.post;
        let at_once = !may_be_held(&message);
        match post.touched.last_mut() {
            Some((last, urgent)) if *last == worker => *urgent |= at_once,
            _ => post.touched.push((worker, at_once)),
        }
        if let ToWorker::Run(calls) = &message {
            post.held.add_calls(worker, calls.len());
        }
        let index = worker.0 as usize;
        if post.unwritten.len() <= index {
            post.unwritten.resize_with(index + 1, Vec::new);
        }
        post.unwritten[index].push(message);
    }

    /// An event was handled, maybe of a worker that was `heard`: what can't wait is written.
    pub(super) fn write_posts(&mut self, heard: Option<WorkerId>) {
        if let Some(worker) = heard.filter(|worker| self.slack_ns(*worker) == 0) {
            self.post.held.hurry(worker);
        }
        for (worker, at_once) in std::mem::take(&mut self.post.touched) {
            let slack_ns = if at_once { 0 } else { self.slack_ns(worker) };
            if !self.post.held.holds(worker, slack_ns, self.now) {
                self.write_post(worker);
            }
        }
        let Some(due_ns) = self.post.held.next_ns() else { return };
        if self.post.planned_ns.is_none_or(|planned_ns| due_ns < planned_ns) {
            self.post.planned_ns = Some(due_ns);
            self.queue.plan(due_ns.max(self.now), Happening::WritesDue);
        }
    }

    /// Some of what waits is due.
    pub(super) fn on_writes_due(&mut self) {
        self.post.planned_ns = None;
        while let Some(worker) = self.post.held.take_due(self.now) {
            self.write_post(worker);
        }
        self.write_posts(None);
    }

    fn slack_ns(&self, worker: WorkerId) -> u64 {
        self.manager.slack_ns(worker, self.post.held.calls(worker))
    }

    fn write_post(&mut self, worker: WorkerId) {
        self.post.held.release(worker);
        let messages = std::mem::take(&mut self.post.unwritten[worker.0 as usize]);
        self.post.writes += u64::from(!messages.is_empty());
        for message in messages {
            self.send_after(0, worker, message);
        }
    }
}
