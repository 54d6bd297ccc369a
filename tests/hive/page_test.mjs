// node page_test.mjs URL TOKEN FOLDER CHROMIUM: see page_test.py. Waits are for conditions; each has Playwright's time limit.
import assert from "node:assert/strict";
import {createRequire} from "node:module";
import path from "node:path";

const [url, token, folder, executablePath] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(folder), "x.js"));
const {chromium} = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const browser = await chromium.launch({executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 60_000});
const problems = [];

async function open(options) {
  const context = await browser.newContext({bypassCSP: false, reducedMotion: "reduce", ...options});
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on("pageerror", error => problems.push("script: " + error));
  page.on("console", message => {
    if (message.type() === "error" && !/status of 40[01]|ERR_INTERNET_DISCONNECTED/.test(message.text())) problems.push("console: " + message.text());
  });
  page.on("dialog", dialog => { problems.push("dialog: " + dialog.message()); dialog.dismiss(); });
  page.on("request", request => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push("loads " + request.url()); });
  return page;
}

const shot = (page, name, options) => page.screenshot({path: path.join(folder, name + ".png"), ...options});
const heading = (page, text) => page.waitForFunction(words => document.querySelector("#view:not([hidden]) h1")?.textContent.includes(words), text)
  .catch(async error => { throw new Error(`no heading "${text}" but "${await page.textContent("#view h1")}" at ${page.url()}`, {cause: error}); });

async function sign_in(page) {
  await page.goto(url + "/");
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
  await heading(page, "races");
}

// No serious finding in this state of the page, whatever state it is.
async function usable(page, where) {
  await page.evaluate(await import("node:fs").then(fs => fs.readFileSync(axe, "utf8")));
  const result = await page.evaluate(() => globalThis.axe.run(document, {resultTypes: ["violations"]}));
  const serious = result.violations.filter(one => one.impact === "serious" || one.impact === "critical");
  for (const one of serious) problems.push(`axe, ${where}: ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + " " + (node.any[0]?.message || "")).join(" | ")}`);
}

async function wide(page) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `the page is ${over} pixels wider than its window`);
}

async function signing_in() {
  const page = await open();
  await page.goto(url + "/#/race/1");
  await page.waitForSelector("#signin:not([hidden])");
  await usable(page, "sign-in");
  await shot(page, "signin");
  await page.fill("#token", "shop:wrong:secret");
  await page.click("#signin button");
  await page.waitForFunction(() => document.getElementById("problem").textContent !== "");
  await page.fill("#token", token);
  await page.click("#signin button");
  await page.waitForSelector("#view:not([hidden]) .picture", {}); // the deep link holds
  await page.click("#signout");
  await page.waitForSelector("#signin:not([hidden])");
  await page.reload();
  await page.waitForSelector("#signin:not([hidden])");
  await page.context().close();
}

async function list(page) {
  await sign_in(page);
  const total = await page.textContent("#view h1");
  assert.equal(await page.locator("a.row").count(), 100);
  assert.match(await page.locator("tbody tr").first().textContent(), /made to happen|observed/, "what is proved comes first");
  await usable(page, "list");
  await shot(page, "list");
  // By keyboard: search, next race, open it, back.
  await page.keyboard.press("/");
  await page.keyboard.type("counter_14");
  await page.keyboard.press("Enter");
  await heading(page, "11 races"); // 14 and 140 to 149
  assert.ok(page.url().includes("text=counter_14"));
  await page.goBack();
  await heading(page, total);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#people");
  await page.goto(url + "/#/races?verdict=true_race&sort=confidence");
  await page.waitForFunction(() => !document.querySelector("#people") && document.querySelectorAll("a.row").length < 100 &&
    document.querySelectorAll("a.row").length > 1);
  assert.equal(await page.inputValue("#verdict"), "true_race", "a deep link fills the filter");
  const confidences = await page.locator("td[data-head=Confidence]").allTextContents();
  assert.deepEqual(confidences, [...confidences].sort().reverse());
  await page.goto(url + "/#/races?offset=100");
  await page.waitForFunction(() => /101 to \d+ of \d+Previous$/.test(document.querySelector(".pages")?.textContent || ""));
  await page.goto(url + "/#/races?text=onerror");
  await page.waitForFunction(() => document.querySelector("#view:not([hidden]) h1")?.textContent === "1 race");
  assert.match(await page.textContent("tbody"), /<img src=x onerror=alert\(1\)>/, "what looks like markup is text");
  await page.click("a.row");
  await page.waitForSelector("#people");
  assert.equal(await page.locator("img").count(), 0);
}

async function one_race(page) {
  await page.goto(url + "/#/races?sort=verdict");
  await heading(page, "races");
  await page.locator("a.row").first().click();
  await page.waitForSelector("svg.picture");
  assert.equal(await page.locator(".side").count(), 2);
  assert.ok(await page.locator(".stack li").count() >= 2);
  assert.ok(await page.locator(".code .here").count() >= 1);
  await page.waitForSelector(".chart rect");
  await usable(page, "race");
  await shot(page, "race", {fullPage: true});
  await shot(page, "race-top", {fullPage: true, clip: {x: 0, y: 0, width: 1200, height: 1460}}); // docs/images/hive-race.png
  await page.fill("#comment", "<b>looked at it</b>\nsecond line");
  await page.fill("#owner", "ann");
  await page.click("#people button");
  await page.waitForFunction(() => document.querySelector(".history").textContent.includes("<b>looked at it</b>"));
  assert.equal(await page.locator(".history li b", {hasText: "looked"}).count(), 0);
  assert.match(await page.textContent(".under"), /owner ann/);
  await page.selectOption("#state", "suppressed");
  await page.click("#people button");
  await page.waitForFunction(() => document.querySelector("#people [role=alert]").textContent.includes("reason"));
  await page.fill("#reason", "known, next release");
  await page.fill("#days", "30");
  await page.click("#people button");
  await page.waitForFunction(() => document.querySelector(".under").textContent.includes("suppressed: known, next release until"));
  await page.goto(url + "/#/races?state=suppressed");
  await page.waitForFunction(() => document.querySelector("#view:not([hidden]) h1")?.textContent === "1 race");
}

// Who goes on before an answer came sees what was asked for last; a hive that is away is said to be.
async function slow_and_absent(page) {
  await page.route("**/api/v1/findings?*", async route => {
    await page.waitForSelector("h1:has-text('6 instances')");
    await route.continue();
  });
  await page.goto(url + "/#/races?text=slow");
  const late = page.waitForResponse(/text=slow/);
  await page.goto(url + "/#/fleet");
  await heading(page, "6 instances");
  await late;
  await page.unrouteAll({behavior: "wait"});
  await page.evaluate(() => new Promise(done => setTimeout(done)));
  await heading(page, "6 instances");
  assert.equal(await page.getAttribute("#views a[aria-current]", "aria-current"), "page");
  await page.context().setOffline(true);
  await page.evaluate(() => { location.hash = "#/trends"; });
  await page.waitForSelector("text=The hive does not answer");
  await page.context().setOffline(false);
}

async function fleet_and_trends(page) {
  await page.goto(url + "/#/fleet");
  await heading(page, "6 instances");
  assert.match(await page.textContent("tbody"), /machine0/);
  assert.ok(await page.locator(".over").count() >= 1, "who spends more than the budget is marked");
  await usable(page, "fleet");
  await shot(page, "fleet");
  await page.goto(url + "/#/trends");
  await page.waitForSelector(".chart .line.race");
  await usable(page, "trends");
  await shot(page, "trends");
}

try {
  await signing_in();
  const page = await open({viewport: {width: 1200, height: 800}});
  await list(page);
  await one_race(page);
  await fleet_and_trends(page);
  await slow_and_absent(page);
  for (const [name, options] of [["narrow", {viewport: {width: 380, height: 780}}], ["dark", {viewport: {width: 1200, height: 800}, colorScheme: "dark"}]]) {
    const other = await open(options);
    await sign_in(other);
    await wide(other);
    await usable(other, name + " list");
    await shot(other, name + "-list");
    await other.goto(url + "/#/race/1");
    await other.waitForSelector("svg.picture");
    await wide(other);
    await usable(other, name + " race");
    await shot(other, name + "-race", {fullPage: true});
    for (const view of ["fleet", "trends"]) {
      await other.goto(`${url}/#/${view}`);
      await heading(other, view === "fleet" ? "instances" : "over time");
      await wide(other);
    }
  }
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
