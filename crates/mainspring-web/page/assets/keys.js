// Keyboard shortcuts: two letters lead to a page, one acts on the row that has the focus.
//
// Cost: none worth a word.
// Does nothing while somebody types, in a dialog, or when turned off (WCAG 2.1.4).

import { may } from "./api.js";
import { the } from "./dom.js";
import { FAILED } from "./lists.js";
import { to } from "./table.js";

/** @type {Record<string, string>} */
const PAGES = {
  n: "now",
  j: "jobs",
  r: "runs",
  e: "runs",
  d: "dead",
  u: "upcoming",
  f: "files",
  l: "lab",
  a: "audit",
  s: "server"
};

/** The second letter of a pair has to come within this time. */
const PAIR_MS = 1_500;

/** @typedef {object} Doing
 * @property {(href: string) => void} go
 * @property {(name: string, element: HTMLElement) => void} act
 * @property {() => void} search
 * @property {() => void} zone
 */

/** The rows, as the links that open them. */
const rows = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main :is(tr, .lane) .open")]);

/** The row with the focus. */
const row = () =>
  /** @type {HTMLElement | null} */ (document.activeElement?.closest("main :is(tr, .lane)") ?? null);

/** @param {number} step */
function walk(step) {
  const links = rows();
  const current = /** @type {HTMLElement | null} */ (row()?.querySelector(".open") ?? null);
  const index = current === null ? (0 < step ? -1 : links.length) : links.indexOf(current);
  links[Math.min(links.length - 1, Math.max(0, index + step))]?.focus();
}

/** @param {Doing} doing */
export function listen({ go, act, search, zone }) {
  let pair = -PAIR_MS;

  /** Does what a key asks for; whether it asks for anything. @param {string} key */
  function press(key) {
    const goal = performance.now() - pair < PAIR_MS ? PAGES[key] : undefined;
    pair = key === "g" ? performance.now() : -PAIR_MS;
    if (goal !== undefined) return go(to(goal, key === "e" ? { state: FAILED, since: "24h" } : {}));
    const main = the("main", HTMLElement);
    if (key === "j" || key === "k") return walk(key === "j" ? 1 : -1);
    if (key === "/") return search();
    if (key === "?") return act("help", main);
    if (key === ".") return act("news", main);
    if (key === "z") return zone();
    const box = row()?.querySelector("[data-do=pick]");
    if (key === "x" && box instanceof HTMLElement) return act("pick", box);
    const subject = row() ?? main.querySelector("article");
    const { run, job, state } = subject instanceof HTMLElement ? subject.dataset : {};
    if (!(subject instanceof HTMLElement) || job === undefined) return;
    if (key === "l" && run !== undefined) return go(to("run", { run, at: "log" }));
    if (!may("operate")) return;
    if (key === "r") act(state === undefined ? "run" : "again", subject);
    if (key === "p") act("pause", subject);
    if (key === "c" && ["scheduled", "queued", "running"].includes(state ?? "")) act("cancel", subject);
  }

  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target.matches("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape" && isTyping && target.closest("main")) return target.blur();
    const isOff = localStorage.getItem("keys") === "off" || the("#dialog", HTMLDialogElement).open;
    if (isTyping || isOff || event.ctrlKey || event.metaKey || event.altKey || !/^[a-z/?.]$/.test(event.key))
      return;
    event.preventDefault();
    press(event.key);
  });
}
