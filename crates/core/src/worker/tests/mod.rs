//! The worker against executors, peers, a disk and a clock that are made up, with faults.

mod cases;
mod disk;
mod executors;
mod held;
mod histories;
mod paused;
mod restart;
mod scrub;
mod stopped;
mod world;
