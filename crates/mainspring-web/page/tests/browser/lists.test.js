// What lists say: where their links lead, what their filters take, and what a row leaves out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, skip, stage } from "../browser.js";

/** @import {Page} from "playwright-core" */

/** The row of a table. @param {Page} page @param {string} caption @param {string} text */
const rowOf = (page, caption, text) =>
  page.locator(`[data-key="${caption}"] tbody tr`, { hasText: text }).first();

/** The field of the filter. */
const FIELD = "form.filter input";

test("what a person asked for is found by its actor, also as the address wrote it back", { skip }, () =>
  stage({}, async ({ mock, open }) => {
    const count = mock.house.audit.filter(({ actor }) => actor === "uid 0").length;
    const page = await open("?page=audit");
    const found = () =>
      page.waitForFunction((count) => document.querySelectorAll("tbody tr").length === count, count);
    await page.fill(FIELD, 'actor:"uid 0"');
    await found();
    assert.equal(new URL(page.url()).searchParams.get("actor"), "uid 0");
    await page.reload();
    await settled(page);
    assert.equal(await page.inputValue(FIELD), 'actor:"uid 0"');
    await page.press(FIELD, "Enter");
    await settled(page);
    await found();
  })
);

test(
  "a wrong word in a filter leaves the field where it is, and is answered with the right ones",
  { skip },
  () =>
    stage({}, async ({ open, show }) => {
      const page = await open("?page=runs");
      const cases = /** @type {const} */ ([
        [
          "runs",
          "state:timed",
          'There is no state "timed", but scheduled, queued, .*timed out, .*dead letter\\.'
        ],
        ["runs", "cause:hand", 'There is no cause "hand", but schedule, .*by hand, '],
        ["runs", "since:01:40", "since: takes 90m, 24h, 7d or a time such as 2026-11-21T03:00\\."],
        ["jobs", "state:failed", 'There is no state "failed", but active, running, failing, '],
        ["audit", "since:soon", "since: takes 90m"]
      ]);
      for (const [name, text, answer] of cases) {
        await show(page, `?page=${name}`);
        await page.focus(FIELD);
        await page.keyboard.type(text);
        await page.waitForSelector("main [role=alert]");
        assert.match(await page.locator("main [role=alert]").innerText(), new RegExp(answer));
        assert.equal(await page.locator("button:has-text('Try again')").count(), 0, "it would ask the same");
        assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("name")), "q", text);
        await page.keyboard.press("Control+a");
        await page.keyboard.press("Delete");
        await page.waitForSelector("tbody tr");
      }
      await show(page, "?page=runs");
      await page.fill(FIELD, "state:dead letter,timed out");
      await page.waitForURL(/state=dead%2Ctimed_out/);
      await settled(page);
      for (const text of await page.locator("td.state").allInnerTexts())
        assert.match(text, /dead letter|timed out/);
    })
);

test("the word that a job's state is shown by chooses it", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open("?page=jobs&state=failing");
    assert.match(await rowOf(page, "Jobs", "backup-db").locator("td.state").innerText(), /failing/);
  })
);

test("on a narrow page a row says why a run did not start, and that a job is not armed", { skip }, () =>
  stage({ browser: { viewport: { width: 380, height: 860 } } }, async ({ mock, open, show }) => {
    const run = mock.house.jobs.get("warm-cache")?.runs.at(-1);
    assert.ok(run);
    const outcome = "not started: cannot execute /nonexistent/prog";
    Object.assign(run, {
      state: "failed",
      outcome,
      outcome_code: "not_started",
      last_line: null,
      reason: ""
    });
    const page = await open("?page=runs&job=warm-cache");
    const cell = page.locator(`tr[data-key="${run.run}"] [data-label=Result]`);
    assert.equal((await cell.innerText()).trim(), outcome);
    assert.ok(await cell.isVisible());
    await show(page, "?page=jobs&q=stale-agenda");
    assert.match(await page.locator("[data-label=Next]").innerText(), /not armed/);
    assert.ok(await page.locator("[data-label=Next]").isVisible());
  })
);

test("a run that is asked for later is shown with when it will start, and can be cancelled", { skip }, () =>
  stage({ rows: 5 }, async ({ mock, open, show }) => {
    const found = mock.house.start("warm-cache", "2026-10-24T22:14:03Z");
    assert.ok(found);
    Object.assign(found.run, { state: "scheduled", started: null, attempt: 0, due: "2026-10-24T22:44:00Z" });
    mock.house.dress(found.run);
    const page = await open();
    const row = `tr[data-key="${found.run.run}"]`;
    for (const query of ["now", "upcoming", "runs&job=warm-cache", "job&job=warm-cache"]) {
      await show(page, `?page=${query}`);
      assert.match(await page.locator(`${row} time`).first().innerText(), /00:44/, query);
    }
    for (const query of ["upcoming", "runs&state=scheduled"]) {
      await show(page, `?page=${query}`);
      await page.click(`${row} [data-do=cancel]`);
      await page.waitForSelector("dialog:has-text('Cancel this run of warm-cache?')");
    }
    await page.click("dialog button.main");
    await page.waitForSelector("#said:has-text('is asked to end')");
    assert.equal(found.run.state, "cancelled");
  })
);

test("a job that runs once has no link to a page of a job, which is nowhere", { skip }, () =>
  stage({ rows: 5 }, async ({ mock, open, show }) => {
    const dead = mock.house.runs().find(({ state }) => state === "dead");
    assert.ok(dead);
    Object.assign(dead, { job: "dd", cause: "once" });
    mock.house.record("cancel", "tea");
    const page = await open();
    const soon = rowOf(page, "Jobs that are due within the hour", "tea");
    assert.equal(await soon.locator("a").count(), 0);
    assert.equal(await soon.getAttribute("data-job"), null, "and no key acts on it");
    await show(page, "?page=dead&job=dd");
    const link = rowOf(page, "By job and last line", "dd").locator("a");
    assert.match((await link.getAttribute("href")) ?? "", /^\?page=run&/);
    await link.click();
    await page.waitForSelector("h1:has-text('dd')");
    await settled(page);
    assert.equal(await page.locator("h1 a").count(), 0);
    await show(page, "?page=audit&job=tea");
    assert.equal(
      await rowOf(page, "What people asked for, the newest first", "cancel tea").locator("a").count(),
      0
    );
  })
);

test(
  "a job's runs are counted as they are listed, and one without times is not said to be done",
  { skip },
  () =>
    stage({}, async ({ mock, open }) => {
      const model = mock.house.jobs.get("warm-cache");
      assert.ok(model);
      model.runs.splice(3);
      const page = await open();
      await page.route("**/jobs/warm-cache/next?*", (route) =>
        route.fulfill({ json: { items: [], is_cut: false } })
      );
      await page.goto(page.url().replace(/\?.*/, "?page=job&job=warm-cache"));
      await settled(page);
      assert.equal(await page.locator("h2:has(a:text-is('Runs'))").innerText(), "Runs3");
      const next = page.locator("section:has(> h2:text-is('Next'))");
      assert.match(await next.innerText(), /It has no time of its own: see Rules\./);
    })
);
