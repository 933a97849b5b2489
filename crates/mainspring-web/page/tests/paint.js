// How long the first page takes to be painted, and how many bytes it is: over the server of fixtures, in Chromium.
//
//   node tests/paint.js     twenty times with an empty cache; prints the median and the longest, in ms
//
// The time is that of the browser's own `first-contentful-paint`, from the request on. Beside it stands that of a page
// of one word: what the browser and the machine take by themselves. The goal: 100 ms, 120 KB.

import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { Mock, assets } from "../mock/serve.js";
import { ARGUMENTS, CHROMIUM } from "./setting.js";

const ROUNDS = 20;

const word = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<p>word"));
await new Promise((resolve) => word.listen(0, "127.0.0.1", () => resolve(undefined)));
const mock = new Mock({ scope: "operate" });
const port = /** @type {import("node:net").AddressInfo} */ (word.address()).port;
const urls = [`http://127.0.0.1:${port}/`, await mock.start(0)];
/** @type {number[][]} */
const times = [[], []];
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
for (let round = 0; round < ROUNDS; round += 1) {
  // One after the other, so that what else the machine does is the same for both.
  for (const [index, url] of urls.entries()) {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 860 } });
    const page = await context.newPage();
    await page.goto(url);
    const paint = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const found = await page.waitForFunction(paint);
    times[index]?.push(/** @type {number} */ (await found.jsonValue()));
    await context.close();
  }
}
await browser.close();
const [bare, ours] = times.map((found) => found.sort((a, b) => a - b));
const ms = (/** @type {number[] | undefined} */ found, /** @type {number} */ index) =>
  `${found?.at(index)?.toFixed(0)} ms`;
const bytes = [...assets()].reduce((sum, [, text]) => sum + text.length, 0);
console.log(
  `first paint: median ${ms(ours, ROUNDS / 2)}, longest ${ms(ours, -1)}; ` +
    `a page of one word: median ${ms(bare, ROUNDS / 2)}, longest ${ms(bare, -1)}; ${bytes} bytes`
);
await mock.stop();
word.close();
