// How long the first page takes to be painted, and how many bytes it is: over the server of fixtures, in Chromium.
//
//   node tests/paint.js          ten times with an empty cache; prints the median and the longest, in ms
//
// The time is that of the browser's own `first-contentful-paint`, from the request on. The goal: 100 ms, 120 KB.

import { chromium } from "playwright-core";
import { Mock, assets } from "../mock/serve.js";
import { ARGUMENTS, CHROMIUM } from "./setting.js";

const ROUNDS = 10;

const mock = new Mock({ scope: "operate" });
const url = await mock.start(0);
/** @type {number[]} */
const times = [];
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
for (let round = 0; round < ROUNDS; round += 1) {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 860 } });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector(".summary");
  times.push(
    await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN)
  );
  await context.close();
}
await browser.close();
times.sort((a, b) => a - b);
const bytes = [...assets()].reduce((sum, [, text]) => sum + text.length, 0);
console.log(
  `first paint: median ${times[ROUNDS / 2]?.toFixed(0)} ms, longest ${times.at(-1)?.toFixed(0)} ms; ${bytes} bytes`
);
await mock.stop();
