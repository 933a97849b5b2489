// The output of a run: the last lines first, earlier ones on request, new ones as they are written.
//
// ```text
// tail=500 -> [offset .. size)      "earlier" -> [offset - 64 KiB .. offset)      stream from size on -> more lines
// ```
//
// Cost: an element for each line, at most 5,000; from there on the oldest leave the page and stay on the server.
//
// Does not interpret HTML, ever: text nodes alone.
//
// Source: RFC 9110, section 14 (ranges).

/** @import {Run} from "../api.d.ts" */
import { plain, ansi } from "./ansi.js";
import { Refused, address, ask } from "./api.js";
import { h, visible } from "./dom.js";
import { bytes, length, number, runPath } from "./format.js";
import { logPlace } from "./live.js";

/** Lines that are asked for at first. */
const TAIL = 500;
/** Bytes that are asked for each time somebody wants earlier lines. */
const STEP_BYTES = 64 * 1_024;
/** Lines on the page. More make it slow, and nobody reads them there: the download has all. */
const MAX_LINES = 5_000;
/** Characters of a line that are shown at once. */
const MAX_CHARS = 4_000;
/** How often a log without a stream asks for more. */
const POLL_MS = 2_000;

const NEW_LINE = 10;
/** @param {Uint8Array} piece */
const decode = (piece) => new TextDecoder().decode(piece);

/** @typedef {{at: string, attempt: number, stream: string, text: string}} Line */

/** The lines of a piece of a file. What is no such line stands as it is. @param {string} text @returns {Line[]} */
export function lines(text) {
  const rows = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  return (text === "" ? [] : rows).map((row) => {
    const found = /^(\d{4}-\S+Z) (\d+) (stdout|stderr) ?/.exec(row);
    if (found === null) return { at: "", attempt: 0, stream: "stdout", text: row };
    return { at: found[1] ?? "", attempt: Number(found[2]), stream: found[3] ?? "", text: row.slice(found[0].length) };
  });
}

class Log extends HTMLElement {
  #run = "";
  #path = "";
  #first = 0;
  #end = 0;
  #isComplete = true;
  #startedAt = 0;
  #attempt = 0;
  /** @type {EventSource | null} */
  #source = null;
  /** @type {(() => void) | null} */
  #place = null;
  #timer = 0;
  #box = h("div.log", { tabindex: 0, role: "region", "aria-label": "Output" });
  #bar = h("div.log-bar");
  #earlier = h("button", { type: "button" }, "Earlier lines");
  #follow = h("button", { type: "button", "aria-pressed": "true" }, "Follow");
  #wrap = h("button", { type: "button", "aria-pressed": "true" }, "Wrap");
  #note = h("span.dim");
  #styles = { stdout: plain(), stderr: plain() };

  connectedCallback() {
    if (this.#run === "") this.#build();
    document.addEventListener("visibilitychange", this.#look);
    this.#load();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#look);
    this.#stop();
  }

  #build() {
    this.#run = this.getAttribute("run") ?? "";
    this.#path = `${runPath(this.#run)}/output`;
    this.#startedAt = Date.parse(this.getAttribute("started") ?? "");
    const save = h("a", { href: address(this.#path), download: `${this.#run.replaceAll(":", "")}.log` }, "Download");
    this.#bar.append(this.#follow, this.#wrap, this.#earlier, save, this.#note);
    this.append(this.#bar, this.#box);
    this.#earlier.addEventListener("click", () => this.#loadEarlier());
    this.#follow.addEventListener("click", () => {
      this.#press(this.#follow, !this.#isFollowing());
      this.#settle(this.#isFollowing());
      this.#look();
    });
    this.#wrap.addEventListener("click", () => {
      this.#box.classList.toggle("flat", !this.#press(this.#wrap, this.#wrap.ariaPressed !== "true"));
    });
    // Who scrolls up wants to read; who scrolls down to the end wants to follow.
    this.#box.addEventListener("wheel", () => requestAnimationFrame(() => this.#scrolled()), { passive: true });
    this.#box.addEventListener("keyup", () => this.#scrolled());
    this.#box.addEventListener("touchend", () => this.#scrolled());
  }

  #scrolled() {
    if (!this.#isComplete) this.#press(this.#follow, this.#isAtEnd());
  }

  /** @param {HTMLElement} button @param {boolean} isOn */
  #press(button, isOn) {
    button.ariaPressed = String(isOn);
    return isOn;
  }

  #isFollowing() {
    return this.#follow.ariaPressed === "true";
  }

  #isAtEnd() {
    return this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < 24;
  }

  async #load() {
    try {
      const answer = await ask(address(this.#path, { tail: TAIL }), { headers: { accept: "text/plain" } });
      const text = await answer.text();
      this.#box.replaceChildren();
      this.#styles = { stdout: plain(), stderr: plain() };
      [this.#first, this.#end] = range(answer, text);
      this.#isComplete = answer.headers.get("x-complete") === "true";
      this.#add(text);
      this.#settle(true);
      this.#look();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    if (!(error instanceof Refused)) return;
    const text = error.status === 410 ? "The output is no longer kept: the retention of the job let it go." : error.message;
    this.#note.textContent = visible(text);
    if (error.status === 0 && this.isConnected) this.#timer = setTimeout(() => this.#load(), POLL_MS * 2);
  }

  async #loadEarlier() {
    const from = Math.max(0, this.#first - STEP_BYTES);
    try {
      const answer = await ask(address(this.#path), { headers: { range: `bytes=${from}-${this.#first - 1}` } });
      const piece = new Uint8Array(await answer.arrayBuffer());
      // The first line of the piece is the end of one that was cut.
      const cut = from === 0 ? 0 : piece.indexOf(NEW_LINE) + 1;
      this.#first = from + cut;
      const text = decode(piece.subarray(cut));
      const styles = { stdout: plain(), stderr: plain() };
      const height = this.#box.scrollHeight;
      this.#box.prepend(...lines(text).map((line) => this.#row(line, styles)));
      this.#box.scrollTop += this.#box.scrollHeight - height;
      this.#press(this.#follow, false);
      this.#settle(false);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {string} text */
  #add(text) {
    const rows = lines(text);
    this.#box.append(...rows.map((line) => this.#row(line, this.#styles)));
    const excess = this.#box.childElementCount - MAX_LINES;
    for (let index = 0; index < excess; index += 1) this.#box.firstChild?.remove();
    if (0 < excess) this.#first = -1;
  }

  /** @param {Line} line @param {{stdout: import("./ansi.js").Style, stderr: import("./ansi.js").Style}} styles */
  #row(line, styles) {
    const isError = line.stream === "stderr";
    const shown = line.text.slice(0, MAX_CHARS);
    const rest = line.text.length - shown.length;
    const after = line.at === "" || Number.isNaN(this.#startedAt) ? "" : `+${length(Math.max(0, Date.parse(line.at) - this.#startedAt))}`;
    const isNext = this.#attempt !== 0 && line.attempt !== this.#attempt && line.attempt !== 0;
    if (line.attempt !== 0) this.#attempt = line.attempt;
    const parts = ansi(shown, isError ? styles.stderr : styles.stdout).map(({ text, classes }) => (classes === "" ? text : h("span", { class: classes }, text)));
    return h(isError ? "div.err" : "div", { class: `${isError ? "err" : ""}${isNext ? " next" : ""}`.trim() || null },
      h("time", { title: line.at, "data-attempt": isNext ? `attempt ${line.attempt}` : null }, after), h("span", parts, 0 < rest && h("i", ` … ${number(rest)} characters more: see the download`)));
  }

  /** @param {boolean} toEnd */
  #settle(toEnd) {
    this.#earlier.hidden = this.#first <= 0;
    this.#follow.hidden = this.#isComplete;
    const before = this.#first < 0 ? "the oldest lines are in the download alone" : this.#first === 0 ? "" : `${bytes(this.#first)} before`;
    const isEmpty = this.#box.childElementCount === 0;
    this.#note.textContent = isEmpty ? (this.#isComplete ? "It wrote nothing." : "It has written nothing yet.") : before;
    if (toEnd) this.#box.scrollTop = this.#box.scrollHeight;
  }

  /** Follows if somebody looks and something can come. */
  #look = () => {
    const wanted = document.visibilityState === "visible" && !this.#isComplete && this.isConnected;
    if (wanted && this.#source === null && this.#timer === 0) this.#start();
    else if (!wanted) this.#stop();
  };

  async #start() {
    this.#timer = -1;
    const place = await logPlace();
    if (this.#timer !== -1) return place?.();
    this.#timer = 0;
    this.#place = place;
    if (place === null) {
      this.#timer = setInterval(() => this.#poll(), POLL_MS);
      return;
    }
    this.#source = new EventSource(address(`${this.#path}/events`, { after: this.#end }));
    this.#source.addEventListener("text", (event) => {
      this.#end = Number(event.lastEventId);
      this.#more(JSON.parse(event.data).text);
    });
    this.#source.addEventListener("end", () => this.#complete());
    this.#source.onerror = () => {
      this.#stop();
      this.#timer = setTimeout(() => ((this.#timer = 0), this.#look()), POLL_MS);
    };
  }

  async #poll() {
    try {
      const answer = await ask(address(this.#path), { headers: { range: `bytes=${this.#end}-` } });
      const isComplete = answer.headers.get("x-complete") === "true";
      if (answer.status === 206) {
        const piece = new Uint8Array(await answer.arrayBuffer());
        // The last line may still be written.
        const cut = isComplete ? piece.length : piece.lastIndexOf(NEW_LINE) + 1;
        this.#end += cut;
        this.#more(decode(piece.subarray(0, cut)));
      }
      if (isComplete) this.#complete();
    } catch (error) {
      if (error instanceof Refused && error.status !== 416) this.#fail(error);
    }
  }

  /** @param {string} text */
  #more(text) {
    const isNear = this.#isFollowing();
    this.#add(text);
    this.#settle(isNear);
  }

  #complete() {
    this.#isComplete = true;
    this.#stop();
    this.#settle(this.#isFollowing());
  }

  #stop() {
    this.#source?.close();
    this.#source = null;
    this.#place?.();
    this.#place = null;
    clearTimeout(this.#timer);
    clearInterval(this.#timer);
    this.#timer = 0;
  }
}

/** Where a piece begins and ends in its file. @param {Response} answer @param {string} text @returns {[number, number]} */
function range(answer, text) {
  const found = /^bytes (\d+)-(\d+)\//.exec(answer.headers.get("content-range") ?? "");
  if (found === null) return [0, new TextEncoder().encode(text).length];
  return [Number(found[1]), Number(found[2]) + 1];
}

customElements.define("ms-log", Log);

/** @param {Run} run */
export function log(run) {
  return h("ms-log", { run: run.run, started: run.started, "data-own": true, "data-key": `log ${run.run}` });
}
