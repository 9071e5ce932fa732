//! One history: a random run with faults, then a quiet end at which everything must be right.

use super::client::{Asked, Client, Promise};
use freestone_base::Name;
use freestone_core::manager::{Config, Request};
use freestone_simulate::{Faults, Options, Random};
use std::collections::BTreeSet;

const STEPS: usize = 200_000;

/// What is injected, at which rates: each fault in half of the histories, none in some.
fn faults(random: &mut Random) -> Faults {
    let calm = random.chance(0.15);
    let mut rate = |most: f64| if calm || random.chance(0.5) { 0.0 } else { most * random.unit() };
    Faults {
        lose: rate(0.05),
        silence: rate(0.02),
        evict: rate(0.1),
        fetch: rate(0.2),
        missing: rate(0.1),
        raise: rate(0.15),
        encoding: rate(0.02),
        kill: rate(0.1),
        full: rate(0.05),
        slow: rate(0.1),
        replace: 0.9,
        reconnect: rate(0.8),
        take_up: 0.0,
        compact_after: None,
    }
}

fn options(seed: u64, log: usize) -> Options {
    let mut random = Random::new(seed);
    let config = Config {
        transfers_in: random.between(1, 3) as u32,
        transfers_out: random.between(1, 3) as u32,
        silence_ns: 5_000_000_000,
        key: "key".to_owned(),
        trace: random.chance(0.1),
        ..Config::default()
    };
    let latency_ns = (50_000, *random.pick(&[100_000, 5_000_000, 200_000_000]));
    let faults = faults(&mut random);
    Options {
        config,
        seed,
        latency_ns,
        bandwidth: 1e6,
        inline_nbytes: 1_000,
        quota: random.chance(0.3).then(|| random.between(150_000, 600_000)),
        pulse_ns: Some(1_000_000_000),
        checked: true,
        log,
        faults,
        ..Options::default()
    }
}

/// Runs a history; what went wrong, with the last events if `log` is not 0.
pub fn run(seed: u64, log: usize) -> Result<Client, String> {
    run_with(options(seed, log))
}

/// Runs a history in which the manager's process is killed now and then.
pub fn run_with_kills(seed: u64, log: usize) -> Result<Client, String> {
    let mut options = options(seed, log);
    let mut random = Random::new(!seed);
    options.faults.take_up = *random.pick(&[0.000_5, 0.002, 0.01]);
    options.faults.compact_after = *random.pick(&[None, Some(1), Some(20), Some(200)]);
    run_with(options)
}

fn run_with(options: Options) -> Result<Client, String> {
    let seed = options.seed;
    let mut client = Client::new(options);
    let finding = |client: &Client| {
        let wrong = client.cluster.violations.join("\n  ");
        let last: Vec<&str> = client.cluster.log.iter().map(String::as_str).collect();
        format!("{}\nseed {seed}:\n  {wrong}", last.join("\n"))
    };
    let phases = [act_and_suffer, come_to_rest, let_go_of_everything];
    for phase in phases {
        phase(&mut client);
        if !client.cluster.violations.is_empty() {
            return Err(finding(&client));
        }
    }
    Ok(client)
}

fn act_and_suffer(client: &mut Client) {
    for _ in 0..client.random.between(1, 3) {
        let large = client.random.chance(0.4);
        client.join(large);
    }
    let acts = client.random.between(10, 50);
    client.cluster.wake(1, acts);
    let mut steps = 0;
    while client.cluster.violations.is_empty() && client.cluster.next_at().is_some() {
        steps += 1;
        let turn = client.cluster.step();
        client.look();
        match turn {
            Some(0) => return,
            Some(left) => {
                client.act();
                let pause = if client.random.chance(0.5) { 0 } else { 400_000_000 };
                let at_ns = client.cluster.now + client.random.between(0, pause);
                client.cluster.wake(at_ns, left - 1);
            }
            None if steps > STEPS => return client.cluster.violation("it never ends".to_owned()),
            None => {}
        }
    }
}

/// Faults stop, a worker joins that everything fits on, and the clock runs.
fn come_to_rest(client: &mut Client) {
    let Faults { replace, reconnect, .. } = client.cluster.options.faults;
    client.cluster.options.faults = Faults { replace, reconnect, ..Faults::default() };
    client.cluster.options.quota = None;
    client.join(true);
    quiesce(client);
    let open = |promise: &Promise| !promise.resolved && !promise.lenient;
    let asked = |promise: &Promise| open(promise).then_some(promise.asked);
    let open: Vec<Asked> = client.promises.iter().filter_map(asked).collect();
    for asked in open {
        let (Asked::Block(name) | Asked::Pin(name, _)) = asked else { continue };
        let ticket = client.ticket(Asked::Other);
        client.ask(Request::Explain { name, ticket });
        let why = client.explanation.take();
        client.cluster.violation(format!("never resolved: {asked:?}: {why:?}"));
    }
}

fn quiesce(client: &mut Client) {
    let silence_ns = client.cluster.options.config.silence_ns;
    let mut rest_ns = None;
    for _ in 0..STEPS {
        client.cluster.step();
        client.look();
        if !client.cluster.violations.is_empty() {
            return;
        }
        // Silence is noticed by the clock alone, and a retiring worker may wait for it.
        rest_ns = client.cluster.is_quiet().then(|| rest_ns.unwrap_or(client.cluster.now));
        if rest_ns.is_some_and(|since| client.cluster.now > since + 3 * silence_ns) {
            return;
        }
    }
    client.cluster.violation("it never comes to rest".to_owned());
}

/// Everything is released; then nothing may be left but what is kept.
fn let_go_of_everything(client: &mut Client) {
    while !client.pins.is_empty() {
        client.unpin_one();
    }
    let names: Vec<Name> = client.blocks.names().collect();
    for name in names.iter().copied() {
        let references = client.blocks[&name].references as usize;
        client.release(&vec![name; references]);
    }
    quiesce(client);
    while !client.pins.is_empty() {
        client.unpin_one();
    }
    quiesce(client);
    let ticket = client.ticket(Asked::Other);
    client.ask(Request::Statistics { ticket });
    client.asked_locations.clone_from(&names);
    let ticket = client.ticket(Asked::Other);
    client.ask(Request::WhoHas { names, ticket });
    for what in remains(client).into_iter().chain(misbeliefs(client)) {
        client.cluster.violation(what);
    }
}

/// What is at workers or in the manager's tables and should not be.
fn remains(client: &Client) -> Vec<String> {
    let kept = |name: &Name| client.blocks.get(name).is_some_and(super::known::Known::is_kept);
    let mut wrong = Vec::new();
    let mut held = BTreeSet::new();
    for worker in client.cluster.workers() {
        if !worker.is_idle() {
            wrong.push(format!("{} still holds calls or receives", worker.id));
        }
        for block in worker.blocks() {
            held.insert(block.desc.name);
            if block.pins > 0 || !kept(&block.desc.name) {
                wrong.push(format!("{} still holds {block:?}", worker.id));
            }
        }
    }
    let Some(statistics) = &client.statistics else { return vec!["no statistics".to_owned()] };
    let inline = |name: &Name| kept(name) && client.blocks[name].nbytes <= 1_000;
    let most = held.len() + client.blocks.names().filter(inline).count();
    let blocks = statistics.blocks as usize;
    if blocks < held.len() || blocks > most {
        wrong.push(format!("{blocks} blocks, and {} to {most} are kept", held.len()));
    }
    let left = [statistics.tasks, statistics.waiting, statistics.ready, statistics.assigned];
    if left != [0; 4] {
        wrong.push(format!("tasks, waiting, ready, assigned: {left:?}"));
    }
    wrong
}

/// Where the manager is wrong about who holds what.
fn misbeliefs(client: &Client) -> Vec<String> {
    let mut wrong = Vec::new();
    for (asked, believed) in &client.locations {
        let name = client.blocks.resolve(*asked);
        // The other name of a block is forgotten with it, also if a worker brings it back later.
        if name != *asked && believed.is_empty() {
            continue;
        }
        let holds = |worker: &&freestone_simulate::SimulatedWorker| worker.block(&name).is_some();
        let mut truth: Vec<_> =
            client.cluster.workers().filter(holds).map(|worker| worker.id).collect();
        let mut believed = believed.clone();
        believed.sort_unstable();
        truth.sort_unstable();
        if believed != truth {
            wrong.push(format!("{name} is believed on {believed:?} and is on {truth:?}"));
        }
    }
    wrong
}
