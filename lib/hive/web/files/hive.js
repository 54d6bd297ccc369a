// The hive's page. Everything that comes from the hive becomes text, never markup.
"use strict";

const view = document.getElementById("view");
const signin = document.getElementById("signin");

function make(tag, content, attributes) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  for (const part of [content].flat()) {
    if (part === undefined || part === null) continue;
    element.append(part instanceof Node ? part : document.createTextNode(String(part)));
  }
  return element;
}

async function ask(path) {
  const answer = await fetch("/api/v1/" + path, {headers: {"X-Deadheat": "1"}});
  if (answer.status === 401) { show_signin(); throw new Error("not signed in"); }
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error + (body.hint ? " (" + body.hint + ")" : ""));
  return body;
}

function show_signin() {
  view.hidden = true;
  document.getElementById("views").hidden = true;
  signin.hidden = false;
  document.getElementById("token").focus();
}

signin.addEventListener("submit", async event => {
  event.preventDefault();
  const field = document.getElementById("token");
  const answer = await fetch("/signin", {method: "POST", headers: {"X-Deadheat": "1"}, body: field.value});
  if (answer.ok) { field.value = ""; signin.hidden = true; return go(); }
  const body = await answer.json();
  document.getElementById("problem").textContent = body.error + (body.hint ? ": " + body.hint : "");
});

const when = ms => ms ? new Date(ms).toISOString().replace("T", " ").slice(0, 19) : "";
const words = text => text.replaceAll("_", " ");

function how_sure(race) {
  if (race.verdict !== "true_race") return words(race.verdict);
  return race.basis === "claimed" ? `true race, claimed by ${race.claimed_by}` : `true race, ${words(race.basis)}`;
}

function table(heads, rows) {
  return make("div", make("table", [
    make("thead", make("tr", heads.map(head => make("th", head, {scope: "col"})))),
    make("tbody", rows.map(row => make("tr", row.map(cell => make("td", cell)))))]),
    {class: "scroll", tabindex: "0", role: "region", "aria-label": "table"});
}

function choice(id, label, values, chosen) {
  const select = make("select", values.map(([value, text]) =>
    make("option", text, value === chosen ? {value, selected: ""} : {value})), {id, name: id});
  return make("div", [make("label", label, {for: id}), select]);
}

async function races(parameters) {
  const limit = 100, offset = Number(parameters.get("offset") || 0);
  const query = new URLSearchParams(parameters);
  query.set("limit", limit);
  const list = await ask("findings?" + query);
  const filter = make("form", [
    make("div", [make("label", "Search", {for: "text"}),
      make("input", "", {id: "text", name: "text", type: "search", value: parameters.get("text") || ""})]),
    choice("verdict", "Verdict", [["", "all"], ["true_race", "true race"], ["unknown", "unknown"],
      ["likely_false_positive", "likely false positive"]], parameters.get("verdict") || ""),
    choice("sort", "Sort by", [["verdict", "verdict"], ["last_seen", "last seen"], ["confidence", "confidence"],
      ["number", "number"]], parameters.get("sort") || "verdict"),
    make("button", "Show", {type: "submit"})], {class: "filter"});
  filter.addEventListener("submit", event => {
    event.preventDefault();
    location.hash = "#/races?" + new URLSearchParams(new FormData(filter));
  });
  const rows = list.races.map(race => [
    make("a", race.id, {href: "#/race/" + race.number}), make("span", how_sure(race), {class: "verdict"}),
    race.consequence === "none" ? "" : words(race.consequence), race.confidence.toFixed(3), race.title, race.where,
    race.instances, when(race.last_seen_ms)]);
  const parts = [make("h2", `${list.total} races`), filter, table(
    ["Race", "Verdict", "Consequence", "Confidence", "What", "Where", "Instances", "Last seen"], rows)];
  for (const [text, at] of [["Earlier", offset - limit], ["Later", offset + limit]]) {
    if (at < 0 || at >= list.total) continue;
    query.set("offset", at);
    parts.push(make("a", text, {href: "#/races?" + query}), " ");
  }
  return parts;
}

async function race(number) {
  const found = await ask("findings/" + number);
  const evidence = found.findings.findings[0].evidence || [];
  return [make("h2", found.race.title), make("p", how_sure(found.race), {class: "verdict"}), make("pre", found.text, {tabindex: "0"}),
    make("h2", "Evidence"), table(["Said by", "Outcome", "Proof", "Order"],
      evidence.map(e => [e.source || "", words(e.outcome || ""), words(e.proof || ""), e.order || ""])),
    make("h2", "History"), table(["When", "What", ""], found.history.map(e => [when(e.at_ms), e.what, words(e.detail)]))];
}

async function fleet() {
  const found = await ask("fleet");
  return [make("h2", `${found.instances.length} instances`), table(
    ["Instance", "Version", "Build", "Time spent", "Jobs", "In flight", "Timeouts", "Lost results", "Last seen"],
    found.instances.map(one => [one.instance.slice(0, 12), one.version, one.build_id.slice(0, 12),
      (one.spent_ppm / 10000).toFixed(2) + "%", one.jobs, one.in_flight, one.timeouts, one.dropped, when(one.last_seen_ms)]))];
}

// How many races are known and how many are true, over time.
async function trends() {
  const found = await ask("trends");
  let known = 0, is_true = 0;
  const points = found.changes.map(change => {
    if (change.what === "found") known++;
    if (change.what === "verdict" && change.detail.startsWith("true_race")) is_true++;
    return [change.at_ms, known, is_true];
  });
  const parts = [make("h2", "Races over time"), make("p", `${known} found, ${is_true} verdicts of a true race`)];
  if (points.length < 2) return parts;
  const first = points[0][0], span = Math.max(1, points.at(-1)[0] - first), top = Math.max(known, is_true, 1);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 1000 300");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", parts[1].textContent);
  for (const [column, name] of [[1, "known"], [2, "true"]]) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("class", name);
    line.setAttribute("points", points.map(p => `${(p[0] - first) / span * 1000},${300 - p[column] / top * 290}`).join(" "));
    svg.append(line);
  }
  return parts.concat(svg);
}

async function go() {
  const [path, query] = (location.hash.slice(1) || "/races").split("?");
  try {
    const status = await ask("status");
    document.getElementById("program").textContent = status.program;
    document.getElementById("views").hidden = false;
    signin.hidden = true;
    const one = path.match(/^\/race\/(\d+)$/);
    const parts = one ? await race(one[1]) : path === "/fleet" ? await fleet() : path === "/trends" ? await trends() :
      await races(new URLSearchParams(query));
    view.replaceChildren(...parts);
    view.hidden = false;
  } catch (error) {
    if (signin.hidden) { view.replaceChildren(make("p", error.message, {role: "alert"})); view.hidden = false; }
  }
}

addEventListener("hashchange", go);
go();
