// The six daily actions, from the first page, by keyboard alone: three keys each, beside what is typed as a
// reason.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, skip, stage } from "../browser.js";

/** @import {Page} from "playwright-core" */

/** Presses keys one after the other. @param {Page} page @param {string[]} keys */
async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

/** @param {Page} page */
const focus = (page) =>
  page.evaluate(
    () => document.activeElement?.closest("tr")?.getAttribute("data-key") ?? document.activeElement?.tagName
  );

test(
  "what failed last night: the first row of the first page, and all of them two steps further",
  { skip },
  () =>
    stage({}, async ({ open }) => {
      const page = await open();
      await press(page, "j");
      assert.equal(await focus(page), "backup-db");
      assert.match(
        await page.locator("tr[data-key='backup-db']").innerText(),
        /Failed 3 times in a row: s3: 503 Slow Down/
      );
      await page.locator("a:has-text('What failed in the last 24 hours')").focus();
      await press(page, "Enter");
      await page.waitForSelector("h1:has-text('Runs')");
      await settled(page);
      const states = await page.locator("td.state").allInnerTexts();
      assert.ok(0 < states.length);
      for (const state of states) assert.match(state, /failed|timed out|dead letter|abandoned/);
      assert.equal(new URL(page.url()).searchParams.get("since"), "24h");
    })
);

test("run again: j, r, Enter", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open();
    await press(page, "j", "r");
    await page.waitForSelector("dialog[open] h2:has-text('Run backup-db now?')");
    await press(page, "Enter");
    await page.waitForSelector("#said:has-text('backup-db is asked to run')");
    await page.waitForSelector("dialog:not([open])", { state: "attached" });
    assert.equal(mock.house.jobs.get("backup-db")?.open.length, 1);
    assert.equal(await focus(page), "backup-db", "the focus is back in its row");
    // The same dialog sent twice is one run.
    const posts = mock.requests.filter((line) => line.startsWith("POST"));
    assert.deepEqual(posts, ["POST api/v1/jobs/backup-db/run"]);
  })
);

test("read its log: j, l", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open();
    await press(page, "j", "l");
    await page.waitForSelector(".log >> text=503 Slow Down");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Output");
    await page.goBack();
    await page.waitForSelector("h2:has-text('Needs attention')");
    await settled(page);
    assert.equal(await focus(page), "backup-db", "the way back leads to the row");
  })
);

test("pause one job with a reason: j, p, the reason, Enter", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open();
    await press(page, "j", "p");
    await page.waitForSelector("dialog[open] input[name=note]:focus");
    await page.keyboard.type("bucket is full; see OPS-7");
    await press(page, "Enter");
    await page.waitForSelector("#said:has-text('backup-db is paused')");
    assert.equal(mock.house.jobs.get("backup-db")?.pause?.note, "bucket is full; see OPS-7");
    await page.waitForSelector("tr[data-key='backup-db'] >> text=Resume");
    // Without a reason nothing is sent, as for one that runs.
    await press(page, "g", "j");
    await page.waitForSelector("tr[data-key='billing-close']");
    await press(page, "j", "j", "p");
    await page.waitForSelector("dialog[open] input[name=note]:focus");
    await press(page, "Enter");
    assert.equal(await page.locator("dialog[open]").count(), 1);
  })
);

test("what is next: it stands in the first sentence; g u shows the day", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open();
    assert.match(await page.locator(".summary").innerText(), /Next is \S+ (in \d+\s(s|m)|now)\./);
    // What has gone by is not next.
    const soon = page.locator("section:has(h2:has-text('Due within')) td.time");
    for (const text of await soon.allInnerTexts()) assert.doesNotMatch(text, /ago/);
    assert.ok(3 < (await soon.count()));
    await press(page, "g", "u");
    await page.waitForSelector(".lane");
    assert.match(await page.locator(".lead").innerText(), /\d+ jobs are due/);
  })
);

test("is it stuck: how long it runs stands beside how long it usually does", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open();
    const row = page
      .locator("section[data-key]:has(h2:has-text('Running')) tr, section:has(h2:has-text('Running')) tr", {
        hasText: "ci-nightly"
      })
      .first();
    assert.match((await row.innerText()).replaceAll("\u00a0", " "), /running\s+14 m\s+48 m/);
  })
);

test("rows are walked, picked and opened, and dialogs give the focus back", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open("?page=jobs");
    await press(page, "j", "j", "k", "x");
    assert.equal(await page.locator("#selection b").innerText(), "1 picked");
    await press(page, "j", "x");
    assert.equal(await page.locator("#selection b").innerText(), "2 picked");
    assert.equal(await focus(page), "billing-close");
    await press(page, "p", "Escape");
    await page.waitForSelector("dialog:not([open])", { state: "attached" });
    assert.equal(await focus(page), "billing-close");
    await press(page, "Enter");
    await page.waitForSelector("h1:has-text('billing-close')");
  })
);

test("/ searches, and letters are letters while somebody types", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open();
    await press(page, "/");
    await page.waitForSelector("form.filter input:focus");
    await page.keyboard.type("group:heavy back");
    await page.waitForURL(/group=heavy.*q=back/);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    assert.equal(await page.inputValue("form.filter input"), "group:heavy back");
    await page.reload();
    await settled(page);
    assert.equal(await page.locator("tbody tr").count(), 1, "the filter survives a reload");
  })
);

test("keys of one letter can be turned off", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open();
    await press(page, "?");
    await page.click("dialog input[name=keys]");
    await press(page, "Escape", "g", "j", "j", "r");
    assert.equal(new URL(page.url()).searchParams.get("page"), "now");
    assert.equal(await page.locator("dialog[open]").count(), 0);
  })
);

test("everything can be reached with the Tab key, and the focus is seen", { skip }, () =>
  stage({ rows: 5 }, async ({ open }) => {
    const page = await open("?page=jobs");
    const seen = [];
    for (let index = 0; index < 60; index += 1) {
      await press(page, "Tab");
      const [name, outline] = await page.evaluate(() => {
        const element = /** @type {HTMLElement} */ (document.activeElement);
        const name = element.getAttribute("aria-label") ?? element.innerText.replace(/\s+/g, " ").trim();
        return [name, element === document.body ? "none" : getComputedStyle(element).outlineStyle];
      });
      if (outline !== "none") seen.push(name);
    }
    for (const wanted of [
      "Skip to the page",
      "Now 5",
      "Server",
      "All 334",
      "Select all rows",
      "backup-db",
      "Log of backup-db@",
      "Run backup-db",
      "Pause backup-db",
      "More"
    ]) {
      assert.ok(
        seen.some((name) => name.startsWith(wanted)),
        `${wanted} is not among ${seen.join(", ")}`
      );
    }
  })
);
