//! Requests of clients and messages of workers: who handles what.

use super::Manager;
use super::api::{Outcome, Request};
use super::record::Record;
use crate::wire::FromWorker;
use freestone_base::{WorkerId, prefetch};

impl Manager {
    pub(super) fn on_request(&mut self, request: Request) {
        match request {
            Request::Define { function, label, definition } => {
                self.graph.functions.define(function, label, definition);
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
            Request::Cancel(names) | Request::CancelForAll(names) => self.on_cancel(&names),
            // Without sessions there is nobody who has tagged anything.
            Request::CancelTagged { ticket, .. } => self.resolve(ticket, Outcome::Counted(0)),
            Request::Fail { name, worker, failure } => self.on_fail(name, worker, failure),
            Request::Abandon(held) => self.on_abandon(&held),
            Request::Publish { publication, replace, ticket } => {
                self.on_publish(publication, replace, ticket);
            }
            Request::Unpublish { title, ticket } => self.on_unpublish(&title, ticket),
            Request::Publications { ticket } => self.on_publications(ticket),
            Request::Detach(names) => self.on_detach(&names),
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
            Request::Restart { abandoned } => self.on_restart(abandoned.as_deref()),
            Request::Collect { collection, blocks } => {
                self.transfer.balance.collect(collection, blocks);
            }
            Request::Disperse { collection } => self.transfer.balance.disperse(collection),
            Request::Balance => self.transfer.balance.be_due(),
            Request::Shared(request) => self.on_shared(request),
            Request::Shutdown => self.on_shutdown(),
        }
    }

    /// The records that a message is about may have left the processor's caches since they were used: with
    /// many workers nearly all have.
    pub(super) fn prefetch(&self, id: WorkerId, message: &FromWorker) {
        if let Some(worker) = self.members.workers.get(id) {
            prefetch(worker);
        }
        if let FromWorker::Done(reports) = message {
            let tasks = reports.iter().filter_map(|report| self.graph.tasks.at(report.task));
            tasks.for_each(prefetch);
        }
    }

    pub(super) fn on_message(&mut self, id: WorkerId, message: FromWorker) {
        if matches!(message, FromWorker::Hello { .. }) {
            return self.on_hello(id, message);
        }
        let Some(worker) = self.members.workers.get_mut(id) else { return };
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
                    let least = self.members.workers.smallest_memory.unwrap_or(u64::MAX);
                    self.members.workers.smallest_memory = Some(least.min(status.memory_quota));
                }
                self.trace(|run| Record::Cache { worker: id, at_ns: run.now, status });
            }
            FromWorker::Printed(printed) => self.on_printed(id, *printed),
            FromWorker::Paused { task, attempt, what } => self.on_paused(id, task, attempt, what),
            FromWorker::Resumed { task, attempt } => self.on_resumed(id, task, attempt),
            FromWorker::Leaving => self.on_retire(id),
            // The shell takes clients in itself.
            FromWorker::Hello { .. } | FromWorker::Client { .. } => {}
        }
    }
}
