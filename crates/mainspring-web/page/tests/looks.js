// Every page, narrow and below a base path, and wide; light and dark: accessible, not wider than the screen, and a
// screenshot of it.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { pages, settled, skip, stage } from "./browser.js";

const axe = await import("@axe-core/playwright").catch(() => null);
const SCREENSHOTS = new URL("../screenshots/", import.meta.url);
/** Rows of a list: enough for what a picture shows. axe looks at each of them. */
const ROWS = 12;
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
mkdirSync(SCREENSHOTS, { recursive: true });

/** What is wrong with a page.
 * @param {import("playwright-core").Page} page @param {string} name @returns {Promise<string[]>} */
async function judged(page, name) {
  const wider = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth
  );
  await page.screenshot({ path: new URL(`${name}.png`, SCREENSHOTS).pathname });
  const complaints = wider === 0 ? [] : [`${name}: scrolls sideways by ${wider} px`];
  if (axe === null) return complaints;
  const { violations } = await new axe.default({ page })
    .withTags(TAGS)
    .options({ resultTypes: ["violations"] })
    .analyze();
  const lines = violations.map(
    ({ id, nodes }) =>
      `${name}: ${id}: ${nodes
        .slice(0, 3)
        .map(({ html }) => html.slice(0, 150))
        .join(" | ")}`
  );
  return [...complaints, ...lines];
}

/** Both colours at each width take minutes, so the gate has one of each: the contrast of both is computed in
 * tests/unit. ALL_LOOKS=1 has all four. @param {number} width @returns {("light" | "dark")[]} */
const colours = (width) => (process.env.ALL_LOOKS ? ["light", "dark"] : width === 375 ? ["light"] : ["dark"]);

/** Tests of all pages at a width. @param {number} width */
export function looks(width) {
  for (const colorScheme of colours(width)) {
    const look = `${width}-${colorScheme}`;
    test(`all pages at ${width} px, ${colorScheme}`, { skip }, () =>
      stage(
        {
          scope: "define",
          rows: ROWS,
          base: width === 375 ? "/tools/mainspring/" : "/",
          browser: { viewport: { width, height: width === 375 ? 760 : 860 }, colorScheme }
        },
        async ({ mock, open, show }) => {
          const complaints = [];
          const page = await open();
          for (const [name, query] of pages(mock)) {
            await show(page, query);
            complaints.push(...(await judged(page, `${name}-${look}`)));
          }
          assert.deepEqual(complaints, []);
        }
      )
    );

    test(`dialogs, menu and sign-in at ${width} px, ${colorScheme}`, { skip }, () =>
      stage(
        { rows: ROWS, browser: { viewport: { width, height: width === 375 ? 760 : 860 }, colorScheme } },
        async ({ mock, open }) => {
          /** @type {string[]} */
          const complaints = [];
          const judge = async (
            /** @type {import("playwright-core").Page} */ page,
            /** @type {string} */ name
          ) => complaints.push(...(await judged(page, name)));
          const page = await open("?page=job&job=backup-db");
          for (const act of ["run", "pause", "backfill"]) {
            await page.click(`.head [data-do=${act}]`);
            await judge(page, `dialog-${act}-${look}`);
            await page.keyboard.press("Escape");
          }
          await page.click("[data-do=help]");
          await judge(page, `dialog-help-${look}`);
          await page.keyboard.press("Escape");
          if (width === 375) {
            await page.click("#menu");
            await judge(page, `menu-${look}`);
            await page.click("#nav a[href='?page=dead']");
          } else await page.click("#nav a[href='?page=dead']");
          await page.waitForSelector("h1:has-text('Dead letters')");
          await page.locator("[data-do=pick]").first().click();
          await judge(page, `picked-${look}`);
          mock.scope = null;
          await page.reload();
          await page.waitForSelector("#token");
          await settled(page);
          await judge(page, `sign-in-${look}`);
          assert.deepEqual(complaints, []);
        }
      )
    );
  }
}
