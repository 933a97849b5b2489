// The browser that tests start, and the pages that they look at.

/** @import {Page} from "playwright-core" */
/** @import {Mock} from "../mock/serve.js" */

import { existsSync } from "node:fs";

/** Where Debian has it. The shell is the same engine without windows and menus: the tests take a third less
 * time with it. */
const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export const CHROMIUM = process.env.CHROMIUM ?? PLACES.find(existsSync) ?? "chromium";
export const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
];

/** Waits until what was asked for is shown. @param {Page} page */
export async function settled(page) {
  await page.waitForSelector("main[aria-busy=false]");
}

/** The pages, each with something on it. @param {Mock} mock @returns {[string, string][]} */
export function pages(mock) {
  const runOf = (/** @type {string} */ job) =>
    encodeURIComponent(mock.house.jobs.get(job)?.runs.at(-1)?.run ?? "");
  const open = encodeURIComponent(mock.house.jobs.get("ci-nightly")?.open[0]?.run ?? "");
  return [
    ["now", "?page=now"],
    ["jobs", "?page=jobs"],
    ["job", "?page=job&job=backup-db"],
    ["job-paused", "?page=job&job=mail-digest"],
    ["runs", "?page=runs"],
    ["run", `?page=run&run=${runOf("backup-db")}`],
    ["run-open", `?page=run&run=${open}`],
    ["run-hostile", `?page=run&run=${runOf("terminal")}`],
    ["dead", "?page=dead"],
    ["upcoming", "?page=upcoming"],
    ["upcoming-7d", "?page=upcoming&span=7d"],
    ["files", "?page=files"],
    ["lab", "?page=lab"],
    ["lab-wrong", "?page=lab&q=0+24+*+*+*"],
    ["audit", "?page=audit"],
    ["server", "?page=server"],
    ["nothing", "?page=jobs&q=zzz"],
    ["missing", "?page=job&job=none"]
  ];
}
