//! What another manager needs to go on where one was killed.

use freestone_core::journal::{Entry, Records, append};
use freestone_core::manager::{Action, Config, Event, Manager, Now};
use freestone_core::wire::frame;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What came to a manager, as it stands in a file, and what it had done by it.
#[derive(Debug, Default)]
pub(super) struct Journal {
    bytes: Vec<u8>,
    done: u64,
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
        append(self.bytes.len() as u64, &mut self.bytes, |out| entry.encode(now, out));
    }

    /// Notes what came of it.
    pub fn note_done(&mut self, actions: &[Action]) {
        self.done = done(self.done, actions);
    }

    /// The manager to which all that came once comes again.
    pub fn replayed(&self, config: Config) -> Result<Manager, String> {
        let (mut manager, mut actions, mut done_again) = (Manager::new(config), Vec::new(), 0);
        let mut records = Records::new(self.bytes.as_slice(), 0);
        while let Some(record) = records.next().map_err(|damage| damage.to_string())? {
            let (now, entry) = Entry::decode(record)?;
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
