//! A program and a manager whose connection over TCP is cut and mended.

// A test fails by panicking.
#![allow(missing_docs, clippy::unwrap_used)]

use freestone_base::Name;
use freestone_core::manager::{
    Config, Entry, Given, Item, LockRequest, Outcome, QueueRequest, Request, SharedRequest, Waiter,
};
use freestone_core::net::manager::{Listen, ManagerOptions, ManagerThread};
use freestone_core::net::remote::{RemoteError, RemoteOptions, RemoteThread};
use freestone_core::net::{Access, Cell, Client, Identity};
use freestone_core::wire::Address;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything here takes; only a test that fails waits for so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// A way to the manager that can be cut and mended.
#[derive(Clone)]
struct Network {
    port: u16,
    open: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Network {
    fn new(manager: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let network = Self { port, open: Arc::new(Mutex::new(Some(Vec::new()))) };
        let open = Arc::clone(&network.open);
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                let mut open = open.lock().unwrap();
                let Some(streams) = &mut *open else { continue };
                let far = TcpStream::connect(&manager).unwrap();
                let both = |stream: &TcpStream| stream.try_clone().unwrap();
                for (from, to) in [(both(&near), both(&far)), (both(&far), both(&near))] {
                    thread::spawn(move || carry(from, to));
                }
                streams.extend([near, far]);
            }
        });
        network
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().take().into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.open.lock().unwrap().get_or_insert_default();
    }
}

/// The end of one side is that of the other, as when a process dies.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(nbytes @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..nbytes]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A manager without workers, and how to reach it.
struct Served {
    manager: ManagerThread,
    access: Access,
    network: Network,
    _folder: tempfile::TempDir,
}

fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let access = Access::new(&Identity::make(1).unwrap()).unwrap();
    let [place, host] = ["127.0.0.1:0", "127.0.0.1"].map(str::to_owned);
    let options = ManagerOptions {
        socket: folder.path().join("manager"),
        listen: Some(Listen { place, host, access: access.clone() }),
        config: Config::default(),
        spin_us: 0,
        journal: None,
    };
    let manager = ManagerThread::start(options).unwrap();
    let Address::Either { tcp, .. } = &manager.address else { panic!("{}", manager.address) };
    let network = Network::new(tcp.clone());
    Served { manager, access, network, _folder: folder }
}

impl Served {
    fn connect(&self, reconnect: Duration) -> Result<RemoteThread, RemoteError> {
        RemoteThread::connect(RemoteOptions {
            address: Address::Tcp(format!("127.0.0.1:{}", self.network.port)),
            access: Some(self.access.clone()),
            key: String::new(),
            reconnect,
            spin_us: 0,
            on_renumbered: Box::new(|_, _| {}),
            on_home: Box::new(|_, _| {}),
            on_printed: None,
        })
    }
}

fn outcome(cell: &Cell) -> Outcome {
    assert!(cell.wait(Duration::ZERO, DEADLINE), "no answer");
    cell.outcome().unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        thread::yield_now();
    }
}

fn put(client: &Client, hold: u64) -> Cell {
    let item = Item { name: Name::of(b"item"), label: String::new() };
    client.ask(|ticket| {
        let by = Waiter { hold, owner: 0, worker: None, ticket };
        let title = "queue".to_owned();
        QueueRequest::Put { title, capacity: Some(0), item, by }.into()
    })
}

fn count(client: &Client) -> Outcome {
    outcome(&client.ask(|ticket| QueueRequest::Count { title: "queue".to_owned(), ticket }.into()))
}

fn enter(client: &Client) -> Cell {
    client.ask(|ticket| {
        let (title, holder) = ("lock".to_owned(), "me".to_owned());
        let (limit, worker) = (None, None);
        let enter = LockRequest::Enter { title, limit, hold: 1, holder, worker, ticket };
        enter.into()
    })
}

#[test]
fn each_request_is_answered_once_however_often_the_connection_breaks() {
    let served = served();
    let remote = served.connect(DEADLINE).unwrap();
    let (name, bytes) = (Name::of(b"item"), b"value".as_slice().into());
    remote.client.request(Request::PutInline { name, bytes });
    let mut cells = Vec::new();
    for round in 0..20 {
        for number in 0..100 {
            cells.push(put(&remote.client, round * 100 + number));
            if number == 50 {
                served.network.cut();
            }
        }
        served.network.mend();
    }
    for cell in &cells {
        assert_eq!(outcome(cell), Outcome::Given(Given::Stored));
    }
    assert_eq!(count(&remote.client), Outcome::Given(Given::Count { items: 2000 }));
    assert_eq!(served.manager.client.clients(), 1);
}

#[test]
fn a_lock_is_kept_for_a_client_that_reconnects() {
    let served = served();
    let remote = served.connect(DEADLINE).unwrap();
    assert_eq!(outcome(&enter(&remote.client)), Outcome::Entered(Entry::Granted));
    let other = &served.manager.client;
    assert!(matches!(outcome(&enter(other)), Outcome::Entered(Entry::Queued { .. })));
    let granted = other.ask(|ticket| LockRequest::Await { hold: 1, ticket }.into());
    served.network.cut();
    served.network.mend();
    let answer = outcome(&remote.client.ask(|ticket| Request::Publications { ticket }));
    assert_eq!(answer, Outcome::Publications(Vec::new()));
    assert!(!granted.is_resolved());
    remote.client.request(SharedRequest::Leave { hold: 1 }.into());
    assert_eq!(outcome(&granted), Outcome::Accepted(true));
}

#[test]
fn who_does_not_reconnect_in_time_has_lost_it() {
    let served = served();
    let remote = served.connect(Duration::from_millis(50)).unwrap();
    assert_eq!(outcome(&enter(&remote.client)), Outcome::Entered(Entry::Granted));
    let other = &served.manager.client;
    assert!(matches!(outcome(&enter(other)), Outcome::Entered(Entry::Queued { .. })));
    served.network.cut();
    let granted = outcome(&other.ask(|ticket| LockRequest::Await { hold: 1, ticket }.into()));
    assert_eq!(granted, Outcome::Accepted(true));
    wait_until("the client ends", || remote.client.is_closed());
    let lost = remote.lost.lock().unwrap().clone().unwrap();
    assert!(lost.contains("for 0.05 s ('reconnect_s')"), "{lost}");
    assert_eq!(other.clients(), 0);
}

#[test]
fn a_client_that_leaves_is_not_waited_for() {
    let served = served();
    let mut remote = served.connect(DEADLINE).unwrap();
    let cells: Vec<_> =
        (0..1000).map(|_| remote.client.ask(|ticket| Request::Statistics { ticket })).collect();
    outcome(&cells[0]);
    remote.close();
    wait_until("the session ends", || served.manager.client.clients() == 0);
}

#[test]
fn one_that_is_away_can_be_closed() {
    let served = served();
    let mut remote = served.connect(DEADLINE).unwrap();
    served.network.cut();
    let cell = remote.client.ask(|ticket| Request::Statistics { ticket });
    remote.close();
    assert!(matches!(outcome(&cell), Outcome::Failed(_) | Outcome::Statistics(_)));
    assert!(remote.lost.lock().unwrap().is_none(), "the program has closed it");
}

#[test]
fn without_time_to_reconnect_the_connection_is_the_session() {
    let served = served();
    let remote = served.connect(Duration::ZERO).unwrap();
    assert_eq!(served.manager.client.clients(), 1);
    served.network.cut();
    wait_until("the session ends", || served.manager.client.clients() == 0);
    wait_until("the client ends", || remote.client.is_closed());
    assert!(remote.lost.lock().unwrap().is_some());
}

#[test]
fn another_manager_refuses_who_reconnects() {
    let first = served();
    // The same certificate and port, as a manager that was started again may have.
    let access = first.access.clone();
    let remote = first.connect(DEADLINE).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let Address::Either { tcp, .. } = first.manager.address.clone() else { panic!() };
    let Served { mut manager, network, .. } = first;
    network.cut();
    manager.close();
    let listen = Listen { place: tcp, host: "127.0.0.1".to_owned(), access };
    let again = ManagerThread::start(ManagerOptions {
        socket: folder.path().join("manager"),
        listen: Some(listen),
        config: Config::default(),
        spin_us: 0,
        journal: None,
    })
    .unwrap();
    network.mend();
    wait_until("the client ends", || remote.client.is_closed());
    let lost = remote.lost.lock().unwrap().clone().unwrap();
    assert!(lost.contains("it knows nothing of what this program has asked"), "{lost}");
    assert_eq!(again.client.clients(), 0);
}
