// Events on the server are seen, and move nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PATIENCE_MS, settled, skip, stage } from "../browser.js";

/** @import {Page} from "playwright-core" */
/** @import {Mock} from "../../mock/serve.js" */

/** @param {Page} page */
const keys = (page) =>
  page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key")));

/** @param {() => boolean | Promise<boolean>} is @param {string} what */
async function until(is, what) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await is())) {
    assert.ok(Date.now() < end, `in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** @param {Mock} mock @param {string} job */
function begin(mock, job) {
  mock.moved += 1_000;
  const started = mock.house.start(job, new Date(mock.now()).toISOString());
  assert.ok(started);
  return started.run;
}

/** Makes a page think that it is hidden, as a tab in the background is.
 * @param {Page} page @param {boolean} isHidden */
async function hide(page, isHidden) {
  await page.evaluate((isHidden) => {
    Object.defineProperty(document, "visibilityState", {
      configurable: true,
      get: () => (isHidden ? "hidden" : "visible")
    });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

test("rows change in place, and new ones wait behind a button", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=runs&state=running,succeeded&job=backup-db");
    const before = await keys(page);
    const run = begin(mock, "backup-db");
    await page.waitForSelector(".news:has-text('1 new')");
    assert.deepEqual(await keys(page), before, "nothing has moved");
    await page.keyboard.press(".");
    await page.waitForSelector(`tr[data-key="${run.run}"] >> text=running`);
    const shown = await keys(page);
    await page.locator(`tr[data-key="${run.run}"] .open`).focus();
    mock.end(run, "succeeded");
    await page.waitForSelector(`tr[data-key="${run.run}"] >> text=succeeded`);
    assert.deepEqual(await keys(page), shown, "the row stays where it is");
    assert.equal(
      await page.evaluate(() => document.activeElement?.closest("tr")?.getAttribute("data-key")),
      run.run,
      "and keeps the focus"
    );
  })
);

test("how far a run is changes in place, and goes with its end", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=runs&job=export-ledger");
    const run = mock.house.jobs.get("export-ledger")?.open[0];
    assert.ok(run);
    const row = `tr[data-key="${run.run}"]`;
    await page.waitForSelector(`${row} >> text=212 of 390`);
    for (const [progress, text] of /** @type {const} */ ([
      [{ done: 1_213, of: 3_900 }, "1,213 of 3,900"],
      [{ done: 7 }, "7 done"]
    ])) {
      run.progress = progress;
      mock.house.emit("run.changed", { run: run.run, job: run.job, state: "running" });
      await page.waitForSelector(`${row} >> text=${text}`);
    }
    mock.end(run, "succeeded");
    await page.waitForSelector(`${row} >> text=succeeded`);
    assert.equal(await page.locator(`${row} >> text=7 done`).count(), 0);
  })
);

test("eight tabs have one stream, and pass it on", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const tabs = [];
    for (let index = 0; index < 8; index += 1) tabs.push(await open("?page=runs&job=backup-db"));
    await until(() => mock.streams.size === 1, "one stream");
    for (const tab of tabs) await tab.waitForSelector("#state.live");
    const run = begin(mock, "backup-db");
    for (const tab of tabs) await tab.waitForSelector(".news:has-text('1 new')");
    assert.equal(mock.requests.filter((line) => line.startsWith("GET api/v1/events")).length, 1);
    // The page that holds the stream leaves; another one takes over, and continues where it was.
    const leader = tabs.findIndex((_, index) => index === 0);
    await tabs[leader]?.close();
    await until(
      () =>
        mock.requests.filter((line) => line.startsWith("GET api/v1/events")).length === 2 &&
        mock.streams.size === 1,
      "another stream"
    );
    assert.match(
      mock.requests.findLast((line) => line.startsWith("GET api/v1/events")) ?? "",
      /after=7\.\d+$/
    );
    mock.end(run, "failed");
    for (const tab of tabs.slice(1)) {
      await tab.keyboard.press(".");
      await tab.waitForSelector(`tr[data-key="${run.run}"] >> text=failed`);
    }
    assert.equal(mock.streams.size, 1);
  })
);

test("a slow answer is waited for, however much happens meanwhile", { skip }, () =>
  stage({}, async ({ url, context, mock }) => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${url}?page=runs&job=backup-db`);
    await page.waitForSelector("#state.live");
    await settled(page);
    const requestCount = () => mock.requests.filter((line) => line.startsWith("GET api/v1/runs")).length;
    let release = () => {};
    mock.gate = new Promise((resolve) => (release = resolve));
    const first = requestCount();
    const run = begin(mock, "backup-db");
    await until(async () => {
      await page.clock.runFor(100);
      return first < requestCount();
    }, "a request");
    for (let index = 0; index < 7; index += 1) {
      mock.emit("run.changed", { run: run.run, job: run.job, state: "running" });
      await page.clock.runFor(1_000);
    }
    assert.equal(requestCount(), first + 1, "one request waits, and no other has taken its place");
    release();
    await page.waitForSelector(".news:has-text('1 new')");
    // What happened meanwhile is asked for once more.
    await until(async () => {
      await page.clock.runFor(1_000);
      return requestCount() === first + 2;
    }, "another request");
  })
);

test("hidden pages have no stream, and are up to date when they are seen again", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=runs&job=backup-db");
    await page.waitForSelector("#state.live");
    await hide(page, true);
    await until(() => mock.streams.size === 0, "no stream");
    begin(mock, "backup-db");
    await hide(page, false);
    await page.waitForSelector(".news:has-text('1 new')");
    await until(() => mock.streams.size === 1, "a stream");
  })
);

test("a stream that has died in silence is opened again", { skip }, () =>
  stage({}, async ({ url, context, mock }) => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${url}?page=audit`);
    await page.waitForSelector("#state.live");
    const streams = () => mock.requests.filter((line) => line.startsWith("GET api/v1/events")).length;
    assert.equal(streams(), 1);
    await page.clock.runFor(44_000);
    assert.equal(streams(), 1);
    await until(async () => {
      await page.clock.runFor(1_000);
      return streams() === 2;
    }, "another stream");
    await page.waitForSelector("#state.live");
  })
);

test("without a stream the page asks by itself, and says so", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    mock.deaf = true;
    const page = await open("?page=runs&job=backup-db");
    await page.waitForSelector("#state:has-text('Not live: the page asks every 15 seconds.')");
    begin(mock, "backup-db");
    await page.waitForSelector(".news:has-text('1 new')");
    mock.deaf = false;
    await page.waitForSelector("#state.live");
  })
);

test("when the server is started again under the page, it says so and heals", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=runs&job=backup-db");
    await page.waitForSelector("#state.live");
    const before = await keys(page);
    await mock.stop();
    await page.waitForSelector("#state:has-text('The server is ending')");
    assert.deepEqual(await keys(page), before, "what was known stays");
    mock.house.epoch += 1;
    mock.ring = [];
    mock.sequence = 0;
    begin(mock, "backup-db");
    mock.ring = [];
    await mock.start();
    await page.waitForSelector("#state.live");
    await page.waitForSelector(".news:has-text('1 new')");
  })
);

test("a server with a newer page says so, and the page offers to load it", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=audit");
    await page.waitForSelector("#state.live");
    await mock.stop();
    await page.waitForSelector("#state:has-text('The server is ending')");
    mock.hash = "0123456789ab";
    // The page asks for the status before it has a stream again.
    mock.deaf = true;
    await mock.start();
    await page.waitForSelector("#state:has-text('Not live')");
    mock.deaf = false;
    await page.waitForSelector("#said:has-text('The server has a newer page.')");
    await page.click("#said a");
    await page.waitForSelector("script[src='assets/0123456789ab/start.js']", { state: "attached" });
    await page.waitForSelector("h1:has-text('Audit')");
  })
);

test("an answer that fails leaves the page as it is; one that is asked for says what to do", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=jobs");
    const before = await keys(page);
    mock.failing = 503;
    mock.emit("job.changed", { job: "backup-db" });
    await page.waitForSelector("#state.down");
    assert.deepEqual(await keys(page), before);
    mock.failing = 0;
    await page.waitForSelector("#state.live");
    mock.failing = 503;
    await page.click("#nav a[href='?page=audit']");
    await page.waitForSelector("[role=alert]:has-text('The store does not answer. Try again in a moment.')");
    mock.failing = 0;
    await page.click("button:has-text('Try again')");
    await page.waitForSelector("h1:has-text('Audit')");
  })
);

test("a log shows its last lines, earlier ones on request, and follows to the end", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const run = mock.house.jobs.get("ci-nightly")?.open[0];
    assert.ok(run);
    const page = await open(`?page=run&run=${encodeURIComponent(run.run)}`);
    await page.waitForSelector(".log >> text=part_1799");
    assert.equal(await page.locator(".log > div").count(), 500);
    await until(() => mock.followers.get(run.run)?.size === 1, "a follower");
    mock.write(run, "\u001b[31mnew line\u001b[0m one");
    await page.waitForSelector(".log .a1:has-text('new line')");
    const isAtEnd = () =>
      page.locator(".log").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 4);
    assert.ok(await isAtEnd(), "it follows");
    await page.click("button:has-text('Earlier lines')");
    await page.waitForFunction(() => 1_000 < document.querySelectorAll(".log > div").length);
    await page.click("button:has-text('Earlier lines')");
    await page.waitForFunction(() => 1_500 < document.querySelectorAll(".log > div").length);
    const lines = await page.locator(".log > div > span").allInnerTexts();
    const numbers = lines
      .map((line) => Number(/(?:part|wheel)_(\d+)/.exec(line)?.[1] ?? Number.NaN))
      .filter((number) => !Number.isNaN(number));
    for (const line of lines)
      assert.match(line, /^(\[ *\d+%\] Building|warning:|new line|\[ 61%\])/, "no line is cut");
    for (const [index, number] of numbers.entries())
      assert.equal(number, (numbers[0] ?? 0) + index, "no line is lost or doubled");
    mock.write(run, "last line");
    mock.end(run, "succeeded");
    await page.waitForSelector(".log >> text=last line");
    await page.waitForSelector("button:has-text('Follow')", { state: "hidden" });
    await page.waitForSelector(".head .ok:has-text('succeeded')");
    assert.equal(await page.locator(".log >> text=new line").count(), 1);
  })
);

test("the fourth log of a browser does without a stream", { skip }, () =>
  stage({ frozen: false }, async ({ open, mock }) => {
    const run = mock.house.jobs.get("ci-nightly")?.open[0];
    assert.ok(run);
    const tabs = [];
    for (let index = 0; index < 4; index += 1)
      tabs.push(await open(`?page=run&run=${encodeURIComponent(run.run)}`));
    await until(() => mock.followers.get(run.run)?.size === 3, "three followers");
    mock.write(run, "for all of you");
    for (const tab of tabs) await tab.waitForSelector(".log >> text=for all of you");
    assert.equal(mock.followers.get(run.run)?.size, 3);
    mock.end(run, "succeeded");
    for (const tab of tabs) await tab.waitForSelector("button:has-text('Follow')", { state: "hidden" });
  })
);

test("many at once are counted first, and done only if the count still holds", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=dead");
    await page.click("[data-do=pick-all]");
    await page.click("button:has-text('All that match')");
    await page.click("#selection button:has-text('Run again')");
    await page.waitForSelector("dialog[open] h2:has-text('Run again: 13 runs')");
    const one = mock.house.runs().find(({ state }) => state === "dead");
    assert.ok(one);
    mock.house.end(one, "cancelled", "exit 1");
    await page.click("dialog button.main");
    await page.waitForSelector("dialog [role=alert]:has-text('Meanwhile it is 12 runs')");
    await page.click("dialog button.main:has-text('Run again 12')");
    await page.waitForSelector("#said:has-text('12 runs are run again.')");
    assert.equal(mock.house.runs().filter(({ state }) => state === "dead").length, 0);
    await page.waitForSelector("#selection", { state: "hidden" });
  })
);

test("one button runs all dead letters of a kind again", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=dead");
    await page.click("button:has-text('Run 7 again')");
    await page.waitForSelector("dialog[open] h2:has-text('Run again: 7 runs')");
    await page.click("dialog button.main");
    await page.waitForSelector("#said:has-text('7 runs are run again.')");
    assert.equal(mock.house.runs().filter(({ state }) => state === "dead").length, 6);
  })
);

test("a backfill shows its times before it runs them", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=job&job=backup-db");
    await page.click("[data-do=backfill]");
    await page.fill("[name=from]", "2026-10-20T00:00");
    await page.fill("[name=to]", "2026-10-23T00:00");
    await page.click("dialog button.main:has-text('Preview')");
    await page.waitForSelector("dialog >> text=22 Oct 02:30");
    await page.click("dialog button.main:has-text('Run 3 times')");
    await page.waitForSelector("#said:has-text('3 runs of backup-db will follow.')");
    assert.ok(mock.house.audit.some(({ action }) => action === "backfill"));
    await settled(page);
  })
);
