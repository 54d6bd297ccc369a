// The hive's page: signing in, the list, the fleet, trends, and which view an address means. race.js has one race.
//
// Keys: "/" goes to the search field, j and k to the next and the previous race of the list.
import {ask, call, chart, choice, draw, facts, field, how_many, how_sure, make, SignedOut, table, when, words} from "/parts.js";
import {race_view} from "/race.js";

const view = document.getElementById("view");
const signin = document.getElementById("signin");
const views = document.getElementById("views");
const kPage = 100;

function show_signin() {
  view.hidden = views.hidden = true;
  signin.hidden = false;
  document.title = "Sign in · Deadheat hive";
  document.getElementById("token").focus();
}

signin.addEventListener("submit", async event => {
  event.preventDefault();
  const token = document.getElementById("token"), problem = document.getElementById("problem");
  problem.textContent = "";
  try {
    await call("/signin", {method: "POST", body: token.value});
    token.value = "";
    go();
  } catch (error) {
    problem.textContent = error instanceof SignedOut ? "This token does not hold: it is wrong, expired or revoked." : error.message;
  }
});

document.getElementById("signout").addEventListener("click", async () => {
  try {
    await call("/signout", {method: "POST"});
    show_signin();
  } catch (error) {
    view.replaceChildren(make("p", error.message, {role: "alert"}));
  }
});

function filter_form(parameters) {
  const filter = make("form", [
    field("Search", make("input", "", {id: "text", name: "text", type: "search", value: parameters.get("text") || ""})),
    field("Verdict", choice("verdict", [["", "all"], ["true_race", "true race"], ["unknown", "unknown"],
      ["likely_false_positive", "likely false positive"]], parameters.get("verdict") || "")),
    field("State", choice("state", [["", "all"], ["open", "open"], ["fixed", "fixed"], ["stale", "stale"],
      ["suppressed", "suppressed"]], parameters.get("state") || "")),
    field("Sort by", choice("sort", [["verdict", "verdict"], ["last_seen", "last seen"], ["confidence", "confidence"],
      ["number", "number"]], parameters.get("sort") || "verdict")),
    make("button", "Show", {type: "submit", class: "main"})], {class: "filter", role: "search"});
  filter.addEventListener("submit", event => {
    event.preventDefault();
    const chosen = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value));
    location.hash = "#/races?" + chosen;
  });
  return filter;
}

async function races(parameters) {
  const offset = Number(parameters.get("offset") || 0);
  const query = new URLSearchParams(parameters);
  query.set("limit", kPage);
  const [list, status] = await Promise.all([ask("findings?" + query), ask("status?brief=1")]);
  const rows = list.races.map(race => [
    make("a", race.title, {href: "#/race/" + race.number, class: "row"}), how_sure(race),
    race.consequence === "none" ? "" : words(race.consequence), race.confidence.toFixed(3), race.where,
    race.instances, race.owner || (race.state === "open" ? "" : race.state), when(race.last_seen_ms)]);
  const pages = make("nav", [], {"aria-label": "Pages", class: "pages"});
  query.delete("limit");
  for (const [text, at] of [["Previous", Math.max(0, offset - kPage)], ["Next", offset + kPage]]) {
    if (at === offset || at >= list.total) continue;
    query.set("offset", at);
    pages.append(make("a", text, {href: "#/races?" + query}));
  }
  if (pages.childElementCount && rows.length) pages.prepend(`${offset + 1} to ${offset + rows.length} of ${list.total.toLocaleString("en")}`);
  return [make("h1", how_many(list.total, "race"), {tabindex: "-1"}),
    facts([[status.proved, "proved", true], [status.true_races - status.proved, "claimed", true], [status.unknown, "unknown"],
      [status.likely_false, "likely false"], [status.instances, "instances"]]),
    filter_form(parameters),
    list.total ? table("Races", ["What", "Verdict", "Consequence", "Confidence", "Where", "Instances", "Owner, state", "Last seen"], rows) :
      make("p", status.races ? "No race fits." : "No race yet: `deadheat hive push findings.json` adds what any verb found."), pages];
}

async function fleet() {
  const [found, status] = await Promise.all([ask("fleet"), ask("status?brief=1")]);
  const share = ppm => (ppm / 10000).toFixed(2) + "%";
  return [make("h1", how_many(status.instances, "instance"), {tabindex: "-1"}),
    facts([[status.jobs_in_flight, "jobs in flight"], [found.instances.reduce((sum, one) => sum + one.timeouts, 0), "timeouts"],
      [found.instances.reduce((sum, one) => sum + one.dropped, 0), "lost results", true]]),
    status.instances > found.instances.length ? make("p", `The ${found.instances.length} seen last.`) : "",
    table("Instances", ["Instance", "Version", "Build", "Time spent", "Budget", "Jobs", "In flight", "Timeouts", "Lost", "Last seen"],
      found.instances.map(one => [make("code", one.instance.slice(0, 12)), one.version, make("code", one.build_id.slice(0, 12)),
        make("span", share(one.spent_ppm), one.budget_ppm && one.spent_ppm > one.budget_ppm ? {class: "over"} : {}),
        one.budget_ppm ? share(one.budget_ppm) : "none", one.jobs, one.in_flight, one.timeouts, one.dropped, when(one.last_seen_ms)]))];
}

async function trends() {
  const [{points}, {versions}] = await Promise.all([ask("trends"), ask("versions")]);
  const last = points.at(-1) || {open: 0, true_races: 0};
  const parts = [make("h1", "Races over time", {tabindex: "-1"}),
    facts([[last.open, "open now"], [last.true_races, "true now", true]])];
  if (!points.length) return parts;
  const first = points[0].at_ms, span = Math.max(1, last.at_ms - first), top = Math.max(1, ...points.map(p => Math.max(p.open, p.true_races)));
  parts.push(chart(`${last.open} open races, ${last.true_races} true`, first, first + span, top, (width, height) =>
    [["open", "against"], ["true_races", "race"]].map(([key, look]) => {
      let path = "";
      for (const point of points) {
        const x = (point.at_ms - first) / span * width, y = height - point[key] / top * height;
        path += path ? `H${x}V${y}` : `M${x} ${y}`;
      }
      return draw("path", {class: "line " + look, d: path + `H${width}`});
    }), [["against", "open"], ["race", "true"]]));
  if (versions.length) parts.push(make("h2", "Versions"), table("Versions",
    ["Version", "Listed", "New", "Fixed", "Stale", "Reopened", "Open after it", "True after it", "Scanned"],
    versions.slice(-100).reverse().map(one => [one.version, one.listed, one.added, one.fixed, one.stale, one.reopened, one.open,
      one.true_races, when(one.at_ms)])));
  return parts;
}

let latest = 0;

async function go() {
  const mine = ++latest;  // an answer that comes after somebody went on is thrown away
  const [path, query] = (location.hash.slice(1) || "/races").split("?");
  if (!path.startsWith("/")) return;
  try {
    const status = await ask("status?brief=1");
    const program = document.getElementById("program");
    program.textContent = status.program;
    const one = path.match(/^\/race\/(\d+)$/);
    const parts = one ? await race_view(one[1], go) : path === "/fleet" ? await fleet() : path === "/trends" ? await trends() :
      await races(new URLSearchParams(query));
    if (mine !== latest) return;
    view.replaceChildren(...parts.filter(part => part !== ""));
    const heading = view.querySelector("h1");
    document.title = heading.textContent.slice(0, 120) + " · " + status.program + " · Deadheat hive";
    document.getElementById("said").textContent = heading.textContent;
    for (const link of views.querySelectorAll("a")) {
      link.removeAttribute("aria-current");
      if (path.startsWith(link.hash.slice(1).replace(/s$/, ""))) link.setAttribute("aria-current", "page");
    }
    signin.hidden = true;
    view.hidden = views.hidden = false;
    heading.focus({preventScroll: true});
    scrollTo(0, 0);
  } catch (error) {
    if (mine !== latest) return;
    if (error instanceof SignedOut) return show_signin();
    view.replaceChildren(make("p", error.message, {role: "alert"}));
    view.hidden = false;
  }
}

document.getElementById("skip").addEventListener("click", event => {
  event.preventDefault();
  document.getElementById("main").focus();
});

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === "/") {
    const search = document.getElementById("text");
    if (search) { event.preventDefault(); search.focus(); }
  }
  if (event.key === "j" || event.key === "k") {
    const rows = [...view.querySelectorAll("a.row")], at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? 0 : at + (event.key === "j" ? 1 : -1)];
    if (next) next.focus();
  }
});

addEventListener("hashchange", go);
go();
