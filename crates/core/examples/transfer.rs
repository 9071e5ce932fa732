//! How fast blocks go from one worker's cache into another's, beside what a socket can carry.
//!
//! `cargo run --release -p freestone-core --example transfer -- 256`: mebibytes of the block.

// A measurement that can't be made fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_base::Name;
use freestone_core::net::Stream;
use freestone_core::net::transfer::{Receiving, send};
use freestone_core::store::{Folder, Tier};
use freestone_core::wire::{Address, BlockRequest, Form, Frames};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const CHUNK: usize = 1 << 20;
const ROUNDS: usize = 7;

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// GB/s of bytes written by one thread and read by another.
fn raw(nbytes: usize) -> f64 {
    let (mut writer, mut reader) = UnixStream::pair().unwrap();
    let source = vec![1_u8; CHUNK];
    let mut target = vec![0_u8; CHUNK];
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..nbytes / CHUNK {
                writer.write_all(&source).unwrap();
            }
        });
        let mut left = nbytes;
        while left > 0 {
            left -= reader.read(&mut target).unwrap();
        }
    });
    nbytes as f64 / start.elapsed().as_nanos() as f64
}

fn main() {
    let mebibytes: usize = std::env::args().nth(1).map_or(256, |text| text.parse().unwrap());
    let nbytes = mebibytes << 20;
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = |name: &str| {
        let [memory, disk] = ["memory", "disk"].map(|tier| root.path().join(name).join(tier));
        Folder::open(&memory, &disk).unwrap().with_free_limit(4 << 30)
    };
    let (source, target) = (folder("source"), folder("target"));
    let bytes: Vec<u8> = (0..nbytes).map(|at| at as u8).collect();
    let block = source.put(Name::of(b"block"), b"", &[&bytes]).unwrap();
    let (path, _) = source.path(block.name, &Form::Value).unwrap();
    let socket = root.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut frames = Frames::default();
            while frames.next::<BlockRequest>().unwrap().is_none() {
                frames.read_from(&mut stream).unwrap();
            }
            send(Stream::try_from(stream).unwrap(), &path, None, Arc::default());
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let key = String::new();
    let receiving = Receiving { folder: target.clone(), key, links: false, stop };
    let address = Address::Unix(socket.display().to_string());
    let receive = |fresh: bool| {
        if fresh {
            target.trim().unwrap();
        }
        let start = Instant::now();
        receiving.receive(&block, &address, Tier::Memory).unwrap();
        let speed = nbytes as f64 / start.elapsed().as_nanos() as f64;
        target.recycle(block.name, &Form::Value).unwrap();
        speed
    };
    let mut figures = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        figures[0].push(raw(nbytes));
        figures[1].push(receive(true));
        figures[2].push(receive(false));
    }
    let [raw, fresh, recycled] = figures.map(median);
    println!("socket alone {raw:.2} GB/s");
    println!("into fresh pages {fresh:.2} GB/s, {:.0} % of it", 100.0 * fresh / raw);
    println!("into recycled pages {recycled:.2} GB/s, {:.0} % of it", 100.0 * recycled / raw);
}
