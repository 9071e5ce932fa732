//! How fast blocks go from one worker's cache into another's, beside what a socket can carry.
//!
//! `cargo run --release -p freestone-core --example transfer -- 256`: mebibytes of the block.

// A measurement that can't be made fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_base::Name;
use freestone_core::net::Stream;
use freestone_core::net::transfer::{Receiving, send};
use freestone_core::store::{Folder, Tier, folder};
use freestone_core::wire::{Address, BlockAnswer, BlockRequest, Form, Frames, frame};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const CHUNK: usize = 1 << 20;
const ROUNDS: usize = 7;

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// GB/s of bytes written by one thread, read by another and, if there is a folder, written to a
/// new file in it: what the machine can do without any of freestone.
fn raw(bytes: &[u8], folder: Option<&Path>) -> f64 {
    let (mut writer, mut reader) = UnixStream::pair().unwrap();
    let mut target = vec![0_u8; CHUNK];
    let path = folder.map(|folder| folder.join("raw"));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || bytes.chunks(CHUNK).for_each(|chunk| writer.write_all(chunk).unwrap()));
        let mut file = path.as_ref().map(|path| File::create(path).unwrap());
        let mut left = bytes.len();
        while left > 0 {
            let nbytes = reader.read(&mut target).unwrap();
            if let Some(file) = &mut file {
                file.write_all(&target[..nbytes]).unwrap();
            }
            left -= nbytes;
        }
    });
    let speed = bytes.len() as f64 / start.elapsed().as_nanos() as f64;
    if let Some(path) = path {
        std::fs::remove_file(path).unwrap();
    }
    speed
}

fn main() {
    let mebibytes: usize = std::env::args().nth(1).map_or(256, |text| text.parse().unwrap());
    let nbytes = mebibytes << 20;
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let cache = |name: &str| {
        let [memory, disk] = ["memory", "disk"].map(|tier| root.path().join(name).join(tier));
        Folder::open(&memory, &disk).unwrap().with_free_limit(4 << 30)
    };
    let (source, target) = (cache("source"), cache("target"));
    let bytes: Vec<u8> = (0..nbytes).map(|at| at as u8).collect();
    let block = source.put(Name::of(b"block"), b"", &[&bytes]).unwrap();
    let (path, _) = source.path(block.name, &Form::Value).unwrap();
    let checksum = block.checksum;
    let socket = root.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut frames = Frames::default();
            let request = loop {
                match frames.next::<BlockRequest>().unwrap() {
                    Some(request) => break request,
                    None => frames.read_from(&mut stream).unwrap(),
                };
            };
            if let Some(into) = request.link_into {
                let path = folder::link(&path, Path::new(&into)).unwrap().display().to_string();
                let mut bytes = Vec::new();
                frame::encode(&BlockAnswer::Linked { path, checksum }, &mut bytes).unwrap();
                stream.write_all(&bytes).unwrap();
                continue;
            }
            send(Stream::try_from(stream).unwrap(), &path, None, Arc::default());
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let key = String::new();
    let (folder, idle) = (target.clone(), Arc::default());
    let receiving = Receiving { folder, key, access: None, links: false, stop, idle };
    let address = Address::Unix(socket.display().to_string());
    let receive = |unmapped: bool, links: bool| {
        let receiving = Receiving { links, ..receiving.clone() };
        if unmapped {
            target.trim().unwrap();
        }
        let start = Instant::now();
        receiving.receive(&block, &address, Tier::Memory).unwrap();
        let speed = nbytes as f64 / start.elapsed().as_nanos() as f64;
        target.recycle(block.name, &Form::Value).unwrap();
        speed
    };
    let mut figures = [(); 4].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        figures[0].push(raw(&bytes, None));
        figures[1].push(raw(&bytes, Some(root.path())));
        figures[2].push(receive(true, false));
        figures[3].push(receive(false, false));
    }
    let [socket, file, unmapped, recycled] = figures.map(median);
    println!("a socket alone {socket:.2} GB/s, into a new file {file:.2} GB/s");
    println!("a block into new pages {unmapped:.2} GB/s, {:.0} % of that", 100.0 * unmapped / file);
    println!("into recycled pages {recycled:.2} GB/s");
    let linked = median((0..ROUNDS).map(|_| receive(false, true)).collect());
    println!("shared on one machine: {:.0} us", nbytes as f64 / linked / 1000.0);
}
