// The page as a whole: which page is shown, what is new, what the server says of itself, who is signed in.
//
// ```text
// address ?page=..&filter --> load --> view --> morph
//                              ^                  |
//   events, pause between  -----'                  '-- rows stay; new ones wait behind "3 new"
// ```
//
// Cost: the requests of one page, at most once a second while something happens.
// Does not know what is on a page.

/** @import {RunState} from "../api.d.ts" */
/** @import {EventName} from "../events.d.ts" */
/** @import {Context} from "./table.js" */
/** @import {PageOf} from "./lists.js" */
/** @import {Child} from "./dom.js" */
import { ACTIONS, FORMS, MANY, reason } from "./actions.js";
import { labPage, upcomingPage } from "./upcoming.js";
import { Refused, askStatus, known, send } from "./api.js";
import { h, hold, morphChildren, template, the } from "./dom.js";
import { number, word } from "./format.js";
import { filesPage, serverPage } from "./server.js";
import { jobPage } from "./job.js";
import { listen } from "./keys.js";
import { auditPage, deadPage, filtered, jobsPage, runsPage } from "./lists.js";
import { follow } from "./live.js";
import { nowPage } from "./now.js";
import { runPage } from "./run.js";
import { announce, connect, say } from "./status_bar.js";
import { a, link, prose, tick, title, to, zoning } from "./table.js";

/** @type {Record<string, PageOf<any>>} */
const PAGES = {
  now: nowPage,
  jobs: jobsPage,
  job: jobPage,
  runs: runsPage,
  run: runPage,
  dead: deadPage,
  upcoming: upcomingPage,
  files: filesPage,
  lab: labPage,
  audit: auditPage,
  server: serverPage
};

/** The shortest time between two updates: a person sees no more, and the server has other work. */
const MIN_UPDATE_MS = 1_000;
/** A page that nobody has touched for so long may move its rows. */
const IDLE_MS = 20_000;
/** A field is asked about when nobody has typed for so long. */
const TYPING_MS = 200;
/** States by event that are remembered. */
const MAX_LATELY = 500;

const main = the("#main", HTMLElement);
const selection = the("#selection", HTMLElement);

let query = new URLSearchParams(location.search);
/** What `load` gave; null if nothing is shown. @type {any} */
let shown = null;
/** The rows of each table, by name. @type {Map<string, Map<string, any>>} */
let tables = new Map();
/** @type {Map<string, RunState>} */
const lately = new Map();
/** @type {Set<string>} */
const picked = new Set();
let isAllPicked = false;
let loading = new AbortController();
let touched = 0;
let cost = 0;
let isSignedOut = false;
let wantsSearch = false;
/** How the stream of events stands. */
let stream = "connecting";

const pageName = () => (Object.hasOwn(PAGES, query.get("page") ?? "") ? (query.get("page") ?? "now") : "now");
const page = () => /** @type {PageOf<any>} */ (PAGES[pageName()]);

// Showing ---------------------------------------------------------------------------------------------------

/** Shows what was loaded. Rows that are shown stay, unless it is fresh. @param {boolean} isFresh */
function draw(isFresh) {
  /** @type {typeof tables} */
  const drawn = new Map();
  /** @type {Context} */
  const context = {
    query,
    lately,
    picked,
    held(name, fresh, keyOf) {
      const held = hold(isFresh ? undefined : tables.get(name), fresh, keyOf);
      drawn.set(name, new Map(held.rows.map((row) => [keyOf(row), row])));
      return held;
    }
  };
  put(page().view(shown, context), isFresh && document.activeElement?.closest("form") === null);
  tables = drawn;
  entitle();
  drawSelection();
}

/** @param {Child} view @param {boolean} isNew */
function put(view, isNew) {
  const found = h("main", view);
  const key = focusKey();
  if (isNew) main.replaceChildren(...found.childNodes);
  else morphChildren(main, found);
  // What stands where the focus was gets it back.
  if (key !== null && document.activeElement === document.body) rowOf(key)?.focus();
}

const focusKey = () => document.activeElement?.closest("tr[data-key]")?.getAttribute("data-key") ?? null;
/** @param {string} key @returns {HTMLElement | null} */
const rowOf = (key) => main.querySelector(`tr[data-key="${CSS.escape(key)}"] .open`);

/** Asks for what the address names, and shows it. @param {boolean} isFresh @param {boolean} [isMoved] */
async function show(isFresh, isMoved = false) {
  if (isSignedOut) return;
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
    connect(stream);
    if (isMoved) arrive();
  } catch (error) {
    if (!signal.aborted && !isSignedOut) fail(error, isFresh);
  }
  if (signal.aborted) return;
  cost = performance.now() - began;
  main.setAttribute("aria-busy", "false");
}

/** @param {unknown} error @param {boolean} isFresh */
function fail(error, isFresh) {
  // What is on the page stays when an update fails: the status bar says that it is old.
  if (!isFresh && error instanceof Refused && (error.status === 0 || 500 <= error.status)) {
    isOld = isPageOld = true;
    cost = Math.max(cost, MIN_UPDATE_MS / 2);
    return connect("down");
  }
  const status = error instanceof Refused ? error.status : 0;
  const { bar, title: name } = page();
  const isFilter = status === 400 && bar !== undefined;
  const heading = title(isFilter ? name : status === 404 ? "Not here" : "This did not work");
  const words = [
    h("p", { role: "alert" }, prose(reason(error))),
    status === 404 &&
      h(
        "p",
        "It may have been removed, or its history let go by retention. See ",
        a("all jobs", "jobs"),
        " or ",
        a("all runs", "runs"),
        "."
      ),
    !isFilter && status !== 404 && h("button.main", { "data-do": "reload" }, "Try again")
  ];
  put(
    bar === undefined ? h("section.narrow", heading, words) : [heading, bar(query), words],
    document.activeElement?.closest("form") === null
  );
  shown = null;
}

function entitle() {
  const subject = ["job", "run"].includes(pageName()) ? query.get(pageName()) : null;
  const count = known()?.troubled ?? 0;
  const title = `${subject ?? page().title} · ${known()?.host ?? "Mainspring"}`;
  document.title = count === 0 ? title : `(${count}) ${title}`;
}

/** After somebody went to another page: where the focus goes. */
function arrive() {
  const { key = "", y = 0 } = history.state ?? {};
  const row = rowOf(String(key));
  const log = query.get("at") === "log" ? main.querySelector(".log") : null;
  scrollTo(0, row === null ? 0 : y);
  if (log !== null) the("#log", HTMLElement).scrollIntoView();
  const goal = /** @type {HTMLElement | null} */ (log ?? row ?? main.querySelector("h1"));
  goal?.focus({ preventScroll: true });
  if (wantsSearch) search();
}

/** @param {string} href @param {boolean} [isTyped]   continues with the same page */
function go(href, isTyped = false) {
  if (isTyped) history.replaceState(null, "", href);
  else {
    history.replaceState({ key: focusKey(), y: scrollY }, "");
    history.pushState(null, "", href);
  }
  moved(!isTyped);
}

/** @param {boolean} isMoved */
function moved(isMoved) {
  const before = pageName();
  query = new URLSearchParams(location.search);
  if (before !== pageName()) picked.clear();
  isAllPicked = false;
  mark();
  show(true, isMoved);
}

/** Marks the page in the navigation. */
function mark() {
  const name = { job: "jobs", run: "runs" }[pageName()] ?? pageName();
  for (const anchor of document.querySelectorAll("#nav a")) {
    if (anchor.getAttribute("href") === `?page=${name}`) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
}

// What happens on the server --------------------------------------------------------------------------------

async function status() {
  const { host, troubled, dead, bad_files } = await askStatus();
  the("#host", HTMLElement).textContent = host;
  [troubled, dead, bad_files].forEach((count, index) => {
    const badge = document.querySelectorAll("#nav b")[index];
    if (badge) badge.textContent = count === 0 ? "" : number(count);
  });
  entitle();
}

/** @param {EventName} event @param {any} data */
function changed(event, data) {
  if (event === "beat") return;
  if (event === "hello") {
    // The hash is in the address of this module.
    if (!import.meta.url.includes(`/${data.assets}/`)) {
      say([
        "The server has a newer page. ",
        h("a", { href: location.search, "data-reload": true }, "Reload")
      ]);
    }
    return;
  }
  if (event === "run.changed") {
    lately.delete(data.run);
    lately.set(data.run, data.state);
    if (MAX_LATELY < lately.size) lately.delete(lately.keys().next().value ?? "");
    if (["failed", "timed_out", "dead"].includes(data.state)) announce(`${data.job}: ${word(data.state)}`);
  }
  const { events, concerns } = page();
  update(event === "reset" || (events.includes(event) && (concerns?.(data, query) ?? true)));
}

let timer = 0;
let last = 0;
let isPageOld = false;
let isOld = false;

/** Asks again: soon, once for all that happens until then, and not before the last answer is there.
 * @param {boolean} isOurs */
function update(isOurs) {
  isPageOld ||= isOurs;
  isOld = true;
  if (timer !== 0 || document.visibilityState !== "visible" || isSignedOut) return;
  const wait = Math.max(0, last + Math.max(MIN_UPDATE_MS, cost * 10) - performance.now());
  timer = setTimeout(async () => {
    const isPage = isPageOld;
    isOld = isPageOld = false;
    await status().catch(() => {});
    const isIdle = IDLE_MS < performance.now() - touched && getSelection()?.isCollapsed !== false;
    if (shown === null) await show(true);
    else if (isPage) await show(page().settles === true && isIdle);
    last = performance.now();
    timer = 0;
    if (isOld) update(false);
  }, wait);
}

// Picking rows ----------------------------------------------------------------------------------------------

const pickable = () =>
  /** @type {"jobs" | "runs" | undefined} */ (
    main.querySelector("[data-pick]")?.getAttribute("data-pick") ?? undefined
  );

/** What is done with many, by page. @type {Record<string, string[]>} */
const OFFERS = { jobs: ["run", "pause", "resume"], runs: ["cancel"], dead: ["retry", "drop"] };

function drawSelection() {
  selection.hidden = pickable() === undefined || (picked.size === 0 && !isAllPicked);
  document.body.classList.toggle("picking", !selection.hidden);
  if (selection.hidden) return;
  const offers = (OFFERS[pageName()] ?? []).map((what) =>
    h("button", { "data-do": "many", "data-what": what }, `${MANY[what]?.[0]}…`)
  );
  morphChildren(
    selection,
    h(
      "span",
      h("b", isAllPicked ? "All that match" : `${number(picked.size)} picked`),
      offers,
      !isAllPicked && h("button", { "data-do": "pick-matching" }, "All that match"),
      h("button", { "data-do": "unpick" }, "Clear")
    )
  );
}

/** @type {import("./actions.js").AppShell} */
const shell = {
  say,
  refresh: () => update(true),
  unpick: () => HERE.unpick?.(main),
  picked() {
    const of = pickable() ?? "jobs";
    if (!isAllPicked) return { ids: [...picked], of };
    const filter = Object.fromEntries(
      [...query].filter(([name]) => !["page", "sort", "after", "order"].includes(name))
    );
    return { filter: pageName() === "dead" ? { ...filter, state: "dead" } : filter, of };
  }
};

/** @param {Element} element */
const keyOf = (element) => element.closest("tr")?.dataset.key ?? "";

/** What buttons do on the page itself. @type {Record<string, (element: HTMLElement) => unknown>} */
const HERE = {
  news: () => shown !== null && draw(true),
  reload: () => show(true, true),
  pick(element) {
    if (!picked.delete(keyOf(element))) picked.add(keyOf(element));
    isAllPicked = false;
    draw(false);
  },
  "pick-all"() {
    const keys = [...main.querySelectorAll("[data-do=pick]")].map(keyOf);
    const isAll = keys.every((key) => picked.has(key));
    for (const key of keys) isAll ? picked.delete(key) : picked.add(key);
    isAllPicked = false;
    draw(false);
  },
  "pick-matching"() {
    isAllPicked = true;
    drawSelection();
  },
  unpick() {
    picked.clear();
    isAllPicked = false;
    if (shown !== null) draw(false);
  },
  help() {
    ACTIONS.help?.({}, shell);
    const you = known()?.you;
    the("#who", HTMLElement).textContent =
      you === undefined ? "" : `You are ${you.name}, and may ${you.scope}.`;
  },
  async "sign-out"() {
    ACTIONS.close?.({}, shell);
    await send("DELETE", "session").catch(() => {});
    signedOut();
  }
};

/** @param {HTMLElement} element */
const aboutOf = (element) => ({
  .../** @type {HTMLElement | null} */ (element.closest("tr, article"))?.dataset,
  ...element.dataset
});

/** Does what a button or key asks for. @param {string} name @param {HTMLElement} element */
function act(name, element) {
  const here = HERE[name];
  return here === undefined ? ACTIONS[name]?.(aboutOf(element), shell) : here(element);
}

// Fields ----------------------------------------------------------------------------------------------------

function search() {
  const field = main.querySelector("form.filter input, form.lab input");
  wantsSearch = !(field instanceof HTMLInputElement);
  if (field instanceof HTMLInputElement) field.select();
  else go(to("jobs"));
}

const ZONES = { job: "the zone of each job", mine: "my zone", utc: "UTC" };

/** @param {string} zone */
function setZone(zone) {
  localStorage.setItem("zone", zone);
  the("#zone", HTMLSelectElement).value = zone;
  if (shown !== null) draw(false);
}

let typing = 0;

/** Takes what is typed into the address. @param {HTMLFormElement} form */
function typed(form) {
  clearTimeout(typing);
  const values = new FormData(form);
  const text = (/** @type {string} */ name) => String(values.get(name));
  if (form.dataset.form === "filter")
    go(filtered(text("q"), (form.dataset.names ?? "").split(" "), query), true);
  else go(link(query, { q: text("q"), zone: text("zone"), dialect: text("dialect") }), true);
}

/** @param {Event} event */
function input({ target }) {
  const form = /** @type {HTMLInputElement} */ (target).form;
  if (form === null || !form.matches(".filter, .lab")) return;
  clearTimeout(typing);
  typing = setTimeout(() => typed(form), TYPING_MS);
}

/** @param {SubmitEvent} event */
function submit(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const kind = form.dataset.form;
  if (kind === undefined) return;
  event.preventDefault();
  const values = new FormData(form, event.submitter);
  if (kind === "sign-in") signIn({ token: String(values.get("token")).trim() });
  else if (form.matches(".filter, .lab")) typed(form);
  else FORMS[kind]?.(values, shell);
}

/** @param {Event} event */
function setting({ target }) {
  const field = /** @type {HTMLInputElement} */ (target);
  if (field.id === "zone") setZone(field.value);
  if (field.name === "keys") localStorage.setItem("keys", field.checked ? "on" : "off");
}

/** @param {MouseEvent} event */
function click(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const button = /** @type {HTMLElement | null} */ (target.closest("[data-do]"));
  if (button !== null) return act(button.dataset.do ?? "", button);
  const anchor = target.closest("a");
  const href = anchor?.getAttribute("href") ?? "";
  if (
    !href.startsWith("?") ||
    anchor?.dataset.reload !== undefined ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey
  )
    return;
  event.preventDefault();
  if (document.querySelector("#nav:popover-open")) the("#nav", HTMLElement).hidePopover();
  go(href);
}

// Signing in ------------------------------------------------------------------------------------------------

const signals = new BroadcastChannel(`mainspring sign-in ${new URL(".", location.href).pathname}`);

/** @param {{code: string} | {token: string}} proof */
async function signIn(proof) {
  try {
    await send("POST", "session", proof);
    signals.postMessage("in");
    signedIn();
  } catch (error) {
    signedOut();
    const isRefused = error instanceof Refused && error.status === 401;
    const text =
      "code" in proof
        ? "That code is used or too old. Type mainspring open again."
        : "There is no such token.";
    the("#sign-in-error", HTMLElement).textContent = isRefused ? text : reason(error);
  }
}

/** Signs in with the code in the address, if there is one. */
async function takeCode() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return false;
  // The code has done its work, and an address is easily copied.
  history.replaceState(null, "", location.search || "?page=now");
  // The stream of events is for those who are signed in.
  await signIn({ code });
  return true;
}

function signedOut() {
  if (isSignedOut) return;
  isSignedOut = true;
  // What was asked for before would be shown when it comes.
  loading.abort();
  shown = null;
  picked.clear();
  drawSelection();
  document.body.classList.add("signed-out");
  main.replaceChildren(template("t-sign-in"));
  main.setAttribute("aria-busy", "false");
  connect("signed out");
  document.title = "Sign in · Mainspring";
  the("#main h1", HTMLElement).focus();
}

/** @type {ReturnType<typeof follow> | undefined} */
let live;

function signedIn() {
  isSignedOut = false;
  document.body.classList.remove("signed-out");
  main.replaceChildren();
  connect("connecting");
  live?.retry();
  show(true, true);
}

// Beginning -------------------------------------------------------------------------------------------------

the("#zone", HTMLSelectElement).value = zoning();
mark();
addEventListener("signed-out", signedOut);
addEventListener("popstate", () => moved(true));
signals.onmessage = () => isSignedOut && signedIn();
for (const kind of ["pointermove", "pointerdown", "keydown", "wheel"]) {
  addEventListener(kind, () => (touched = performance.now()), { passive: true });
}
document.addEventListener("click", click);
document.addEventListener("input", input);
document.addEventListener("change", setting);
document.addEventListener("submit", submit);
document.addEventListener("visibilitychange", () => update(true));
setInterval(() => document.visibilityState === "visible" && tick(), 1_000);
listen({
  go,
  act,
  search,
  zone() {
    const names = /** @type {(keyof typeof ZONES)[]} */ (Object.keys(ZONES));
    const next = names[(names.indexOf(zoning()) + 1) % names.length] ?? "job";
    setZone(next);
    say(`Times in ${ZONES[next]}.`);
  }
});
if (!(await takeCode())) show(true, query.has("at"));
addEventListener("hashchange", takeCode);
live = follow(changed, (state) => {
  stream = state;
  if (!isSignedOut && (connect(state) || state === "deaf")) update(true);
});
