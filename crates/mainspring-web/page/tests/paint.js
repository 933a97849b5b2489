// Measures the first paint of the first page, and its bytes: in Chromium, over the program at $MAINSPRING
// with sixty jobs, or without one over the server of fixtures.
//
//   MAINSPRING=target/release/mainspring node tests/paint.js     prints the median and the longest of twenty times, in ms
//
// The cache is empty each time, and the browser is signed in. The time is that of the browser's own
// `first-contentful-paint`, from the request on. Beside it stands that of a page of one word: what the browser and the
// machine take by themselves. The server of fixtures answers more slowly than the program. The goal: 100 ms, 120 KB.

import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { Mock, assets } from "../mock/serve.js";
import { PROGRAM, served } from "./program.js";
import { ARGUMENTS, CHROMIUM, settled } from "./setting.js";

const ROUNDS = 20;

const word = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<p>word"));
await new Promise((resolve) => word.listen(0, "127.0.0.1", () => resolve(undefined)));
const port = /** @type {import("node:net").AddressInfo} */ (word.address()).port;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
const viewport = { width: 1_280, height: 860 };

/** Paints both pages in turn, so that what else the machine does is the same for both.
 * @param {string} address   with the code of a browser that signs in, if there is one */
async function paint(address) {
  const signed = await browser.newContext({ viewport });
  const first = await signed.newPage();
  await first.goto(address);
  await settled(first);
  const storageState = await signed.storageState();
  await signed.close();
  const urls = [`http://127.0.0.1:${port}/`, new URL(".", address).href];
  /** @type {number[][]} */
  const times = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, url] of urls.entries()) {
      const context = await browser.newContext({ viewport, storageState });
      const page = await context.newPage();
      await page.goto(url);
      const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
      const found = await page.waitForFunction(painted);
      times[index]?.push(/** @type {number} */ (await found.jsonValue()));
      await context.close();
    }
  }
  const [bare, ours] = times.map((found) => found.sort((a, b) => a - b));
  const ms = (/** @type {number[] | undefined} */ found, /** @type {number} */ index) =>
    `${found?.at(index)?.toFixed(0)} ms`;
  const bytes = [...assets()].reduce((sum, [, text]) => sum + text.length, 0);
  console.log(
    `first paint: median ${ms(ours, ROUNDS / 2)}, longest ${ms(ours, -1)}; ` +
      `a page of one word: median ${ms(bare, ROUNDS / 2)}, longest ${ms(bare, -1)}; ${bytes} bytes`
  );
}

const job = (/** @type {number} */ index) => `[jobs.job-${index}]\nevery = "${index + 2}s"\nrun = ["true"]\n`;
const jobs = Array.from({ length: 60 }, (_, index) => job(index)).join("\n");
if (PROGRAM) await served(jobs, ({ address }) => paint(address));
else {
  const mock = new Mock({ scope: "operate" });
  await paint(await mock.start(0));
  await mock.stop();
}
await browser.close();
word.close();
