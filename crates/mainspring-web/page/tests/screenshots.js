// The screenshots of docs/screenshots, over the server of fixtures: `node tests/screenshots.js`, from the folder
// of the page. With pngquant they are small; without it they are not written.
//
// The browser's clock is the server's, so that the same pages give the same pictures.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { Mock } from "../mock/serve.js";
import { ARGUMENTS, CHROMIUM, pages, settled } from "./setting.js";

const FOLDER = fileURLToPath(new URL("../../../../docs/screenshots/", import.meta.url));
/** Pages that show no more than another one does. */
const LEFT_OUT = ["job-paused", "run-hostile", "lab-wrong", "upcoming-7d", "nothing", "missing"];
/** Also dark, and on a telephone. */
const LOOKS = ["now", "job", "run", "upcoming"];

mkdirSync(FOLDER, { recursive: true });
const mock = new Mock({ frozen: true, scope: "define" });
const url = await mock.start(0);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });

/** @param {string} name @param {string} query @param {number} width @param {"light" | "dark"} colorScheme */
async function take(name, query, width, colorScheme) {
  const viewport = { width, height: width === 375 ? 760 : 800 };
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  await page.clock.setFixedTime(mock.now());
  await page.goto(`${url}${query}`);
  await settled(page);
  const path = `${FOLDER}${name}.png`;
  await page.screenshot({ path });
  await context.close();
  execFileSync("pngquant", ["--force", "--ext", ".png", "--strip", "--speed", "1", "64", path]);
}

try {
  for (const [name, query] of pages(mock)) {
    if (LEFT_OUT.includes(name)) continue;
    await take(name, query, 1_280, "light");
    if (!LOOKS.includes(name)) continue;
    await take(`${name}-dark`, query, 1_280, "dark");
    await take(`${name}-narrow`, query, 375, "light");
  }
} finally {
  await browser.close();
  await mock.stop();
}
