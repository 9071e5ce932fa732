//! What another manager needs to go on where one was killed.

use freestone_core::journal::{Entry, Records, StateParts, append, write_state};
use freestone_core::manager::{Action, Config, Event, Manager, Now};
use freestone_core::wire::frame;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What came to a manager, as it stands in a file, and what it had done by it.
#[derive(Debug, Default)]
pub(super) struct Journal {
    bytes: Vec<u8>,
    done: u64,
    /// How many events stand there since it was compacted.
    events: u32,
}

impl Journal {
    /// Notes what is about to be handled.
    pub fn note(&mut self, now: Now, event: &Event) {
        let mut body = Vec::new();
        let _ = match event {
            Event::Client(request) => frame::encode_body(request, &mut body),
            Event::Worker(_, message) => frame::encode_body(message, &mut body),
            _ => Ok(()),
        };
        let entry = match event {
            Event::Client(_) => Entry::Own(&body),
            Event::Worker(worker, _) => Entry::Worker(*worker, &body),
            Event::Connected(worker) => Entry::Connected(*worker),
            Event::Left(worker) => Entry::Left(*worker),
            Event::Tick => Entry::Tick,
            Event::TakenUp(config) => Entry::Began(config.clone()),
        };
        self.events += 1;
        append(self.bytes.len() as u64, &mut self.bytes, |out| entry.encode(now, out));
    }

    /// Notes what came of it.
    pub fn note_done(&mut self, actions: &[Action]) {
        self.done = done(self.done, actions);
    }

    /// How many events stand there.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// The manager's state takes the place of what has led to it.
    pub fn compact(&mut self, now: Now, manager: &Manager) {
        *self = Self { bytes: state_of(manager, now), ..Self::default() };
    }

    /// The manager to which all that came once comes again.
    pub fn replayed(&self, config: Config) -> Result<Manager, String> {
        let (mut manager, mut actions, mut done_again) = (Manager::new(config), Vec::new(), 0);
        let (mut records, mut parts) =
            (Records::new(self.bytes.as_slice(), 0), StateParts::default());
        while let Some(record) = records.next().map_err(|damage| damage.to_string())? {
            let (now, entry) = Entry::decode(record)?;
            if let Entry::State { part, is_last } = entry {
                manager = parts.take(part, is_last)?.ok_or("a state in several parts")?;
                continue;
            }
            manager.handle(event_of(&entry)?, now, &mut actions);
            done_again = done(done_again, &actions);
            actions.clear();
        }
        if done_again != self.done {
            return Err("the same events have led to other actions".to_owned());
        }
        Ok(manager)
    }
}

/// The state of a manager, as a journal has it.
fn state_of(manager: &Manager, now: Now) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_state(manager, now, 0, &mut bytes).expect("there is memory for it");
    bytes
}

/// The bytes of a state without their order, since sets have none.
pub(super) fn content_of(manager: &Manager, now: Now) -> Vec<u8> {
    let state = state_of(manager, now);
    // Before them are their number and their checksum.
    let mut content = state.get(8..).unwrap_or_default().to_vec();
    content.sort_unstable();
    content
}

/// All actions so far, in a number.
fn done(before: u64, actions: &[Action]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (before, format!("{actions:?}")).hash(&mut hasher);
    hasher.finish()
}

fn event_of(entry: &Entry<'_>) -> Result<Event, String> {
    Ok(match *entry {
        Entry::Own(body) => Event::Client(frame::decode(body).map_err(|error| error.to_string())?),
        Entry::Worker(worker, body) => {
            Event::Worker(worker, frame::decode(body).map_err(|error| error.to_string())?)
        }
        Entry::Connected(worker) => Event::Connected(worker),
        Entry::Left(worker) => Event::Left(worker),
        Entry::Tick => Event::Tick,
        Entry::Began(ref config) => Event::TakenUp(config.clone()),
        ref other => return Err(format!("{other:?} is nothing that came to the manager")),
    })
}
