//! Many ranks of one node.

use freestone_events::transport::{Incoming, Layout, Node, Outgoing, Region, Transport};
use freestone_events::{EventId, Lasting};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

#[test]
fn rings_take_memory_from_their_first_use() {
    const RANKS: u32 = 300;
    let layout = Layout::new(RANKS, 1 << 20);
    let (region, fd) = Region::create(layout.nbytes()).unwrap();
    let nodes: Vec<_> = (0..RANKS).map(|rank| Node::new(&region, layout, rank)).collect();
    for node in &nodes {
        let (id, lasting, parts) = (EventId::from("e"), Lasting::Once, [&b"bytes"[..]]);
        let event = Outgoing::Event { id: &id, lasting, kind: 5, parts: &parts };
        node.send((node.rank() + 1) % RANKS, &event).unwrap();
    }
    for node in &nodes {
        let mut sources = Vec::new();
        let mut take = |source, incoming| {
            assert!(matches!(incoming, Incoming::Event(_)));
            sources.push(source);
        };
        assert_eq!(node.poll(&mut take).unwrap(), 1);
        assert_eq!(node.poll(&mut take).unwrap(), 0);
        assert_eq!(sources, [(node.rank() + RANKS - 1) % RANKS]);
    }
    // A page or two for each ring in use, and what ranks have besides.
    let taken = File::from(fd).metadata().unwrap().blocks() * 512;
    assert!(taken < u64::from(RANKS) * 16_384, "{taken} bytes");
}
