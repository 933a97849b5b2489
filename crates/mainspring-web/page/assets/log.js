// The output of a run: the last lines first, earlier ones on request, new ones as they are written.
//
// ```text
// tail=500 -> [first .. end)    "earlier" -> [first - 64 KiB .. first)    stream from end on -> more lines
// ```
//
// Cost: an element for each line, at most 5,000; from there on the oldest leave the page and stay on the
// server.
// Source: RFC 9110, section 14 (ranges).

/** @import {Run} from "../api.d.ts" */
/** @import {Style} from "./ansi.js" */
import { ansi, plain } from "./ansi.js";
import { Refused, address, ask } from "./api.js";
import { h } from "./dom.js";
import { bytes, number, runPath, stamp } from "./format.js";
import { logPlace } from "./live.js";

/** Lines that are asked for at first. */
const TAIL = 500;
/** Bytes that are asked for each time somebody wants earlier lines. */
const STEP_BYTES = 65_536;
/** Lines on the page. More make it slow, and nobody reads them there: the download has all. */
const MAX_LINES = 5_000;
/** Characters of a line that are shown. */
const MAX_CHARS = 4_000;
/** How often a log without a stream asks for more. */
const POLL_MS = 2_000;
/** So close to the end one follows. */
const NEAR_PX = 24;

const NEW_LINE = 10;
const LINE = /^(\d{4}-\S+Z) (\d+) (stdout|stderr)\+? ?/;

/** What continues from line to line: the attempt, and the colours of each stream.
 * @typedef {{attempt: string, styles: Record<string, Style>}} Reading */

class Log extends HTMLElement {
  #path = "";
  #first = 0;
  #end = 0;
  #isComplete = true;
  /** @type {Reading} */
  #reading = { attempt: "", styles: {} };
  /** @type {(() => void) | null} */
  #leave = null;
  #box = h("div.log", { tabindex: 0, role: "region", "aria-label": "Output" });
  #note = h("span.dim");
  #earlier = h("button", "Earlier lines");
  #follow = h("button", { "aria-pressed": "true" }, "Follow");

  connectedCallback() {
    const run = this.getAttribute("run") ?? "";
    this.#path = `${runPath(run)}/output`;
    const save = h(
      "a",
      { href: address(this.#path), download: `${run.replaceAll(":", "")}.log` },
      "Download"
    );
    this.replaceChildren(h("div.log-bar", this.#follow, this.#earlier, save, this.#note), this.#box);
    this.#earlier.onclick = () => this.#loadEarlier();
    this.#follow.onclick = () => this.#settle(press(this.#follow, !isPressed(this.#follow)));
    // Who scrolls up wants to read; who scrolls down to the end wants to follow.
    this.#box.onwheel =
      this.#box.onkeyup =
      this.#box.ontouchend =
        () =>
          requestAnimationFrame(() => {
            const { scrollHeight, scrollTop, clientHeight } = this.#box;
            press(this.#follow, scrollHeight - scrollTop - clientHeight < NEAR_PX);
          });
    document.addEventListener("visibilitychange", this.#look);
    this.#try(() => this.#load());
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#look);
    this.#stop();
  }

  /** @param {() => Promise<void>} work */
  async #try(work) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#note.textContent = error.status === 410 ? "The output is no longer kept." : error.message;
    }
  }

  /** @param {string} [range] @param {number} [tail] */
  async #ask(range, tail) {
    const answer = await ask(address(this.#path, { tail }), {
      headers: range === undefined ? {} : { range }
    });
    const piece = new Uint8Array(await answer.arrayBuffer());
    const first = Number(/^bytes (\d+)/.exec(answer.headers.get("content-range") ?? "")?.[1] ?? 0);
    return { piece, first, isComplete: answer.headers.get("x-complete") === "true" };
  }

  async #load() {
    const { piece, first, isComplete } = await this.#ask(undefined, TAIL);
    [this.#first, this.#end, this.#isComplete] = [first, first, isComplete];
    this.#add(piece);
    this.#settle(true);
    this.#look();
  }

  async #loadEarlier() {
    const from = Math.max(0, this.#first - STEP_BYTES);
    const { piece } = await this.#ask(`bytes=${from}-${this.#first - 1}`);
    // The first line of the piece is the end of one that was cut.
    const cut = from === 0 ? 0 : piece.indexOf(NEW_LINE) + 1;
    this.#first = from + cut;
    const height = this.#box.scrollHeight;
    this.#box.prepend(...this.#rows(piece.subarray(cut), { attempt: "", styles: {} }));
    this.#box.scrollTop += this.#box.scrollHeight - height;
    press(this.#follow, false);
    this.#settle(false);
  }

  /** Adds whole lines; what is left may still be written. @param {Uint8Array} piece */
  #add(piece) {
    const whole = this.#isComplete ? piece.length : piece.lastIndexOf(NEW_LINE) + 1;
    this.#end += whole;
    this.#box.append(...this.#rows(piece.subarray(0, whole), this.#reading));
    const excess = this.#box.childElementCount - MAX_LINES;
    for (let index = 0; index < excess; index += 1) this.#box.firstChild?.remove();
    if (0 < excess) this.#first = -1;
  }

  /** @param {Uint8Array} piece @param {Reading} reading */
  #rows(piece, reading) {
    const text = new TextDecoder().decode(piece).replace(/\n$/, "");
    const began = Date.parse(this.getAttribute("started") ?? "");
    return text === ""
      ? []
      : text.split("\n").flatMap((line) => {
          const [head = "", at = "", attempt = reading.attempt, stream = "stdout"] = LINE.exec(line) ?? [];
          const isNext = reading.attempt !== "" && attempt !== reading.attempt;
          reading.attempt = attempt;
          const style = (reading.styles[stream] ??= plain());
          const whole = line.slice(head.length);
          const parts = ansi(whole.slice(0, MAX_CHARS), style).map(({ text, classes }) =>
            classes === "" ? text : h("span", { class: classes }, text)
          );
          const rest = whole.length - MAX_CHARS;
          return [
            isNext ? [h("div.next", `attempt ${attempt}`)] : [],
            h(
              "div",
              { class: stream === "stderr" && "err" },
              h("time", { title: at }, at && stamp(Date.parse(at) - began)),
              h("span", parts, 0 < rest && h("b", ` … ${number(rest)} characters more are in the download`))
            )
          ].flat();
        });
  }

  /** @param {boolean} toEnd */
  #settle(toEnd) {
    this.#earlier.hidden = this.#first <= 0;
    this.#follow.hidden = this.#isComplete;
    this.#note.textContent =
      this.#box.childElementCount === 0
        ? this.#isComplete
          ? "It wrote nothing."
          : "It has written nothing yet."
        : this.#first === 0
          ? ""
          : this.#first < 0
            ? "The oldest lines are in the download."
            : `${bytes(this.#first)} before`;
    if (toEnd) this.#box.scrollTop = this.#box.scrollHeight;
  }

  /** @param {Uint8Array} piece @param {boolean} isComplete */
  #more(piece, isComplete) {
    this.#isComplete = isComplete;
    this.#add(piece);
    this.#settle(isPressed(this.#follow));
    if (isComplete) this.#stop();
  }

  /** Follows if somebody looks and something can come. */
  #look = () => {
    const isWanted = document.visibilityState === "visible" && !this.#isComplete && this.isConnected;
    if (!isWanted) this.#stop();
    else if (this.#leave === null) this.#start();
  };

  async #start() {
    let isOver = false;
    const leave = (this.#leave = () => (isOver = true));
    const place = await logPlace();
    if (isOver || this.#leave !== leave) return place?.();
    if (place === null) {
      const timer = setInterval(
        () =>
          this.#try(async () => {
            // A byte that is there already comes too: a range of nothing would be an error.
            const from = Math.max(0, this.#end - 1);
            const { piece, isComplete } = await this.#ask(from === 0 ? undefined : `bytes=${from}-`);
            this.#more(piece.subarray(this.#end - from), isComplete);
          }),
        POLL_MS
      );
      this.#leave = () => clearInterval(timer);
      return;
    }
    const source = new EventSource(address(`${this.#path}/events`, { after: this.#end }));
    this.#leave = () => {
      source.close();
      place();
    };
    source.addEventListener("text", ({ data, lastEventId }) => {
      this.#more(new TextEncoder().encode(JSON.parse(data).text), false);
      this.#end = Number(lastEventId);
    });
    source.addEventListener("end", () => this.#more(new Uint8Array(), true));
    source.onerror = () => {
      this.#stop();
      setTimeout(this.#look, POLL_MS);
    };
  }

  #stop() {
    this.#leave?.();
    this.#leave = null;
  }
}

/** @param {HTMLElement} button */
const isPressed = (button) => button.ariaPressed === "true";

/** @param {HTMLElement} button @param {boolean} isOn */
function press(button, isOn) {
  button.ariaPressed = String(isOn);
  return isOn;
}

customElements.define("ms-log", Log);

/** @param {Run} run */
export const log = (run) =>
  h("ms-log", { run: run.run, started: run.started, "data-own": true, "data-key": "log" });
