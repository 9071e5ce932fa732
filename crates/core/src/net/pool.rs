//! A bounded number of threads for what blocks.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that take jobs in the order in which they come.
#[derive(Debug)]
pub struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(name: &str, threads: u32) -> io::Result<Self> {
        let (sender, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = (0..threads.max(1))
            .map(|_| {
                let receiver = Arc::clone(&receiver);
                std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&receiver))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { jobs: Some(sender), threads })
    }

    /// Adds a job.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            // It fails only if all threads have panicked; then nobody is left to be told.
            let _ = jobs.send(Box::new(job));
        }
    }
}

impl Drop for Pool {
    /// Waits for the jobs that were added.
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic of a job was printed where it happened.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}
