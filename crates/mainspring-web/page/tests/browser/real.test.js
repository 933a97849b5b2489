// The page over the real program, at $MAINSPRING: what the server of fixtures promises is what the program answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PROGRAM, served } from "../program.js";
import { ARGUMENTS, CHROMIUM, settled } from "../setting.js";

const playwright = await import("playwright-core").catch(() => null);
const skip =
  PROGRAM === "" ? "$MAINSPRING names no program" : playwright === null && "playwright-core is not installed";

const JOBS = `
[jobs.greet]
cron = "30 2 * * *"
zone = "Europe/Berlin"
shell = 'printf "\\033[32mgreen\\033[0m and done\\n"'

[jobs.broken]
every = "2h"
shell = 'echo "disk is full" >&2; exit 3'

[jobs.often]
every = "1m"
run = ["true"]
`;

test("every page shows what the real program answers, and a day's work is done on it", { skip }, () =>
  served(JOBS, async ({ address, ask }) => {
    ask("run", "greet", "--wait");
    const browser = await playwright?.chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
    assert.ok(browser);
    try {
      const page = await browser.newPage({ viewport: { width: 1_280, height: 860 } });
      // The code of `open` gives no more than operate, and files are applied below.
      await page.goto(address.replace(/#.*/, ""));
      await page.fill("#token", ask("token", "add", "mara", "--scope", "define").trim());
      await page.keyboard.press("Enter");
      await page.waitForSelector(".summary");
      /** @type {string[]} */
      const faults = [];
      page.on("pageerror", (error) => faults.push(error.message));
      page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
      await page.waitForSelector("#state.live");
      const base = page.url().replace(/\?.*/, "");
      const show = async (/** @type {string} */ query, /** @type {string} */ part) => {
        await page.goto(`${base}${query}`);
        await settled(page);
        await page.waitForSelector(`main >> text=${part}`);
        assert.equal(await page.locator("h1:has-text('This did not work')").count(), 0, query);
      };
      await show("?page=jobs", "At 02:30 every day.");
      await show("?page=job&job=greet", "[jobs.greet]");
      await show("?page=runs", "greet");
      await show("?page=upcoming", "often");
      await show("?page=files", "jobs.toml");
      await show("?page=audit", "run greet");
      await show("?page=server", "database");
      await show("?page=dead", "Dead letters");
      await show("?page=lab&q=30+2+*+*+*", "At 02:30 every day.");
      await page.waitForSelector("main >> text=0 30 2 * * ?");
      // Run by keys, and read why it failed.
      await show("?page=job&job=broken", "Run now");
      await page.keyboard.press("r");
      await page.keyboard.press("Enter");
      await page.locator("main tbody a:has-text('Log')").first().click();
      await page.waitForSelector(".log >> text=disk is full");
      // What applying a file would do.
      await show("?page=files", "Check or apply");
      await page.fill("[name=path]", "/etc/new.toml");
      await page.fill("[name=text]", '[jobs.new]\nevery = "1h"\nrun = ["true"]\n');
      await page.click("button[value=preview]");
      await page.waitForSelector("text=+[jobs.new]");
      assert.deepEqual(faults, []);
    } finally {
      await browser.close();
    }
  })
);
