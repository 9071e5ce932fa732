// Pieces of the page. Texts are set as text, never as HTML: names and messages are anybody's.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export function meter(parts, total, label) {
  const bar = el("span", { class: "meter", role: "img", "aria-label": label });
  for (const [kind, amount] of parts) {
    const part = el("i", { class: kind });
    part.style.width = `${total > 0 ? Math.min(100, (100 * amount) / total) : 0}%`;
    bar.append(part);
  }
  return bar;
}

// A table whose first column names its rows. A column is [head, of(row), is it a number?].
export function table(caption, columns, rows, nothing) {
  if (!rows.length) return el("p", { class: "soft" }, nothing);
  const head = columns.map(([name, , number]) => el("th", { scope: "col", class: number ? "number" : null }, name));
  const body = rows.map((row) =>
    el("tr", {}, columns.map(([, of, number], place) =>
      place ? el("td", { class: number ? "number" : null }, of(row)) : el("th", { scope: "row" }, el("span", { class: "head" }, of(row))))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, el("span", {}, caption)), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

// A field of a form, on one line with what it is called.
export function field(label, input) {
  return el("span", { class: "field" }, el("label", { for: input.id }, label), input);
}

export function card(title, ...children) {
  return el("section", { class: "card" }, title ? el("h2", {}, title) : null, children);
}

export const count = (value) => Math.round(value).toLocaleString("en");
export const counted = (value, noun) => `${count(value)} ${noun}${Math.round(value) === 1 ? "" : "s"}`;

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  if (value < 0.9995e-3) return `${(value * 1e6).toPrecision(3)} µs`;
  if (value < 0.9995) return `${(value * 1e3).toPrecision(3)} ms`;
  if (value < 120) return `${value.toPrecision(3)} s`;
  if (value < 7200) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
}

export function short(name) {
  return el("span", { class: "mono", title: name }, name.slice(0, 8));
}

// A question in a dialog; the answer is whether it was confirmed.
export function show(title, body, action) {
  const dialog = document.getElementById("dialog");
  document.getElementById("dialog-title").textContent = title;
  document.getElementById("dialog-body").replaceChildren(body);
  return new Promise((resolve) => {
    const end = (value) => () => { dialog.close(); resolve(value); };
    const close = el("button", { onclick: end(false) }, action ? "Back" : "Close");
    const act = action ? el("button", { class: "primary", onclick: end(true) }, action) : null;
    document.getElementById("dialog-buttons").replaceChildren(...[close, act].filter(Boolean));
    dialog.oncancel = () => resolve(false);
    if (!dialog.open) dialog.showModal();
  });
}
