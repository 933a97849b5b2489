// Browsers come and go for a while, and the server's memory and open files stay as they were.
//
//   MAINSPRING=target/release/mainspring node tests/soak.js [SECONDS]      half an hour if nothing else is said
//
// In each round one browser signs in, follows what happens and looks at a page, the next in each round, and three
// load the page and go, while a job runs each second. What the server has after the first tenth of the time is what it
// may have at the end, and a little more: an allocator keeps pieces.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { served } from "./program.js";
import { ARGUMENTS, CHROMIUM, settled } from "./setting.js";

const BROWSERS = 4;
const PAGES = ["now", "jobs", "job&job=often", "runs", "dead", "upcoming", "files", "audit", "server"];
/** The history of a second's job is pruned at a few hundred runs; the store's own caches grow until then. */
const MAX_GROWTH_KIB = 8 << 10;
const JOBS = `
[jobs.often]
every = "1s"
run = ["echo", "a line"]
retention = "keep=50"

[jobs.failing]
every = "2s"
shell = "echo no >&2; exit 3"
retention = "keep=50"
`;

/** What a process has. @param {number} pid */
function resources(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    kib: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]),
    threads: Number(/Threads:\s+(\d+)/.exec(status)?.[1]),
    // Without what runs at the moment: its pipes come and go.
    files: readdirSync(`/proc/${pid}/fd`).length
  };
}

/** How long a browser waits for the page. A machine that builds something meanwhile is twenty times slower. */
const PATIENCE_MS = 120_000;

/** How long the text of a page is waited for that did not do what it should: a renderer may hang. */
const TEXT_MS = 5_000;

/** Does something with a page. What fails says what the page showed then.
 * @param {import("playwright-core").Page} page @param {() => Promise<void>} act */
export async function withPageText(page, act) {
  try {
    await act();
  } catch (error) {
    const text = await page.innerText("body", { timeout: TEXT_MS }).catch((why) => `no text: ${why}`);
    const where = page.url().replace(/#.*/, "");
    throw new Error(`${error}\nat ${where}, which showed:\n${text}`, { cause: error });
  }
}

/** One round. @param {import("playwright-core").Browser} browser @param {string} base @param {() => string} code
 * @param {string | undefined} shown */
async function round(browser, base, code, shown) {
  const visits = Array.from({ length: BROWSERS }, async (_, index) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await withPageText(page, async () => {
      await page.goto(index === 0 ? `${base}#code=${code()}` : base);
      if (index !== 0) return;
      await page.waitForSelector("#state.live");
      await page.goto(`${base}?page=${shown}`);
      await settled(page);
    });
    await context.close();
  });
  await Promise.all(visits);
}

/** Continues for so many rounds or seconds, and says what the server had then and at first.
 * @param {{rounds: number, seconds: number, say?: (text: string) => void}} limits */
export async function soak({ rounds, seconds, say = () => {} }) {
  await served(JOBS, async ({ address, pid, ask }) => {
    const base = address.replace(/#.*/, "");
    const code = () =>
      ask("open", "--print")
        .trim()
        .replace(/.*#code=/, "");
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
    const began = performance.now();
    const part = (/** @type {number} */ count) =>
      Math.max(count / rounds, (performance.now() - began) / 1_000 / seconds);
    /** @type {ReturnType<typeof resources> | null} */
    let first = null;
    let last = resources(pid);
    for (let count = 0; part(count) < 1; count += 1) {
      await round(browser, base, code, PAGES[count % PAGES.length]);
      last = resources(pid);
      if (first === null && 0.1 <= part(count + 1)) first = last;
      say(`${count + 1} rounds: ${last.kib} KiB, ${last.files} files, ${last.threads} threads`);
    }
    await browser.close();
    assert.ok(first !== null);
    assert.ok(last.kib < first.kib + MAX_GROWTH_KIB, `memory grew from ${first.kib} to ${last.kib} KiB`);
    // A run or a stream that ends at this moment has a few.
    assert.ok(last.files <= first.files + 16, `open files grew from ${first.files} to ${last.files}`);
    assert.ok(last.threads <= first.threads + 2, `threads grew from ${first.threads} to ${last.threads}`);
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const seconds = Number(process.argv[2] ?? 1_800);
  await soak({ rounds: Infinity, seconds, say: console.log });
}
