// The six daily actions, from the first page: each takes at most two clicks, and at most three keys. What is
// typed as a reason is counted as neither. They are counted here, so that an action cannot take one more
// unseen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { skip, stage } from "../browser.js";

/** @import {Page} from "playwright-core" */
/** @import {Mock} from "../../mock/serve.js" */

const MAX_CLICKS = 2;
const MAX_KEYS = 3;
const REASON = "bucket is full; see OPS-7";

/** A hand that counts what it does. @param {Page} page */
function hand(page) {
  const counted = { clicks: 0, keys: 0 };
  return {
    counted,
    page,
    async click(/** @type {string} */ selector) {
      counted.clicks += 1;
      await page.locator(selector).first().click();
    },
    async press(/** @type {string[]} */ ...keys) {
      counted.keys += keys.length;
      for (const key of keys) await page.keyboard.press(key);
    }
  };
}

/** @typedef {ReturnType<typeof hand>} Hand */

/** The row of a job on the first page. @param {string} job @param {string} act */
const of = (job, act) => `tr[data-key='${job}'] [data-do=${act}]`;

/** Writes the reason where the focus is, which is the field for it. @param {Hand} hand */
async function giveReason({ page }) {
  await page.waitForSelector("dialog[open] input[name=note]:focus");
  await page.keyboard.type(REASON);
}

/** An action: by the pointer, by keys, and what is to be seen then.
 * @type {Record<string, {click: (hand: Hand) => Promise<unknown>, press: (hand: Hand) => Promise<unknown>,
 *   done: (page: Page, mock: Mock) => Promise<unknown>}>} */
const ACTIONS = {
  "what failed last night": {
    click: ({ click }) => click("a:has-text('What failed in the last 24 hours')"),
    press: ({ press }) => press("g", "e"),
    async done(page) {
      await page.waitForSelector("h1:has-text('Runs')");
      await page.waitForSelector("main[aria-busy=false] td.state");
      const states = await page.locator("td.state").allInnerTexts();
      for (const state of states) assert.match(state, /failed|timed out|dead letter|abandoned/);
      assert.equal(new URL(page.url()).searchParams.get("since"), "24h");
    }
  },
  "run again": {
    async click({ click }) {
      await click(of("backup-db", "run"));
      await click("dialog button.main");
    },
    press: ({ press }) => press("j", "r", "Enter"),
    async done(page, mock) {
      await page.waitForSelector("#said:has-text('backup-db is asked to run')");
      assert.equal(mock.house.jobs.get("backup-db")?.open.length, 1);
    }
  },
  "read its log": {
    click: ({ click }) => click("tr[data-key='backup-db'] a:has-text('Log')"),
    press: ({ press }) => press("j", "l"),
    done: (page) => page.waitForSelector(".log >> text=503 Slow Down")
  },
  "pause it with a reason": {
    async click(hand) {
      await hand.click(of("backup-db", "pause"));
      await giveReason(hand);
      await hand.click("dialog button.main");
    },
    async press(hand) {
      await hand.press("j", "p");
      await giveReason(hand);
      await hand.press("Enter");
    },
    async done(page, mock) {
      await page.waitForSelector("#said:has-text('backup-db is paused')");
      assert.equal(mock.house.jobs.get("backup-db")?.pause?.note, REASON);
    }
  },
  "what is next": {
    click: ({ click }) => click("#nav a[href='?page=upcoming']"),
    press: ({ press }) => press("g", "u"),
    done: (page) => page.waitForSelector(".lead:has-text('jobs are due')")
  },
  "is it stuck": {
    // How long it runs stands beside how long it usually does, on the first page: nothing is to be done.
    click: async () => {},
    press: async () => {},
    async done(page) {
      const row = page.locator("tr[data-job=ci-nightly]").filter({ hasText: "running" }).first();
      assert.match((await row.innerText()).replaceAll("\u00a0", " "), /running\s+14 m\s+48 m/);
    }
  }
};

for (const [name, { click, press, done }] of Object.entries(ACTIONS)) {
  test(`${name}: by at most ${MAX_CLICKS} clicks, and by at most ${MAX_KEYS} keys`, { skip }, async () => {
    await stage({}, async ({ open, mock }) => {
      const pointer = hand(await open());
      await click(pointer);
      await done(pointer.page, mock);
      assert.ok(pointer.counted.clicks <= MAX_CLICKS && pointer.counted.keys === 0, name);
    });
    await stage({}, async ({ open, mock }) => {
      const keyboard = hand(await open());
      await press(keyboard);
      await done(keyboard.page, mock);
      assert.ok(keyboard.counted.keys <= MAX_KEYS && keyboard.counted.clicks === 0, name);
    });
  });
}
