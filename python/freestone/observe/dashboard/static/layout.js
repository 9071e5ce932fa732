// Where the nodes of a graph stand: in columns, each right of all that it needs, in an order in which
// few edges cross. Of some thousand nodes it takes some milliseconds.

const SWEEPS = 4;

// Takes the number of nodes, and edges as [from, to]; returns of each node its column and its row, and
// how many columns and rows there are. Edges that close a circle are not looked at.
export function layOut(count, edges) {
  const outs = Array.from({ length: count }, () => []), ins = Array.from({ length: count }, () => []);
  for (const [from, to] of forward(count, edges)) {
    outs[from].push(to);
    ins[to].push(from);
  }
  const column = columns(count, ins, outs);
  const layers = Array.from({ length: Math.max(-1, ...column) + 1 }, () => []);
  column.forEach((at, node) => layers[at].push(node));
  const row = new Float64Array(count);
  const place = (layer) => layer.forEach((node, at) => { row[node] = at - (layer.length - 1) / 2; });
  layers.forEach(place);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const near = new Map(layer.map((node) => [node, mean((down ? ins : outs)[node], row) ?? row[node]]));
      layer.sort((one, other) => near.get(one) - near.get(other));
      place(layer);
    }
  }
  return { column, row, columns: layers.length, rows: Math.max(1, ...layers.map((layer) => layer.length)) };
}

const mean = (nodes, row) => (nodes.length ? nodes.reduce((sum, node) => sum + row[node], 0) / nodes.length : null);

// The edges without those that lead back to where a walk came from.
function forward(count, edges) {
  const outs = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) if (from !== to) outs[from].push(to);
  const NEW = 0, OPEN = 1, DONE = 2, state = new Uint8Array(count), kept = [];
  for (let start = 0; start < count; start += 1) {
    if (state[start] !== NEW) continue;
    const walk = [[start, 0]];
    state[start] = OPEN;
    while (walk.length) {
      const top = walk[walk.length - 1], [node, at] = top;
      if (at === outs[node].length) {
        state[node] = DONE;
        walk.pop();
        continue;
      }
      top[1] += 1;
      const to = outs[node][at];
      if (state[to] !== OPEN) kept.push([node, to]);
      if (state[to] === NEW) {
        state[to] = OPEN;
        walk.push([to, 0]);
      }
    }
  }
  return kept;
}

// The longest way to each node; what needs nothing stands left of the first that needs it.
function columns(count, ins, outs) {
  const column = new Array(count).fill(0), missing = ins.map((from) => from.length);
  const order = [...missing.keys()].filter((node) => !missing[node]);
  for (const node of order) {
    for (const to of outs[node]) {
      column[to] = Math.max(column[to], column[node] + 1);
      if ((missing[to] -= 1) === 0) order.push(to);
    }
  }
  ins.forEach((from, node) => {
    if (!from.length && outs[node].length) column[node] = outs[node].reduce((least, to) => Math.min(least, column[to]), Infinity) - 1;
  });
  return column;
}
