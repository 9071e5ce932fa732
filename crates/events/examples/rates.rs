//! How fast tasks and events are, between two ranks that are threads, over memory or TLS; lines of
//! JSON: `rates SCALE [tls]`.

use freestone_events::transport::tcp::{Meeting, Tcp};
use freestone_events::{Access, Identity};
use freestone_events::{Config, Dependency, EventsError, Rank, Source, Submit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);
const ARENA: usize = 256 << 20;

fn over_tls() -> bool {
    std::env::args().any(|word| word == "tls")
}

/// Two ranks that talk over the loopback interface.
fn connected() -> Result<Vec<Rank>, EventsError> {
    let identity = Identity::make(1).expect("the machine has randomness");
    let access = Access::new(&identity).expect("it was made a moment ago");
    let meeting = Meeting::new("127.0.0.1:0", &access)?;
    let address = meeting.address()?.to_string();
    std::thread::scope(|scope| {
        let meet = |rank| {
            let (address, access) = (&address, &access);
            scope.spawn(move || Tcp::meet(address, rank, 2, access, TIMEOUT))
        };
        let here = [0, 1].map(meet);
        meeting.hold(2, 2, TIMEOUT)?;
        let mut ranks = Vec::new();
        for one in here {
            let transport = one.join().expect("no rank panics")?;
            ranks.push(Rank::start(Box::new(transport), Config::default())?);
        }
        Ok(ranks)
    })
}

fn both(
    main: impl Fn(&Rank) -> Result<f64, EventsError> + Send + Sync,
) -> Result<f64, EventsError> {
    let ranks =
        if over_tls() { connected()? } else { Rank::start_threads(2, ARENA, &Config::default())? };
    let results: Vec<Result<f64, EventsError>> = std::thread::scope(|scope| {
        let run = |rank: Rank| {
            let main = &main;
            scope.spawn(move || {
                let found = main(&rank)?;
                rank.finish().map(|_| found)
            })
        };
        let threads: Vec<_> = ranks.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    });
    results.into_iter().try_fold(0.0, |sum, result| Ok(sum + result?))
}

fn from(rank: u32, id: &str) -> Dependency {
    Dependency::new(Source::Rank(rank), id)
}

/// Tasks without dependencies a second, submitted by one thread.
fn tasks(count: u32) -> Result<f64, EventsError> {
    let rank = Rank::start_threads(1, ARENA, &Config::default())?.remove(0);
    let start = Instant::now();
    for _ in 0..count {
        rank.submit(Submit::default(), |_, _| Ok(()))?;
    }
    rank.drain()?;
    let seconds = start.elapsed().as_secs_f64();
    rank.finish()?;
    Ok(f64::from(count) / seconds)
}

/// Events of 8 bytes a second from one rank to another, each of which runs a task.
fn flood(count: u32) -> Result<f64, EventsError> {
    both(|rank| {
        let seen = Arc::new(AtomicU64::new(0));
        if rank.rank() == 1 {
            let seen = Arc::clone(&seen);
            let submit = Submit::on(vec![from(0, "e")]).persistent();
            rank.submit_many(submit, move |_, _| {
                seen.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })?;
        }
        rank.drain()?;
        let start = Instant::now();
        if rank.rank() == 0 {
            for value in 0..u64::from(count) {
                rank.fire_bytes(1, "e", &value.to_le_bytes())?;
            }
        }
        rank.drain()?;
        let rate = f64::from(count) / start.elapsed().as_secs_f64();
        Ok(if rank.rank() == 0 { rate } else { 0.0 })
    })
}

/// Microseconds that an event of so many bytes takes one way, from task to task.
fn one_way(count: u32, nbytes: usize) -> Result<f64, EventsError> {
    let took = Arc::new(AtomicU64::new(0));
    both(|rank| {
        let (other, took) = (1 - rank.rank(), Arc::clone(&took));
        rank.submit(Submit::default(), move |rank, _| {
            let (data, on) = (vec![0; nbytes], vec![from(other, "e")]);
            let start = Instant::now();
            for _ in 0..count {
                let turn = || {
                    if rank.rank() == 0 {
                        rank.fire_bytes(other, "e", &data)?;
                    }
                    rank.wait(on.clone(), None)?;
                    if rank.rank() == 1 {
                        rank.fire_bytes(other, "e", &data)?;
                    }
                    Ok::<_, EventsError>(())
                };
                turn().map_err(|error| freestone_events::Failure::text(&error.to_string()))?;
            }
            if rank.rank() == 0 {
                took.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(0.0)
    })?;
    Ok(took.load(Ordering::Relaxed) as f64 / 1e3 / f64::from(count) / 2.0)
}

fn main() -> Result<(), EventsError> {
    let scale = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let small = if over_tls() { 1_000 } else { 5_000 };
    println!("{{\"us_8\": {:.3}}}", one_way(small * scale, 8)?);
    println!("{{\"us_1024\": {:.3}}}", one_way(small * scale, 1024)?);
    println!("{{\"us_1048576\": {:.1}}}", one_way(50 * scale, 1 << 20)?);
    println!("{{\"events\": {:.0}}}", flood(200_000 * scale)?);
    if !over_tls() {
        println!("{{\"tasks\": {:.0}}}", tasks(200_000 * scale)?);
    }
    Ok(())
}
