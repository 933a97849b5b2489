// The status bar at the bottom: whether the page is live, and what there is to say. It moves nothing.
//
// Cost: none worth a word.

/** @import {Child} from "./dom.js" */
import { clockSkew } from "./api.js";
import { h, the } from "./dom.js";
import { length } from "./format.js";

/** The live region says at most a sentence in this time. */
const SPEAK_MS = 5_000;
/** A sentence stays so long. */
const SAID_MS = 8_000;
/** A difference of clocks that is worth a word. */
const MAX_SKEW_MS = 5_000;

const state = the("#state", HTMLElement);
const sentence = the("#said", HTMLElement);
const liveRegion = the("#heard", HTMLElement);

let timer = 0;
let waiting = "";
let spoken = -SPEAK_MS;

/** @param {Child} text */
export function say(text) {
  clearTimeout(timer);
  sentence.replaceChildren(h("span", text));
  timer = setTimeout(() => sentence.replaceChildren(), SAID_MS);
  speak(sentence.textContent ?? "");
}

/** For those who hear the page, unless something waits to be heard. @param {string} text */
export const announce = (text) => waiting || speak(text);

/** What is said too soon waits, and the last of it is heard. @param {string} text */
function speak(text) {
  if (!waiting) setTimeout(hear, spoken + SPEAK_MS - performance.now());
  waiting = text;
}

function hear() {
  liveRegion.textContent = waiting;
  waiting = "";
  spoken = performance.now();
}

let connection = "";

/** Says how the page stands to the server; whether it is live again. @param {string} now */
export function connect(now) {
  const wasDown = connection === "down" || connection === "ending";
  if (now === connection || (now === "down" && connection === "ending")) return false;
  connection = now;
  const skew = clockSkew();
  const clock = `, by the server\u2019s clock, which is ${length(skew)} ${0 < skew ? "ahead" : "behind"}`;
  const texts = /** @type {Record<string, string>} */ ({
    live: `live${Math.abs(skew) < MAX_SKEW_MS ? "" : clock}`,
    ending: "The server is ending. The page waits for the next one.",
    deaf: "Not live: the page asks every 15 seconds.",
    down: "The server does not answer. What you see is old; the page tries again."
  });
  state.className = `state ${now.replace(" ", "-")}`;
  state.textContent = texts[now] ?? now;
  const isBack = now === "live" && wasDown;
  if (isBack) say("The server answers again.");
  return isBack;
}
