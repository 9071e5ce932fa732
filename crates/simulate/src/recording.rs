//! Events of a run, kept so that a manager can be given them again, and only it is measured.

use super::meter::thread_cpu;
use freestone_core::manager::{Config, Event, Manager, Now, Request, Submission};
use std::time::Duration;

/// How many events are handled between two looks at the clock.
const BATCH: usize = 256;

/// Events in the order in which a manager handled them.
#[derive(Debug, Default)]
pub struct Recording(Vec<(Now, Event)>);

impl Recording {
    /// Keeps a copy of an event.
    pub fn keep(&mut self, now: Now, event: &Event) {
        self.0.extend(copy(event).map(|event| (now, event)));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives the events to another manager, which does the same with them as the first one did,
    /// and tells the processor time that it takes. What the simulated workers do between events
    /// is left out, and so is what it does to the processor's caches.
    pub fn replay(self, config: Config) -> Duration {
        let mut manager = Manager::new(config);
        let mut out = Vec::new();
        let mut spent = Duration::ZERO;
        let mut events = self.0.into_iter().peekable();
        while events.peek().is_some() {
            let began = thread_cpu().unwrap_or_default();
            for (now, event) in events.by_ref().take(BATCH) {
                manager.handle(event, now, &mut out);
            }
            spent += thread_cpu().unwrap_or_default().saturating_sub(began);
            out.clear();
        }
        spent
    }
}

fn copy(event: &Event) -> Option<Event> {
    match event {
        Event::Client(request) => copy_request(request).map(Event::Client),
        Event::Worker(worker, message) => Some(Event::Worker(*worker, message.clone())),
        Event::Connected(worker) => Some(Event::Connected(*worker)),
        Event::Left(worker) => Some(Event::Left(*worker)),
        Event::Tick => Some(Event::Tick),
        Event::TakenUp(config) => Some(Event::TakenUp(config.clone())),
    }
}

/// The requests that [`simulate`](super::simulate) makes of a manager.
fn copy_request(request: &Request) -> Option<Request> {
    match request {
        Request::Define { function, label, definition } => Some(Request::Define {
            function: *function,
            label: label.clone(),
            definition: definition.clone(),
        }),
        Request::Submit(calls) => Some(Request::Submit(calls.iter().map(copy_call).collect())),
        Request::Release(names) => Some(Request::Release(names.clone())),
        _ => None,
    }
}

fn copy_call(call: &Submission) -> Submission {
    Submission {
        outputs: call.outputs.clone(),
        function: call.function,
        arguments: call.arguments.clone(),
        inputs: call.inputs.clone(),
        options: call.options.clone(),
        retries: call.retries,
        priority: call.priority,
        tenant: call.tenant,
        worker: call.worker,
        near: call.near,
        tickets: call.tickets.clone(),
    }
}
