// node seen_test.mjs URL TOKEN FOLDER CHROMIUM NUMBER...: signs in with a browser; these races are shown as proved, with a picture.
import assert from "node:assert/strict";
import {createRequire} from "node:module";
import path from "node:path";

const [url, token, folder, executablePath, ...numbers] = process.argv.slice(2);
const {chromium} = createRequire(path.join(path.resolve(folder), "x.js"))("playwright-core");
const browser = await chromium.launch({executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 60_000});
try {
  const context = await browser.newContext({ignoreHTTPSErrors: true}); // the test's own authority
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(url + "/");
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
  for (const number of numbers) {
    await page.waitForSelector(`a.row[href="#/race/${number}"]`);
    const row = page.locator("tbody tr", {has: page.locator(`a.row[href="#/race/${number}"]`)});
    assert.match(await row.textContent(), /made to happen|observed/, "of race " + number);
  }
  for (const number of numbers) {
    await page.goto(`${url}/#/race/${number}`);
    await page.waitForFunction(() => document.querySelectorAll(".side").length === 2);
  }
} finally {
  await browser.close();
}
