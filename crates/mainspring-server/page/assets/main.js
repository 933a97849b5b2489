// The page as a whole: which page is shown, keys, buttons, what is new, and what the server says of itself.
//
// ```text
// address ?page=..&filter --> load --> view --> morph
//                              ^                  |
//   events, pause between  -----'                  '-- rows stay; new ones wait behind "3 new"
// ```
//
// Cost: the requests of one page, at most once a second while something happens.
//
// Does not know what is on a page.

/** @import {EventName, RunState} from "../api.d.ts" */
/** @import {Context} from "./table.js" */
/** @import {PageOf} from "./lists.js" */
/** @import {Child, Held} from "./dom.js" */
import { ACTS, BULK_OF, bulkWord, check, close, convert, reason } from "./acts.js";
import { labPage, upcomingPage } from "./ahead.js";
import { Refused, askStatus, clockSkew, get, known, may, now, send } from "./api.js";
import { h, hold, morphChildren, template, the } from "./dom.js";
import { length, number, plural, word } from "./format.js";
import { filesPage, serverPage } from "./house.js";
import { jobPage } from "./job.js";
import { auditPage, deadPage, filtered, jobsPage, nowPage, runsPage } from "./lists.js";
import { follow } from "./live.js";
import { runPage } from "./run.js";
import { link, tick, time, to, zoning } from "./table.js";

/** @type {Record<string, PageOf<any>>} */
const PAGES = {
  now: nowPage, jobs: jobsPage, job: jobPage, runs: runsPage, run: runPage, dead: deadPage, upcoming: upcomingPage,
  files: filesPage, lab: labPage, audit: auditPage, server: serverPage,
};
/** @type {Record<string, string>} */
const PAGE_KEYS = { n: "now", j: "jobs", r: "runs", d: "dead", u: "upcoming", f: "files", l: "lab", a: "audit", s: "server" };

/** The shortest time between two updates: a person sees no more, and the server has other work. */
const MIN_UPDATE_MS = 1_000;
/** A page that nobody has touched for so long may move its rows. */
const IDLE_MS = 20_000;
/** The live region says at most a sentence in this time. */
const SAY_MS = 5_000;
/** A sentence in the strip stays so long. */
const SAID_MS = 8_000;
/** The second letter of a pair has to come within this time. */
const PAIR_MS = 1_500;
/** States by event that are remembered. */
const MAX_LATELY = 500;
/** A difference of clocks that is worth a word. */
const MAX_SKEW_MS = 5_000;

const main = the("#main", HTMLElement);
const strip = the("#state", HTMLElement);
const said = the("#said", HTMLElement);
const selection = the("#selection", HTMLElement);

let query = new URLSearchParams(location.search);
/** @type {any} */
let shown = null;
/** @type {Map<string, Map<string, unknown>>} */
let rows = new Map();
/** @type {Map<string, RunState>} */
const lately = new Map();
/** @type {Set<string>} */
const picked = new Set();
let isAllPicked = false;
let loading = new AbortController();
let touched = performance.now();
let isSignedOut = false;

const pageName = () => (query.get("page") ?? "now") in PAGES ? query.get("page") ?? "now" : "now";
const page = () => /** @type {PageOf<any>} */ (PAGES[pageName()]);

// Showing ----------------------------------------------------------------------------------------------------------

/** @param {{isFresh: boolean}} how */
function context({ isFresh }) {
  /** @type {Map<string, Map<string, unknown>>} */
  const kept = new Map();
  /** @type {Context} */
  const made = {
    query, lately, picked,
    /** @template T @param {string} name @param {T[]} fresh @param {(row: T) => string} keyOf @returns {Held<T>} */
    held(name, fresh, keyOf) {
      const before = /** @type {Map<string, T> | undefined} */ (isFresh ? undefined : rows.get(name));
      const held = hold(before, fresh, keyOf);
      kept.set(name, new Map(held.rows.map((row) => [keyOf(row), row])));
      return held;
    },
  };
  return { made, keep: () => (rows = kept) };
}

/** @param {Child} view @param {boolean} isFresh */
function put(view, isFresh) {
  const found = document.createElement("main");
  found.append(h("div", view));
  const children = /** @type {Element} */ (found.firstElementChild);
  const focused = document.activeElement;
  const key = focused?.closest("tr[data-key]")?.getAttribute("data-key");
  if (isFresh && focused?.closest("form[data-form=filter]") === null) main.replaceChildren(...children.childNodes);
  else morphChildren(main, children);
  // A row that took the focus with it gives it back to the row that has its place now.
  if (key !== undefined && key !== null && !document.activeElement?.closest("main")) rowOf(key)?.focus();
}

/** @param {string} key @returns {HTMLElement | null} */
function rowOf(key) {
  return main.querySelector(`tr[data-key="${CSS.escape(key)}"] .open`);
}

/** Shows the page of the address. @param {{isFresh: boolean, isMoved?: boolean}} how */
async function show({ isFresh, isMoved = false }) {
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  const began = performance.now();
  main.setAttribute("aria-busy", "true");
  try {
    if (known() === null) await status();
    const data = await page().load(query, signal);
    if (signal.aborted) return;
    shown = data;
    draw(isFresh);
    if (isMoved) arrive();
  } catch (error) {
    if (signal.aborted || isSignedOut) return;
    fail(error, isFresh);
  } finally {
    main.setAttribute("aria-busy", "false");
    cost = performance.now() - began;
  }
}

let cost = 0;

/** @param {boolean} isFresh */
function draw(isFresh) {
  const { made, keep } = context({ isFresh });
  put(page().view(shown, made), isFresh);
  keep();
  entitle();
  drawSelection();
}

/** @param {unknown} error @param {boolean} isFresh */
function fail(error, isFresh) {
  if (!(error instanceof Refused)) console.error(error);
  // What is on the page stays when an update of it fails: the strip says that it is old.
  if (!isFresh && error instanceof Refused && error.status === 0) return;
  const isGone = error instanceof Refused && error.status === 404;
  put(h("section.narrow", h("h1", { tabindex: -1 }, isGone ? "Not here" : "This did not work"), h("p", { role: "alert" }, reason(error)),
    isGone ? h("p", "It may have been removed, or its history let go by retention. ", h("a", { href: to("jobs") }, "All jobs"), " ", h("a", { href: to("runs") }, "All runs"))
      : h("div.buttons", h("button.main", { "data-do": "again-load" }, "Try again"))), true);
  shown = null;
}

function entitle() {
  const subject = query.get("job") ?? query.get("run");
  const host = known()?.host ?? "Mainspring";
  const trouble = known()?.troubled ?? 0;
  document.title = `${trouble === 0 ? "" : `(${trouble}) `}${subject !== null && ["job", "run"].includes(pageName()) ? subject : page().title} · ${host}`;
}

/** After somebody went to another page. */
function arrive() {
  const at = history.state?.key;
  const row = typeof at === "string" ? rowOf(at) : null;
  const target = query.get("at") === "log" ? main.querySelector("ms-log .log") : null;
  const goal = /** @type {HTMLElement | null} */ (target ?? row ?? main.querySelector("h1"));
  goal?.focus({ preventScroll: row !== null });
  if (row !== null) scrollTo(0, history.state?.y ?? 0);
  else if (target !== null) the("#log", HTMLElement).scrollIntoView();
  else scrollTo(0, 0);
}

/** @param {string} href @param {{replace?: boolean}} [how] */
function go(href, { replace = false } = {}) {
  const key = document.activeElement?.closest("tr[data-key]")?.getAttribute("data-key") ?? null;
  if (replace) history.replaceState(history.state, "", href);
  else {
    history.replaceState({ key, y: scrollY }, "");
    history.pushState(null, "", href);
  }
  moved(!replace);
}

/** @param {boolean} isMoved */
function moved(isMoved) {
  const before = pageName();
  query = new URLSearchParams(location.search);
  if (before !== pageName()) unpick();
  mark();
  show({ isFresh: true, isMoved });
}

function mark() {
  const of = { job: "jobs", run: "runs" }[pageName()] ?? pageName();
  for (const anchor of document.querySelectorAll("#nav a")) {
    anchor.toggleAttribute("aria-current", anchor.getAttribute("href") === `?page=${of}`);
    if (anchor.hasAttribute("aria-current")) anchor.setAttribute("aria-current", "page");
  }
}

// What the server says of itself -----------------------------------------------------------------------------------

async function status() {
  const found = await askStatus();
  the("#host", HTMLElement).textContent = found.host;
  const counts = { "?page=now": found.troubled, "?page=dead": found.dead, "?page=files": found.bad_files };
  for (const [href, count] of Object.entries(counts)) {
    const badge = document.querySelector(`#nav a[href="${href}"] b`);
    if (badge !== null) badge.textContent = count === 0 ? "" : number(count);
  }
  entitle();
}

/** @type {Record<string, string>} */
const STATES = {
  live: "live", connecting: "connecting", ending: "The server is ending; the page waits for the next one.",
  down: "The server does not answer. What you see is old; the page tries again by itself.",
};

let connection = "connecting";

/** @param {string} state */
function connect(state) {
  const wasDown = connection === "down" || connection === "ending";
  if (state === "down" && connection === "ending") return;
  connection = state;
  strip.className = `state ${state}`;
  const skew = MAX_SKEW_MS < Math.abs(clockSkew()) ? `, by the server’s clock, which is ${length(clockSkew())} ${0 < clockSkew() ? "ahead" : "behind"}` : "";
  strip.textContent = `${STATES[state] ?? state}${state === "live" ? skew : ""}`;
  if (state === "live" && wasDown) {
    say("The server answers again.");
    changed("reset", {});
  }
}

// What happens -----------------------------------------------------------------------------------------------------

let wanted = 0;
let last = 0;

/** @param {EventName} event @param {any} data */
function changed(event, data) {
  if (event === "hello") {
    const assets = known()?.assets;
    if (assets !== undefined && assets !== data.assets) say(["The server has a newer page. ", h("a", { href: location.search, "data-reload": true }, "Reload")]);
    return;
  }
  if (event === "run.changed") {
    lately.delete(data.run);
    lately.set(data.run, data.state);
    if (MAX_LATELY < lately.size) lately.delete(lately.keys().next().value ?? "");
    if (["failed", "timed_out", "dead"].includes(data.state)) announce(`${data.job}: ${word(data.state)}`);
  }
  const of = page();
  const isOurs = event === "reset" || (of.events.includes(event) && (of.concerns?.(event, data, query) ?? true));
  const isStatus = event !== "audit.added";
  if (isOurs || isStatus) update(isOurs);
}

let isOursWanted = false;

/** Asks again, soon, once. @param {boolean} isOurs */
function update(isOurs) {
  isOursWanted ||= isOurs;
  if (wanted !== 0 || document.visibilityState !== "visible" || isSignedOut) return;
  const wait = Math.max(0, last + Math.max(MIN_UPDATE_MS, cost * 10) - performance.now());
  wanted = setTimeout(async () => {
    wanted = 0;
    last = performance.now();
    const isPage = isOursWanted;
    isOursWanted = false;
    await status().catch(() => {});
    const isIdle = IDLE_MS < performance.now() - touched && getSelection()?.isCollapsed !== false;
    if (isPage && shown !== null) await show({ isFresh: page().settles === true && isIdle });
    else if (shown === null) await show({ isFresh: true });
  }, wait);
}

// Words ------------------------------------------------------------------------------------------------------------

let saidTimer = 0;
let announced = 0;

/** @param {Child} text */
function say(text) {
  clearTimeout(saidTimer);
  said.replaceChildren(h("span", text));
  announced = performance.now();
  saidTimer = setTimeout(() => said.replaceChildren(), SAID_MS);
}

/** For those who hear the page: at most a sentence in five seconds. @param {string} text */
function announce(text) {
  if (performance.now() - announced < SAY_MS) return;
  announced = performance.now();
  said.replaceChildren(h("span.hide", text));
}

// Picking rows -----------------------------------------------------------------------------------------------------

/** @returns {"jobs" | "runs" | null} */
function pickable() {
  const found = main.querySelector("[data-pick]")?.getAttribute("data-pick");
  return found === "jobs" || found === "runs" ? found : null;
}

/** @param {HTMLElement} element */
function pick(element) {
  const key = element.closest("tr")?.dataset.key;
  if (key === undefined) return;
  isAllPicked = false;
  if (!picked.delete(key)) picked.add(key);
  for (const box of main.querySelectorAll("[data-do=pick]")) {
    if (box instanceof HTMLInputElement) box.checked = picked.has(box.closest("tr")?.dataset.key ?? "");
  }
  drawSelection();
}

function pickAll() {
  const boxes = [...main.querySelectorAll("[data-do=pick]")].map((box) => box.closest("tr")?.dataset.key ?? "");
  const isAll = boxes.every((key) => picked.has(key));
  isAllPicked = false;
  for (const key of boxes) isAll ? picked.delete(key) : picked.add(key);
  draw(false);
}

function unpick() {
  picked.clear();
  isAllPicked = false;
  if (shown !== null) draw(false);
}

function drawSelection() {
  const of = pickable();
  const isHidden = of === null || (picked.size === 0 && !isAllPicked);
  selection.hidden = isHidden;
  document.body.classList.toggle("picking", !isHidden);
  if (of === null || isHidden) return;
  const acts = BULK_OF[of].filter((what) => what !== "retry" || pageName() === "dead").filter((what) => what !== "drop" || pageName() === "dead").filter((what) => what !== "cancel" || pageName() !== "dead");
  const fresh = h("span", h("b", isAllPicked ? "All that match" : `${number(picked.size)} picked`),
    acts.map((what) => h("button", { "data-do": `bulk-${what}` }, `${bulkWord(what)}…`)),
    !isAllPicked && h("button", { "data-do": "pick-matching" }, `All that match`), h("button", { "data-do": "unpick" }, "Clear"));
  morphChildren(selection, fresh);
}

function matching() {
  /** @type {Record<string, string>} */
  const found = {};
  for (const [name, value] of query) if (!["page", "sort", "after", "order", "at"].includes(name)) found[name] = value;
  return pageName() === "dead" ? { ...found, state: "dead" } : found;
}

const house = {
  say, unpick, refresh: () => update(true),
  picked: () => ({ ids: [...picked], of: pickable() ?? "jobs", filter: isAllPicked ? matching() : null }),
};

/** @type {Record<string, (element: HTMLElement) => void>} */
const HERE = {
  pick, "pick-all": pickAll, unpick, news: () => draw(true), "again-load": () => show({ isFresh: true }),
  "pick-matching": () => {
    isAllPicked = true;
    drawSelection();
  },
  help: () => {
    ACTS.help?.({}, house);
    const you = known()?.you;
    the("#who", HTMLElement).textContent = you === undefined ? "" : `You are ${you.name}, and may ${you.scope}.`;
  },
  "sign-out": () => {
    close();
    send("DELETE", "session").catch(() => {}).finally(signedOut);
  },
};

/** Does what a button or key asks for. @param {string} name @param {HTMLElement} element */
function act(name, element) {
  const here = HERE[name];
  if (here !== undefined) return here(element);
  const about = /** @type {HTMLElement | null} */ (element.closest("[data-filter], [data-job], [data-text]"));
  ACTS[name]?.({ ...about?.dataset, ...element.dataset }, house);
}

// Keys -------------------------------------------------------------------------------------------------------------

let pair = 0;

/** @param {number} step */
function walk(step) {
  const links = /** @type {HTMLElement[]} */ ([...main.querySelectorAll(".open")].filter((element) => element instanceof HTMLElement && element.offsetParent !== null));
  const current = document.activeElement?.closest("tr, .lane")?.querySelector(".open") ?? null;
  const index = current === null ? (0 < step ? -1 : links.length) : links.indexOf(/** @type {HTMLElement} */ (current));
  links[Math.min(links.length - 1, Math.max(0, index + step))]?.focus();
}

/** The thing that a key is about: the row with the focus, or the page. */
function subject() {
  const row = document.activeElement?.closest("tr[data-job], .lane[data-job]");
  return /** @type {HTMLElement | null} */ (row ?? main.querySelector("article[data-job]"));
}

/** @param {KeyboardEvent} event */
function key(event) {
  touched = performance.now();
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyping = target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && isTyping && target.closest("main") !== null) return target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || dialogIsOpen() || localStorage.getItem("keys") === "off") return;
  if (press(event.key)) event.preventDefault();
}

function dialogIsOpen() {
  return the("#dialog", HTMLDialogElement).open;
}

/** @param {string} key */
function press(key) {
  const isSecond = performance.now() - pair < PAIR_MS;
  pair = 0;
  if (isSecond && PAGE_KEYS[key] !== undefined) return go(to(PAGE_KEYS[key])), true;
  const row = subject();
  if (key === "g") return (pair = performance.now()), true;
  if (key === "/") return search(), true;
  if (key === "j" || key === "k") return walk(key === "j" ? 1 : -1), true;
  if (key === "?") return HERE.help?.(main), true;
  if (key === ".") return draw(true), true;
  if (key === "z") return zone(), true;
  if (key === "x") {
    const box = document.activeElement?.closest("tr")?.querySelector("[data-do=pick]");
    return box instanceof HTMLElement && pick(box), true;
  }
  if (row === null) return false;
  if (key === "l" && row.dataset.run) return go(to("run", { run: row.dataset.run, at: "log" })), true;
  if (!may("operate")) return false;
  if (key === "r") return act(row.dataset.state === undefined ? "run" : "again", row), true;
  if (key === "p" && row.dataset.job) return keyPause(row), true;
  const isOpen = ["scheduled", "queued", "running"].includes(row.dataset.state ?? "");
  if (key === "c" && isOpen) return act("cancel", row), true;
  return false;
}

/** A run's row does not know whether its job is paused. @param {HTMLElement} row */
async function keyPause(row) {
  if (row.dataset.state === undefined) return act("pause", row);
  try {
    /** @type {import("../api.d.ts").JobDetail} */
    const job = await get(`jobs/${encodeURIComponent(row.dataset.job ?? "")}`);
    ACTS[job.pause === null ? "pause" : "resume"]?.({ job: job.name }, house);
  } catch (error) {
    say(reason(error));
  }
}

function search() {
  const field = main.querySelector("form.filter input, form.lab input");
  if (field instanceof HTMLInputElement) field.select();
  else {
    go(to("jobs"));
    addEventListener("drawn", () => search(), { once: true });
  }
}

const ZONES = ["job", "mine", "utc"];

function zone() {
  const next = ZONES[(ZONES.indexOf(zoning()) + 1) % ZONES.length] ?? "job";
  setZone(next);
  say(`Times in ${{ job: "the zone of each job", mine: "my zone", utc: "UTC" }[next]}.`);
}

/** @param {string} value */
function setZone(value) {
  localStorage.setItem("zone", value);
  the("#zone", HTMLSelectElement).value = value;
  if (shown !== null) draw(false);
}

// Forms ------------------------------------------------------------------------------------------------------------

let typing = 0;

/** @param {HTMLFormElement} form */
function typed(form) {
  const values = new FormData(form);
  if (form.dataset.form === "filter") {
    go(filtered(String(values.get("q")), (form.dataset.names ?? "").split(" "), query), { replace: true });
  } else if (form.dataset.form === "lab") {
    go(link(query, { q: String(values.get("q")), zone: String(values.get("zone")), dialect: String(values.get("dialect")) }), { replace: true });
  }
}

/** @param {Event} event */
function input(event) {
  const form = /** @type {HTMLElement} */ (event.target).closest("form");
  if (form === null || !["filter", "lab"].includes(form.dataset.form ?? "")) return;
  clearTimeout(typing);
  typing = setTimeout(() => typed(form), 200);
}

/** @param {SubmitEvent} event */
async function submit(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const kind = form.dataset.form;
  if (kind === undefined) return;
  event.preventDefault();
  const values = new FormData(form, event.submitter);
  if (kind === "filter" || kind === "lab") typed(form);
  else if (kind === "check") await check(values, String(values.get("do") ?? "check"), house);
  else if (kind === "convert") await convert(values);
  else if (kind === "sign-in") await signIn({ token: String(values.get("token")) });
}

/** @param {Event} event */
function setting(event) {
  const field = /** @type {HTMLInputElement | HTMLSelectElement} */ (event.target);
  if (field.id === "zone") return setZone(field.value);
  if (field.name === "keys") localStorage.setItem("keys", /** @type {HTMLInputElement} */ (field).checked ? "on" : "off");
  if (field.name === "theme") {
    localStorage.setItem("theme", field.value);
    theme();
  }
}

function theme() {
  const wish = localStorage.getItem("theme") ?? "";
  if (wish === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wish;
}

// Signing in -------------------------------------------------------------------------------------------------------

const signals = new BroadcastChannel(`mainspring sign-in ${new URL(".", location.href).pathname}`);

/** @param {{code: string} | {token: string}} proof */
async function signIn(proof) {
  try {
    await send("POST", "session", proof);
    signals.postMessage("in");
    signedIn();
  } catch (error) {
    signedOut();
    the("#sign-in-error", HTMLElement).textContent = "code" in proof && error instanceof Refused && error.status === 401
      ? "That code is used or too old. Type mainspring open again." : error instanceof Refused && error.status === 401 ? "No such token." : reason(error);
  }
}

function signedOut() {
  if (isSignedOut) return;
  isSignedOut = true;
  shown = null;
  rows = new Map();
  selection.hidden = true;
  document.body.classList.add("signed-out");
  main.replaceChildren(template("t-sign-in"));
  main.setAttribute("aria-busy", "false");
  strip.textContent = "signed out";
  strip.className = "state down";
  document.title = "Sign in · Mainspring";
  the("#main h1", HTMLElement).focus();
}

function signedIn() {
  isSignedOut = false;
  document.body.classList.remove("signed-out");
  main.replaceChildren();
  strip.textContent = "connecting";
  live?.retry();
  show({ isFresh: true, isMoved: true });
}

// Beginning --------------------------------------------------------------------------------------------------------

/** @type {ReturnType<typeof follow> | null} */
let live = null;

function begin() {
  theme();
  the("#zone", HTMLSelectElement).value = zoning();
  mark();
  addEventListener("signed-out", signedOut);
  signals.onmessage = () => isSignedOut && signedIn();
  addEventListener("popstate", () => moved(true));
  addEventListener("pointermove", () => (touched = performance.now()), { passive: true });
  document.addEventListener("keydown", key);
  document.addEventListener("input", input);
  document.addEventListener("change", setting);
  document.addEventListener("submit", submit);
  document.addEventListener("click", (event) => {
    touched = performance.now();
    const target = /** @type {HTMLElement} */ (event.target);
    const button = /** @type {HTMLElement | null} */ (target.closest("[data-do]"));
    if (button !== null) return act(button.dataset.do ?? "", button);
    const anchor = target.closest("a");
    const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (anchor === null || !isPlain || !anchor.getAttribute("href")?.startsWith("?") || anchor.dataset.reload !== undefined) return;
    event.preventDefault();
    document.querySelector("#nav:popover-open") && the("#nav", HTMLElement).hidePopover();
    go(anchor.getAttribute("href") ?? "");
  });
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && update(true));
  setInterval(() => document.visibilityState === "visible" && tick(), 1_000);
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) {
    // The code has done its work, and an address is easily copied.
    history.replaceState(null, "", location.pathname + location.search);
    signIn({ code }).then(() => (live = follow(changed, connect)));
  } else {
    live = follow(changed, connect);
    show({ isFresh: true, isMoved: true });
  }
}

begin();

export { plural, now, time };
