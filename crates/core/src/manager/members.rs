//! Workers that join and say something, and requests: who handles what.

use super::Manager;
use super::api::{Action, Record, Request};
use super::workers::Worker;
use crate::wire::{FromWorker, OTHER_KEY, PROTOCOL, ToWorker, is_same_key, other_protocol};
use freestone_base::WorkerId;

impl Manager {
    pub(super) fn on_request(&mut self, request: Request) {
        match request {
            Request::Define { function, label, definition } => {
                self.functions.define(function, label, definition);
            }
            Request::Submit(submissions) => {
                for submission in &submissions {
                    self.on_submission(submission);
                }
            }
            Request::Reduce(reduction) => self.on_reduce(reduction),
            Request::PutInline { name, bytes } => self.on_put_inline(name, bytes),
            Request::Watch { name, ticket } => self.on_watch(name, ticket),
            Request::Put { block, path, owned, worker, keep, ticket } => {
                self.on_put(block, (path, owned), worker, keep, ticket);
            }
            Request::Gather { name, worker, ticket } => self.on_gather(name, worker, ticket),
            Request::Unpin { name, worker } => self.on_unpin(name, worker),
            Request::Release(names) => self.on_release(&names),
            Request::Cancel(names) => self.on_cancel(&names),
            Request::WhoHas { names, ticket } => self.on_who_has(&names, ticket),
            Request::Explain { name, ticket } => self.on_explain(&name, ticket),
            Request::Statistics { ticket } => self.on_statistics(ticket),
            Request::Overview { query, ticket } => self.on_overview(&query, ticket),
            Request::Observe(observed) => self.observed = observed,
            Request::Retire(workers) => {
                for worker in workers {
                    self.on_retire(worker);
                }
            }
            Request::Collect { collection, blocks } => self.balance.collect(collection, blocks),
            Request::Disperse { collection } => self.balance.disperse(collection),
            Request::Balance => self.balance.be_due(),
            Request::Shutdown => self.on_shutdown(),
        }
    }

    pub(super) fn on_message(&mut self, id: WorkerId, message: FromWorker) {
        if matches!(message, FromWorker::Hello { .. }) {
            return self.on_hello(id, message);
        }
        let Some(worker) = self.workers.get_mut(id) else { return };
        worker.seen_ns = self.now;
        match message {
            FromWorker::Done(reports) => self.on_done(id, reports),
            FromWorker::Have { block, fetched } => self.on_have(id, block, fetched),
            FromWorker::FetchFailed { name, source, missing_there, free, .. } => {
                self.on_fetch_failed(id, &name, source, missing_there, free);
            }
            FromWorker::Returned { returned, .. } => self.on_returned(id, &returned),
            FromWorker::Pinned { name, path } => self.on_pinned(id, name, path),
            FromWorker::Lost { names, .. } => self.on_lost(id, &names),
            FromWorker::Status(status) => {
                worker.status = status;
                if status.memory_quota > 0 && worker.slots > 0 {
                    let least = self.workers.smallest_memory.unwrap_or(u64::MAX);
                    self.workers.smallest_memory = Some(least.min(status.memory_quota));
                }
                self.trace(|run| Record::Cache { worker: id, at_ns: run.now, status });
            }
            FromWorker::Leaving => self.on_retire(id),
            FromWorker::Hello { .. } => {}
        }
    }

    fn on_hello(&mut self, id: WorkerId, message: FromWorker) {
        let FromWorker::Hello { protocol, key, slots, .. } = &message else { return };
        let reason = if *protocol != PROTOCOL {
            other_protocol(*protocol)
        } else if !is_same_key(key, &self.config.key) {
            OTHER_KEY.to_owned()
        } else if self.workers.get(id).is_some() {
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
        self.workers.insert(Worker::new(id, resources, slots, address));
        let behind_ns = self.behind(&boot, now_ns);
        let worker = &mut self.workers[id];
        (worker.seen_ns, worker.behind_ns) = (self.now, behind_ns);
        (worker.pid, worker.host, worker.folder) = (pid, host, folder);
        self.touch(id);
        if former.is_some() {
            self.take_back_cache(blocks, id);
        } else {
            for block in blocks {
                self.retain_found(block, id);
            }
        }
        let early = self.absent.remove(&id).unwrap_or_default();
        self.enqueue_pinned(id, early.tasks);
        self.bind_early(id, early.adopt);
        self.balance.on_joined(self.now);
        self.adopt_stranded(id);
        self.adopt_at_newcomer();
        if early.retire {
            self.on_retire(id);
        }
        self.cramped.relieve();
        self.refuse_unschedulable();
    }
}
