// Actions less frequent than daily: each does what its dialog says, and nothing happens twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, skip, stage } from "../browser.js";

test("a double click on run starts one run", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=job&job=warm-cache");
    await page.click(".head [data-do=run]");
    await page.dblclick("dialog button.main");
    await page.waitForSelector("#said:has-text('warm-cache is asked to run')");
    assert.equal(mock.house.jobs.get("warm-cache")?.open.length, 1);
    await page.click("#said a");
    await page.waitForSelector(".log >> text=started by hand");
  })
);

test("what the server refuses stands in the dialog, which stays", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=runs&state=running");
    const row = page.locator("tr", { hasText: "media-train" });
    await row.locator("[data-do=cancel]").click();
    const run = mock.house.runs().find(({ job, ended }) => job === "media-train" && ended === null);
    assert.ok(run);
    mock.house.end(run, "succeeded", "succeeded");
    await page.click("dialog button.main");
    await page.waitForSelector("dialog [role=alert]:has-text('The run is succeeded.')");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog:not([open])", { state: "attached" });
  })
);

test("a run is cancelled, and a dead letter dropped with a reason", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=runs&state=running");
    await page.locator("tr", { hasText: "media-train" }).locator("[data-do=cancel]").click();
    await page.click("dialog button.main");
    await page.waitForSelector("tr:has-text('media-train') >> text=cancelled");
    const dead = mock.house.runs().find(({ state }) => state === "dead");
    await page.goto(page.url().replace(/\?.*/, `?page=run&run=${encodeURIComponent(dead?.run ?? "")}`));
    await settled(page);
    await page.click("[data-do=drop]");
    await page.fill("[name=note]", "done by hand");
    await page.click("dialog button.main");
    await page.waitForSelector(".head >> text=cancelled");
    assert.ok(mock.house.audit.some(({ action, note }) => action === "dead_drop" && note === "done by hand"));
  })
);

test("a pause until a time ends at that time, and resume ends it before", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=job&job=warm-cache");
    await page.click("[data-do=pause]");
    await page.fill("[name=note]", "new shop");
    await page.selectOption("[name=hours]", "at");
    await page.fill("[name=at]", "2026-10-26T09:00");
    await page.click("dialog button.main");
    await page.waitForSelector(".head >> text=until 26 Oct 09:00");
    const pause = () => mock.house.jobs.get("warm-cache")?.pause;
    assert.equal(pause()?.until, "2026-10-26T08:00:00Z");
    await page.waitForSelector("q:has-text('new shop')");
    await page.click("[data-do=resume]");
    await page.click("dialog button.main");
    await page.waitForSelector("[data-do=pause]");
    assert.equal(pause(), null);
  })
);

test("everything is paused and resumed, and the first page says so", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=server");
    await page.click("[data-do=pause-all]");
    await page.fill("[name=note]", "moving the database");
    await page.click("dialog button.main");
    await page.waitForSelector("[data-do=resume-all]");
    assert.equal(mock.house.pause?.note, "moving the database");
    await page.click("#nav a[href='?page=now']");
    await page.waitForSelector(".summary:has-text('Everything is paused by token mara')");
    await page.click("#nav a[href='?page=server']");
    await page.click("[data-do=resume-all]");
    await page.click("dialog button.main");
    await page.waitForSelector("[data-do=pause-all]");
    assert.equal(mock.house.pause, null);
  })
);

test("while everything is paused no page counts down to a start, and each says why", { skip }, () =>
  stage({ rows: 5 }, async ({ mock, open, show }) => {
    const page = await open();
    const until = "2026-10-25T22:00:00Z";
    const pause = mock.house.paused(
      "asked",
      "by request",
      "new disk",
      "token mara",
      mock.now(),
      Date.parse(until),
      "UTC"
    );
    for (const query of ["now", "upcoming", "job&job=rotate-logs"]) {
      mock.house.pause = null;
      await show(page, `?page=${query}`);
      const count = await page.locator("main ms-ago", { hasText: "in " }).count();
      assert.ok(0 < count, query);
      mock.house.pause = pause;
      await page.reload();
      await settled(page);
      await page.waitForSelector("main >> text=Everything is paused by token mara");
      for (const text of await page.locator("main tbody ms-ago, main .moments ms-ago").allInnerTexts())
        assert.doesNotMatch(text, /^in/, query);
    }
    assert.ok(0 < (await page.locator("main >> text=paused with everything").count()));
  })
);

test("without a server a change may have been done, and a question changes nothing", { skip }, () =>
  stage({}, async ({ mock, open }) => {
    const page = await open("?page=job&job=warm-cache");
    await page.click(".head [data-do=run]");
    await mock.stop();
    await page.click("dialog button.main");
    await page.waitForSelector("dialog [role=alert]:has-text('Whether it was done is not known')");
    await page.keyboard.press("Escape");
    await page.click(".head [data-do=backfill]");
    await page.fill("[name=from]", "2026-10-20T00:00");
    await page.fill("[name=to]", "2026-10-21T00:00");
    await page.click("dialog button.main");
    await page.waitForSelector("dialog [role=alert]:has-text('does not answer')");
    assert.equal(await page.locator("dialog [role=alert]").innerText(), "The server does not answer.");
    await page.keyboard.press("Escape");
    await page.click("#nav a[href='?page=audit']");
    await page.waitForSelector("main [role=alert]");
    assert.equal(await page.locator("main [role=alert]").innerText(), "The server does not answer.");
  })
);

test("a backfill says what is wrong with its range", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open("?page=job&job=billing-close");
    await page.click("[data-do=backfill]");
    for (const [from, to, answer] of /** @type {const} */ ([
      ["2026-10-21T00:00", "2026-10-20T00:00", "From is after To"],
      ["2026-10-20T00:00", "2026-10-20T00:01", "Nothing is due in that time"]
    ])) {
      await page.fill("[name=from]", from);
      await page.fill("[name=to]", to);
      await page.click("dialog button.main");
      await page.waitForSelector(`dialog [role=alert]:has-text('${answer}')`);
      assert.equal(await page.locator("dialog >> text=It is not due again").count(), 0);
    }
  })
);

test("the servers of a database are shown, with what each runs", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open("?page=server");
    const rows = page.locator("[data-key='Servers of the database'] tbody tr");
    assert.equal(await rows.count(), 4);
    const words = [
      ["4304@db1 plans", "4", "takes runs", "3 of 64", "900 ms ago"],
      ["771@db2", "5", "full", "64 of 64", "gpu"],
      ["90@db3", "takes runs", "3 of 64", "handler=mail (2)", "12 s ago"],
      ["db4", "6", "lost", "13 m ago"]
    ];
    for (const [index, expected] of words.entries()) {
      const text = (await rows.nth(index).innerText()).replaceAll("\u00a0", " ");
      for (const word of expected) assert.ok(text.includes(word), `${word} is not in ${text}`);
    }
  })
);

test("jobs that match a filter are paused together", { skip }, () =>
  stage({}, async ({ open, mock }) => {
    const page = await open("?page=jobs&group=heavy");
    await page.locator("[data-do=pick]").first().click();
    await page.click("#selection button:has-text('All that match')");
    await page.click("#selection button:has-text('Pause')");
    await page.waitForSelector("dialog h2:has-text('Pause: 3 jobs')");
    await page.fill("[name=note]", "the disk is full");
    await page.click("dialog button.main");
    await page.waitForSelector("#said:has-text('3 jobs are paused.')");
    const notes = ["backup-db", "billing-close", "export-ledger"].map(
      (name) => mock.house.jobs.get(name)?.pause?.note
    );
    assert.deepEqual(notes, Array(3).fill("the disk is full"));
  })
);

test("a file is checked with its lines, and applied after a preview", { skip }, () =>
  stage({ scope: "define" }, async ({ open, mock }) => {
    const page = await open("?page=files");
    await page.fill("[name=path]", "night.crontab");
    await page.fill("[name=text]", "0 24 * * * /bin/vacuum\n30 2 * * * /bin/backup\n");
    await page.click("button:has-text('Check')");
    await page.waitForSelector("#checked:has-text('1 problem, 1 job.')");
    assert.equal(await page.locator("#checked mark").innerText(), "24");
    await page.click("button:has-text('Preview')");
    await page.waitForSelector("dialog:has-text('added: backup')");
    const applied = () => mock.requests.filter((line) => line === "POST api/v1/apply").length;
    assert.equal(applied(), 1);
    await page.click("dialog button.main");
    await page.waitForSelector("#said:has-text('Applied.')");
    assert.equal(applied(), 2);
  })
);

test("a definition is copied", { skip }, () =>
  stage({}, async ({ open, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await open("?page=job&job=backup-db");
    await page.click("button:has-text('Copy as TOML')");
    await page.waitForSelector("#said:has-text('Copied.')");
    assert.match(
      await page.evaluate(() => navigator.clipboard.readText()),
      /^\[jobs\.backup-db\]\ncron = "30 2 \* \* \*"/
    );
  })
);

test("a count stands apart from its word, also where it is nothing", { skip }, () =>
  stage({}, async ({ mock, open }) => {
    for (const job of mock.house.jobs.values()) job.pause = null;
    const page = await open("?page=jobs");
    assert.equal(await page.locator("a.chip:has-text('Paused')").innerText(), "Paused 0");
  })
);

test("columns are sorted by their heads, and the address keeps it", { skip }, () =>
  stage({}, async ({ open }) => {
    const page = await open("?page=jobs");
    await page.click("th a:has-text('Median')");
    await page.waitForSelector("th[aria-sort=ascending]:has-text('Median')");
    await page.click("th a:has-text('Median')");
    await page.waitForSelector("th[aria-sort=descending]:has-text('Median')");
    assert.equal(new URL(page.url()).searchParams.get("sort"), "-median");
    assert.equal(await page.locator("tbody tr .open").first().innerText(), "billing-close");
    await page.click("a:has-text('More')");
    await page.waitForSelector("a:has-text('From the beginning')");
    assert.match(page.url(), /sort=-median/);
  })
);
