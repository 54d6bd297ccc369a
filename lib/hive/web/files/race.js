// One race: what reports say about it, its evidence over time, its history, and what people say.
import {ask, chart, choice, draw, field, full_time, how_many, how_sure, make, table, when, words} from "/parts.js";

const kShown = 200;

// The inside of a report comes from the hive's report writer, which escaped all text. It is parsed without running anything, and
// the page's policy allows no script but the hive's own files.
function report(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const scroll of parsed.querySelectorAll(".scroll")) {
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Interleaving");
  }
  for (const code of parsed.querySelectorAll("pre.code")) {
    code.setAttribute("tabindex", "0");
    code.setAttribute("role", "region");
    code.setAttribute("aria-label", "Source");
  }
  return make("div", [...parsed.body.childNodes].map(node => document.adoptNode(node)), {class: "card body"});
}

const groups = {race: "race", no_race: "against", timeout: "timeout", not_seen: "not-seen"};

function over_time(counts) {
  if (!counts.length) return make("p", "None yet.");
  const times = [...new Set(counts.map(one => one.at_ms))].sort((a, b) => a - b);
  const sums = times.map(at => counts.filter(one => one.at_ms === at).reduce((sum, one) => sum + one.count, 0));
  const first = times[0], last = times.at(-1), top = Math.max(...sums);
  return chart("Evidence over time", first, last, top, (width, height) => {
    const bar = Math.max(4, Math.min(width / 42, 20)), parts = [];
    for (const at of times) {
      let y = height;
      for (const one of counts.filter(count => count.at_ms === at)) {
        const size = one.count / top * height;
        y -= size;
        parts.push(draw("rect", {class: groups[one.outcome] || "timeout", y, width: bar, height: size,
          x: last > first ? (at - first) / (last - first) * (width - bar) : 0},
          draw("title", {}, `${full_time(at)}: ${one.count} ${words(one.outcome)}`)));
      }
    }
    return parts;
  }, [["race", "race"], ["against", "no race"], ["timeout", "timeout, other"], ["not-seen", "not seen"]]);
}

function people(number, race, again) {
  const form = make("form", [
    field("Comment", make("textarea", "", {id: "comment", rows: "3", maxlength: "10000"})),
    make("div", [
      field("Owner", make("input", "", {id: "owner", value: race.owner, maxlength: "256", autocomplete: "off"})),
      field("State", choice("state", [["open", "open"], ["fixed", "fixed"], ["stale", "stale"], ["suppressed", "suppressed"]], race.state)),
      field("Reason", make("input", "", {id: "reason", maxlength: "10000", autocomplete: "off"})),
      field("For days (0: no end)", make("input", "", {id: "days", type: "number", min: "0", max: "36500", value: "0"}))],
      {class: "filter"}),
    make("button", "Save", {type: "submit", class: "main"}), make("p", "", {role: "alert"})], {class: "card", id: "people"});
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const value = id => form.querySelector("#" + id).value.trim();
    const edit = {};
    if (value("comment")) edit.comment = value("comment");
    if (value("owner") !== race.owner) edit.owner = value("owner");
    if (value("state") !== race.state || value("reason"))
      Object.assign(edit, {state: value("state"), reason: value("reason"), days: Number(value("days"))});
    try {
      if (Object.keys(edit).length) await ask("findings/" + number, edit);
      await again();
    } catch (error) {
      form.querySelector("[role=alert]").textContent = error.message;
    }
  });
  return form;
}

export async function race_view(number, again) {
  const found = await ask("findings/" + number);
  const race = found.race, evidence = found.findings.findings[0].evidence || [];
  const state = race.state === "open" ? "" : ` · ${race.state}${found.reason ? ": " + found.reason : ""}` +
    (found.until_ms ? ` until ${full_time(found.until_ms)}` : "");
  return [
    make("p", make("a", "All races", {href: "#/races"}), {class: "crumb"}),
    make("h1", race.title, {tabindex: "-1"}),
    make("p", [how_sure(race), race.consequence === "none" ? "" : make("span", words(race.consequence), {class: "badge harmful"}),
      `confidence ${race.confidence.toFixed(3)} · ${how_many(race.instances, "instance")} · first seen `, when(race.first_seen_ms), ", last ",
      when(race.last_seen_ms), race.owner ? ` · owner ${race.owner}` : "", state, " · ", make("code", race.id)], {class: "under"}),
    found.html ? report(found.html) : make("pre", found.text, {tabindex: "0"}),
    make("h2", "Evidence over time"), over_time(found.over_time),
    make("h2", "Who said what"),
    evidence.length > kShown ? make("p", `The first ${kShown} of ${evidence.length}; export has all.`) : null,
    table("Evidence", ["Said by", "Outcome", "Proof", "Order"], evidence.slice(0, kShown).map(e =>
      [e.source || "", words(e.outcome || ""), words(e.proof || ""), e.order || ""])),
    make("h2", "History"),
    make("ol", found.history.map(event => make("li", [make("b", event.what), " ",
      event.what === "verdict" ? words(event.detail) : event.detail, make("span", [event.who, event.who ? ", " : "", when(event.at_ms)])])),
      {class: "history"}),
    make("h2", "Comment, assign, close"), people(number, race, again)].filter(part => part !== null);
}
