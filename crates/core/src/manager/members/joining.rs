//! Workers that join.

use super::workers::Worker;
use crate::manager::Manager;
use crate::manager::api::Action;
use crate::manager::record::Record;
use crate::wire::{FromWorker, OTHER_KEY, PROTOCOL, ToWorker, is_same_key, other_protocol};
use freestone_base::WorkerId;

impl Manager {
    pub(in crate::manager) fn on_hello(&mut self, id: WorkerId, message: FromWorker) {
        let FromWorker::Hello { protocol, key, slots, .. } = &message else { return };
        let reason = if *protocol != PROTOCOL {
            other_protocol(*protocol)
        } else if !is_same_key(key, &self.config.key) {
            OTHER_KEY.to_owned()
        } else if self.members.workers.get(id).is_some() {
            format!("{id} has joined already")
        } else if self.closed {
            "the cluster is closed".to_owned()
        } else {
            let silence_ns = self.config.silence_ns;
            self.out.push(Action::Send(id, ToWorker::Welcome { worker: id, silence_ns }));
            self.trace(|run| Record::Joined { worker: id, at_ns: run.now, slots: *slots });
            return self.join(id, message);
        };
        self.out.push(Action::Disconnect(id, reason));
    }

    fn join(&mut self, id: WorkerId, message: FromWorker) {
        let FromWorker::Hello {
            former,
            boot,
            now_ns,
            resources,
            slots,
            address,
            pid,
            host,
            folder,
            blocks,
            ..
        } = message
        else {
            return;
        };
        if let Some(former) = former {
            self.end_former(former, id);
        }
        self.members.workers.insert(Worker::new(id, resources, slots, address));
        let behind_ns = self.behind(&boot, now_ns);
        let worker = &mut self.members.workers[id];
        (worker.seen_ns, worker.behind_ns) = (self.now, behind_ns);
        (worker.pid, worker.host, worker.folder) = (pid, host, folder);
        self.members.touch(id);
        if former.is_some() {
            self.take_back_cache(blocks, id);
        } else {
            for block in blocks {
                self.retain_found(block, id);
            }
        }
        let early = self.members.arrivals.take(id);
        self.enqueue_pinned(id, early.tasks);
        self.bind_early(id, early.adopt);
        self.transfer.balance.on_joined(self.now);
        self.adopt_stranded(id);
        self.adopt_at_joined();
        self.resume_retirements();
        if early.retire {
            self.on_retire(id);
        }
        self.transfer.cramped.relieve();
        self.refuse_unschedulable();
    }
}
