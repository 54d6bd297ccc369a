// Pieces that all views use. What comes from the hive becomes text, never markup; the one exception is the inside of a
// report, which the hive's own report writer escaped (race.js).
export function make(tag, content, attributes) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  for (const part of [content].flat()) {
    if (part === undefined || part === null) continue;
    element.append(part instanceof Node ? part : document.createTextNode(String(part)));
  }
  return element;
}

export function draw(tag, attributes, content) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const part of [content || []].flat()) element.append(part);
  return element;
}

export class SignedOut extends Error {}

// A GET, or a POST of `body`.
export async function ask(path, body) {
  return call("/api/v1/" + path, body ? {method: "POST", body: JSON.stringify(body)} : {});
}

// What goes wrong is an error with a message for people, also if nobody answers or a proxy does.
export async function call(path, options) {
  let answer, said = {};
  try {
    answer = await fetch(path, {...options, headers: {"X-Deadheat": "1"}});
  } catch {
    throw new Error("The hive does not answer. Try again later.");
  }
  if (answer.status === 401) throw new SignedOut();
  try {
    said = await answer.json();
  } catch {
    throw new Error(`What came (status ${answer.status}) is no answer of a hive. Try again later.`);
  }
  if (!answer.ok) throw new Error(said.error + (said.hint ? " (" + said.hint + ")" : ""));
  return said;
}

export const how_many = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

export const words = text => text.replaceAll("_", " ");
export const full_time = ms => ms ? new Date(ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
export function when(ms) {
  if (!ms) return "";
  const s = (Date.now() - ms) / 1000;
  const text = s < 60 ? "just now" : s < 3600 ? `${Math.floor(s / 60)} min ago` : s < 86400 ? `${Math.floor(s / 3600)} h ago` :
    s < 86400 * 30 ? `${Math.floor(s / 86400)} d ago` : new Date(ms).toISOString().slice(0, 10);
  return make("time", text, {datetime: new Date(ms).toISOString(), title: full_time(ms)});
}

export function how_sure(race) {
  const text = race.verdict !== "true_race" ? words(race.verdict) :
    race.basis === "claimed" ? `claimed by ${race.claimed_by}` : words(race.basis);
  const look = race.verdict === "true_race" ? (race.basis === "claimed" ? "observed" : "harmful") : "";
  return make("span", text, {class: "badge " + look});
}

// Cells carry their column's name: a narrow window shows each row as a card.
export function table(label, heads, rows) {
  return make("div", make("table", [
    make("thead", make("tr", heads.map(head => make("th", head, {scope: "col"})))),
    make("tbody", rows.map(row => make("tr", row.map((cell, i) => make("td", cell, {"data-head": heads[i]})))))]),
    {class: "scroll list", tabindex: "0", role: "region", "aria-label": label});
}

export function field(label, control) {
  return make("div", [make("label", label, {for: control.id}), control]);
}

export function choice(id, values, chosen) {
  return make("select", values.map(([value, text]) =>
    make("option", text, value === chosen ? {value, selected: ""} : {value})), {id, name: id});
}

export function facts(pairs) {
  return make("ul", pairs.map(([number, text, hot]) =>
    make("li", [make("b", number), text], {class: number === 0 ? "zero" : hot ? "hot" : ""})), {class: "stats"});
}

const day = ms => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

// Frame, three marks on each axis. `body` draws into 0..width, 0..height.
export function chart(label, first_ms, last_ms, top, body, legend) {
  const width = 900, height = 220, left = 56, bottom = 26;
  const svg = draw("svg", {viewBox: `0 0 ${left + width + 10} ${height + bottom + 10}`, role: "img", "aria-label": label, class: "chart"});
  for (const part of [0, 0.5, 1]) {
    const y = 6 + height * (1 - part);
    svg.append(draw("line", {class: "grid", x1: left, x2: left + width, y1: y, y2: y}),
      draw("text", {x: left - 8, y: y + 4, "text-anchor": "end"}, Math.round(top * part * 10) / 10 + ""),
      draw("text", {x: left + width * part, y: height + bottom, "text-anchor": ["start", "middle", "end"][part * 2]},
        day(first_ms + (last_ms - first_ms) * part)));
  }
  svg.append(draw("g", {transform: `translate(${left} 6)`}, body(width, height)));
  return make("figure", [make("div", svg, {class: "scroll", tabindex: "0", role: "region", "aria-label": label}), make("figcaption",
    legend.map(([name, text]) => make("span", [make("i", "", {class: "key " + name}), text])))]);
}
