//! What a worker does when its state machine says so.

use super::executors::Process;
use super::fork_server::{ForkServer, Heard};
use super::pool::Pool;
use super::scratch;
use super::transfer;
use super::worker::{Role, Shell, now};
use super::worker_options::WorkerError;
use crate::store::{Tier, folder};
use crate::wire::{
    Address, BlockAnswer, BlockDesc, Call, CallResult, Form, PlacedInput, Spent, TaskFailure,
    ToExecutor,
};
use crate::worker::{Action, Adopted, Event, ExternalFile, FileStamp};
use freestone_base::{Name, TaskId};
use mio::Token;
use mio::unix::SourceFd;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Shell {
    /// Carries all actions out, also those that come up meanwhile.
    pub(super) fn carry_out(&mut self) {
        while let Some(action) = self.actions.pop_front() {
            self.carry_out_one(action);
        }
    }

    fn carry_out_one(&mut self, action: Action) {
        match action {
            Action::Tell(message) => {
                self.send_reports();
                self.tell(message);
            }
            Action::Report(report) => self.reports.push(report),
            Action::Send(executor, message) => self.send(executor, message),
            Action::Spawn(executor) => self.spawn(executor),
            Action::Kill(executor) => {
                if let Some(Some(process)) = self.executors.get(executor as usize) {
                    process.kill();
                }
            }
            Action::Revoke { executor, from, again } => self.revoke(executor, from, again),
            Action::Continue(executor) => {
                if let Some(Some(process)) = self.executors.get(executor as usize) {
                    process.grants().give();
                }
            }
            Action::Check { task, files } => self.check(task, &files),
            Action::Adopt { block, path, owned, verify } => self.adopt(block, path, owned, verify),
            // If it is gone already, nothing is to be done.
            Action::Discard { path } => drop(std::fs::remove_file(path)),
            Action::Transfer { block, address, tier } => self.transfer(block, address, tier),
            Action::Measure => self.measure(),
            Action::Look { executor, is_isolated } => self.look(executor, is_isolated),
            Action::MoveToDisk { name, form } => self.move_to_disk(name, form),
            Action::Verify { block, path } => self.check_bytes(move || {
                let intact = transfer::is_intact(&path, &block);
                Event::Verified { block, path, intact }
            }),
            Action::Scrub { block, path } => self.check_bytes(move || {
                let intact = transfer::is_intact(&path, &block);
                Event::Scrubbed { block, intact }
            }),
            Action::Preserve { block, path } => self.preserve(block, path),
            Action::Serve { question, block, path, stamp } => {
                self.serve(question, &block, path, stamp);
            }
            Action::Refuse { question } => {
                self.answer(Token(question as usize), &BlockAnswer::Missing);
            }
            Action::Remove { name, form, tier } => self.remove(name, &form, tier),
            Action::Forget(block) => {
                // What can't be removed is found damaged again by the next run.
                let _ = self.forever.as_ref().map(|forever| forever.remove(&block));
            }
            Action::End(reason) => {
                let ended = |reason| Err(WorkerError::Ended { reason });
                self.end = Some(reason.map_or(Ok(()), ended));
            }
        }
    }

    fn send(&mut self, executor: u32, message: ToExecutor) {
        let Some(Some(process)) = self.executors.get_mut(executor as usize) else { return };
        let refused = process.connection.send_parts(message);
        if !self.touched.contains(&executor) {
            self.touched.push(executor);
        }
        for (part, nbytes) in refused {
            self.on_too_large(executor, part, nbytes);
        }
    }

    /// No frame can carry what an executor is to get: a call fails, as if the executor had said so.
    fn on_too_large(&mut self, executor: u32, part: ToExecutor, nbytes: usize) {
        match part {
            ToExecutor::Calls(calls) => {
                let unmapped = calls.iter().flat_map(|call| &call.inputs).filter_map(mapped);
                let unmapped = unmapped.collect();
                let failed = |call: Call| CallResult {
                    sequence: call.sequence,
                    spent: Spent::default(),
                    result: Err(TaskFailure::of_arguments(nbytes)),
                };
                let results = calls.into_iter().map(failed).collect();
                self.handle(Event::Results { executor, results, unmapped, on_disk: Vec::new() });
            }
            ToExecutor::Opened { group, .. } => {
                self.send(executor, ToExecutor::Opened { group, paths: None });
            }
            // Functions are checked where they are defined, and nothing else has a size.
            _ => eprintln!("freestone: {nbytes} bytes are too many for a message to an executor"),
        }
    }

    fn spawn(&mut self, executor: u32) {
        if self.fork_server.as_ref().is_some_and(|server| !server.is_ready()) {
            self.unborn.push(executor);
            return;
        }
        let spoke = self.token(Role::Spoke(executor));
        let printed = self.token(Role::Printed(executor));
        let ended = self.token(Role::Ended(executor));
        let tokens = [spoke, printed, ended];
        let mut started = self.start(executor, tokens);
        if started.is_err() && self.fork_server.is_some() {
            self.let_fork_server_go();
            started = self.start(executor, tokens);
        }
        match started {
            Ok(process) => {
                let count = self.executors.len().max(executor as usize + 1);
                self.executors.resize_with(count, || None);
                self.executors[executor as usize] = Some(process);
            }
            Err(error) => {
                eprintln!("freestone: an executor can't be started: {error}");
                self.roles.retain(|token, _| !tokens.contains(token));
                self.handle(Event::Died { executor, claimed: 0, signal: None, status: None });
            }
        }
    }

    fn start(&self, executor: u32, tokens: [Token; 3]) -> io::Result<Process> {
        let (options, server) = (&self.executor_options, self.fork_server.as_ref());
        Process::spawn(options, server, executor, self.poller.registry(), tokens)
    }

    /// The fork server is ready, or gone.
    pub(super) fn on_fork_server(&mut self) {
        match self.fork_server.as_mut().map(ForkServer::hear) {
            None | Some(Heard::Nothing) => return,
            Some(Heard::Ready) => {}
            Some(Heard::End) => self.let_fork_server_go(),
        }
        self.spawn_unborn();
    }

    fn spawn_unborn(&mut self) {
        for executor in std::mem::take(&mut self.unborn) {
            self.spawn(executor);
        }
    }

    /// Starts executors as programs from now on.
    fn let_fork_server_go(&mut self) {
        if let Some(server) = self.fork_server.take() {
            // It can only fail if it is not registered, and then nothing is to be done.
            let _ = self.poller.registry().deregister(&mut SourceFd(&server.as_raw_fd()));
            self.roles.retain(|_, role| *role != Role::ForkServer);
        }
    }

    /// Executors are to find what was installed meanwhile: no fork of a process from before does.
    pub(super) fn restart_fork_server(&mut self) {
        let Some(again) = self.fork_server.as_ref().map(ForkServer::again) else { return };
        self.let_fork_server_go();
        self.fork_server = again.ok();
        if self.listen_to_fork_server().is_err() {
            self.let_fork_server_go();
        }
        // Those that waited for the other one.
        self.spawn_unborn();
    }

    fn look(&mut self, executor: u32, is_isolated: bool) {
        let process = self.executors.get(executor as usize).and_then(Option::as_ref);
        let is_stopped = process.is_some_and(|process| process.is_stopped(is_isolated));
        self.handle(Event::Looked { executor, is_stopped });
    }

    fn revoke(&mut self, executor: u32, from: u32, again: bool) {
        let Some(Some(process)) = self.executors.get(executor as usize) else { return };
        let claims = process.claims();
        let (first, is_unread) = claims.revoke(from, again);
        let claimed = claims.claimed();
        self.handle(Event::Revoked { executor, first, claimed, is_unread });
    }

    fn check(&mut self, task: TaskId, files: &[ExternalFile]) {
        let changed = files.iter().find_map(|file| {
            let problem = transfer::check(Path::new(&file.path), &file.stamp).err()?;
            Some((file.path.clone(), problem))
        });
        self.handle(Event::Checked { task, result: changed.map_or(Ok(()), Err) });
    }

    fn adopt(&mut self, block: BlockDesc, path: String, owned: bool, verify: bool) {
        if verify {
            return self.in_background(move || {
                // Looked at before it is read, so that what changes meanwhile is seen when it is used.
                let looked = look_at(&block, path.clone());
                let result = if looked.is_err() || transfer::is_intact(Path::new(&path), &block) {
                    looked
                } else {
                    Err(format!("{path} is not what it was when it was named"))
                };
                Event::Adopted { block, result }
            });
        }
        if !owned {
            let result = look_at(&block, path);
            return self.handle(Event::Adopted { block, result });
        }
        let folder = self.folder.clone();
        let is_here = folder.contains(Path::new(&path));
        let adopt = move || {
            let adopted = folder.adopt(Path::new(&path), &block);
            let result = adopted.map(Adopted::Owned).map_err(|error| error.to_string());
            Event::Adopted { block, result }
        };
        if is_here {
            // A rename need not wait behind copies.
            let event = adopt();
            self.handle(event);
        } else {
            self.in_background(adopt);
        }
    }

    fn transfer(&mut self, block: BlockDesc, address: Address, tier: Tier) {
        let (receiving, done, waker) =
            (self.receiving.clone(), self.done.clone(), self.waker.clone());
        self.incoming.run(move || {
            let start = now();
            let result = receiving.receive(&block, &address, tier);
            let duration_ns = now() - start;
            // If the worker has ended, nobody waits for this.
            let _ = done.send(Event::Arrived { name: block.name, result, duration_ns });
            let _ = waker.wake();
        });
    }

    fn measure(&mut self) {
        let folder = self.executor_options.scratch_dir.clone();
        self.in_background(move || Event::Measured { nbytes: scratch::nbytes(&folder) });
    }

    fn move_to_disk(&mut self, name: Name, form: Form) {
        let folder = self.folder.clone();
        self.in_background(move || {
            let result = folder.to_disk(name, &form).map_err(|error| error.to_string());
            Event::Moved { name, result }
        });
    }

    /// On threads of its own, so that what is moved does not wait for it.
    fn check_bytes(&self, job: impl FnOnce() -> Event + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        self.run_on(&self.checker, move || (!stop.load(Ordering::Relaxed)).then(job));
    }

    fn preserve(&mut self, block: BlockDesc, path: PathBuf) {
        let forever = self.forever.clone();
        self.in_background_to_the_end(move || {
            let kept = forever.map(|forever| forever.keep(&block, &path));
            let result = kept.unwrap_or(Ok(())).map_err(|error| error.to_string());
            if let Err(reason) = &result {
                // The result is there for this run, so no call fails for it.
                eprintln!("freestone: {} is not kept for later runs: {reason}", block.name);
            }
            Event::Preserved { name: block.name, result }
        });
    }

    /// Does what is of no use once the worker has ended.
    fn in_background(&mut self, job: impl FnOnce() -> Event + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        self.run_on(&self.mover, move || (!stop.load(Ordering::Relaxed)).then(job));
    }

    fn in_background_to_the_end(&mut self, job: impl FnOnce() -> Event + Send + 'static) {
        self.run_on(&self.mover, move || Some(job()));
    }

    fn run_on(&self, pool: &Pool, job: impl FnOnce() -> Option<Event> + Send + 'static) {
        let (done, waker) = (self.done.clone(), self.waker.clone());
        pool.run(move || {
            if let Some(event) = job() {
                // If the worker has ended, nobody waits for this.
                let _ = done.send(event);
                let _ = waker.wake();
            }
        });
    }

    fn serve(&mut self, question: u64, block: &BlockDesc, path: PathBuf, stamp: Option<FileStamp>) {
        let name = block.name;
        let token = Token(question as usize);
        let into = self.links.remove(&token).filter(|_| stamp.is_none());
        if let Some(linked) = into.and_then(|into| folder::link(&path, &into)) {
            let (nbytes, checksum) = (block.nbytes, block.checksum);
            let path = linked.display().to_string();
            self.answer(token, &BlockAnswer::Linked { path, checksum });
            return self.handle(Event::Served { name, nbytes, changed: None });
        }
        self.roles.remove(&token);
        self.asked.remove(&token);
        let peer = self.peers.remove(&token);
        let stream = peer.and_then(|(peer, _)| peer.into_stream(self.poller.registry()).ok());
        let Some((stream, _)) = stream else {
            return self.handle(Event::Served { name, nbytes: 0, changed: None });
        };
        let (done, waker, stop) = (self.done.clone(), self.waker.clone(), Arc::clone(&self.stop));
        let answered = self.answered.clone();
        self.outgoing.run(move || {
            let sent = transfer::send(stream, &path, stamp, stop);
            if let Some(stream) = sent.stream {
                // If the worker has ended, the stream ends as well.
                let _ = answered.send(stream);
            }
            // If the worker has ended, nobody waits for this.
            let _ = done.send(Event::Served { name, nbytes: sent.nbytes, changed: sent.changed });
            let _ = waker.wake();
        });
    }

    fn remove(&mut self, name: Name, form: &Form, tier: Tier) {
        // What is gone already need not be removed.
        let _ = match tier {
            Tier::Memory => self.folder.recycle(name, form),
            Tier::Disk => self.folder.remove_from(tier, name, form),
        };
    }
}

fn mapped(input: &PlacedInput) -> Option<Name> {
    match input {
        PlacedInput::Mapped { name, .. } => Some(*name),
        PlacedInput::Inline(_) => None,
    }
}

fn look_at(block: &BlockDesc, path: String) -> Result<Adopted, String> {
    let stamp = transfer::stamp_of(Path::new(&path)).map_err(|error| format!("{path}: {error}"))?;
    if stamp.nbytes != block.nbytes {
        return Err(format!("{path} has {} bytes, not {}", stamp.nbytes, block.nbytes));
    }
    Ok(Adopted::External(ExternalFile { path, stamp }))
}
