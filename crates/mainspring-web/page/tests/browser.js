// A browser and a mock server for tests. Without Chromium or playwright-core the tests are skipped with a
// word.

/** @import {BrowserContext, Page} from "playwright-core" */
/** @import {Scope} from "../api.d.ts" */
import { existsSync } from "node:fs";
import { after, before } from "node:test";
import { Mock } from "../mock/serve.js";
import { ARGUMENTS, CHROMIUM, settled } from "./setting.js";

export { pages, settled } from "./setting.js";

/** How long a test waits for what must come: the machine may be busy, so this only ends what hangs. */
export const PATIENCE_MS = 30_000;

const playwright = await import("playwright-core").catch(() => null);

/** Why the tests of this file are skipped, or false. */
export const skip =
  playwright === null
    ? "playwright-core is not installed: npm ci"
    : !existsSync(CHROMIUM) && `there is no ${CHROMIUM}`;

/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  if (skip || playwright === null) return;
  browser = await playwright.chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
});
after(() => browser?.close());

/** What a test is given.
 * @typedef {{mock: Mock, url: string, context: BrowserContext, open: (query?: string) => Promise<Page>,
 *   show: (page: Page, query: string) => Promise<void>}} Stage */

/** @typedef {object} Setting
 * @property {Scope | null} [scope]   null: sign in first
 * @property {string} [base]
 * @property {boolean} [frozen]
 * @property {number} [rows]
 * @property {import("playwright-core").BrowserContextOptions} [browser]
 */

/** Runs a test on a server and in a browser of its own. A fault is what the console of the browser says, what the
 * policy of the page forbids, and what a page asks of another host.
 * @param {Setting} setting @param {(stage: Stage) => Promise<void>} run */
export async function stage({ browser: options = {}, ...setting }, run) {
  const mock = new Mock({ scope: "operate", frozen: true, ...setting });
  const url = await mock.start(0);
  const context = await browser.newContext({
    viewport: { width: 1_280, height: 860 },
    timezoneId: "Europe/Berlin",
    ...options
  });
  context.setDefaultTimeout(PATIENCE_MS);
  /** @type {string[]} */
  const faults = [];
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI}`)
    );
  });
  context.on("request", (request) => {
    const isOurs = request.isNavigationRequest() || request.url().startsWith(url);
    if (!isOurs) faults.push(`asked of another host: ${request.url()}`);
  });
  /** Shows a page in a tab that is there: faster than a new one. */
  const show = async (/** @type {Page} */ page, /** @type {string} */ query) => {
    await page.goto(`${url}${query}`);
    await settled(page);
  };
  const open = async (query = "?page=now") => {
    const page = await context.newPage();
    page.on("pageerror", (error) => faults.push(`${query}: ${error.message}`));
    page.on("console", (message) => {
      // The browser itself tells of answers that are no 2xx.
      const isAnswer = message.text().startsWith("Failed to load resource");
      if (["error", "warning"].includes(message.type()) && !isAnswer)
        faults.push(`${query}: ${message.text()}`);
    });
    await show(page, query);
    return page;
  };
  try {
    await run({ mock, url, context, open, show });
    if (0 < faults.length) throw new Error(`the browser complains: ${faults.join("; ")}`);
  } finally {
    await context.close();
    await mock.stop();
  }
}
