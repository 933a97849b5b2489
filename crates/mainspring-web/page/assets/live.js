// Events of the server, as they happen, by one stream for each browser.
//
// ```text
// visible pages -- ask for the lock --> one has it: EventSource --> server
//      ^                                   |
//      '------- BroadcastChannel <---------'
// ```
//
// A browser has six connections to a host, and a stream holds one for good: with a stream in each tab the
// seventh tab would load for ever. A hidden page gives the lock back, so that without a page that is looked
// at there is no stream. Without Web Locks (http to another machine) each visible page has a stream of its
// own.
//
// Cost: one connection.
//
// Does not repeat what was missed: the server does, from the id on, or says `reset`.
//
// Source: WHATWG HTML, server-sent events; Web Locks API.

/** @import {EventName} from "../events.d.ts" */
import { address, askStatus, Refused } from "./api.js";

/** `deaf`: the server answers, and gives no stream.
 * @typedef {"live" | "connecting" | "down" | "ending" | "deaf"} Connection */
/** @typedef {{event: EventName, data: any, id: string} | {state: Connection} | {hello: true}} Message */

/** @type {readonly EventName[]} */
const EVENTS = [
  "hello",
  "run.changed",
  "job.changed",
  "once.changed",
  "clock.jumped",
  "audit.added",
  "server.ending",
  "beat",
  "reset"
];

/** The longest wait before the next try: one who looks at the page waits with it. */
const MAX_WAIT_MS = 15_000;

/** The server says something every 15 seconds. A stream that is silent for so long is dead, whatever the
 * browser thinks. */
const SILENCE_MS = 45_000;

const NAME = `mainspring ${new URL(".", location.href).pathname}`;

/** Follows the server while the page is visible. @param {(event: EventName, data: any) => void} onEvent
 * @param {(state: Connection) => void} onState */
export function follow(onEvent, onState) {
  const channel = new BroadcastChannel(NAME);
  let last = "";
  /** @type {Connection} */
  let state = "connecting";
  /** @type {AbortController | null} */
  let wish = null;
  /** @type {(() => void) | null} */
  let leave = null;

  /** @param {Message} message */
  function hear(message) {
    if ("hello" in message) {
      if (leave !== null) channel.postMessage({ state });
    } else if ("state" in message) {
      state = message.state;
      onState(state);
    } else {
      if (message.id !== "") last = message.id;
      onEvent(message.event, message.data);
    }
  }
  /** @param {Message} message */
  function tell(message) {
    hear(message);
    channel.postMessage(message);
  }
  channel.onmessage = ({ data }) => hear(data);

  /** Holds a stream until the page is hidden. */
  function lead() {
    return new Promise((/** @type {(value: void) => void} */ resolve) => {
      let wait = 500;
      let timer = 0;
      let isOver = false;
      /** @type {EventSource | null} */
      let source = null;
      const open = () => {
        source = new EventSource(address("events", { after: last }));
        for (const event of EVENTS) {
          source.addEventListener(event, (message) => {
            listen();
            tell({ event, data: JSON.parse(message.data), id: message.lastEventId });
            if (event === "server.ending") tell({ state: "ending" });
          });
        }
        source.onopen = () => {
          wait = 500;
          tell({ state: "live" });
          listen();
        };
        source.onerror = retry;
      };
      const listen = () => {
        clearTimeout(timer);
        timer = setTimeout(retry, SILENCE_MS);
      };
      // EventSource tries again by itself only after some errors, and does not say which one it was.
      const retry = async () => {
        source?.close();
        clearTimeout(timer);
        /** @type {Connection} */
        let state = "deaf";
        try {
          await askStatus();
        } catch (error) {
          state = "down";
          if (error instanceof Refused && error.status === 401) wait = MAX_WAIT_MS;
        }
        if (isOver) return;
        tell({ state });
        timer = setTimeout(open, wait);
        wait = Math.min(MAX_WAIT_MS, wait * 2);
      };
      leave = () => {
        leave = null;
        isOver = true;
        clearTimeout(timer);
        source?.close();
        resolve();
      };
      open();
    });
  }

  function look() {
    const isVisible = document.visibilityState === "visible";
    if (isVisible && wish === null && leave === null) {
      wish = new AbortController();
      channel.postMessage({ hello: true });
      const locks = /** @type {LockManager | undefined} */ (navigator.locks);
      if (locks === undefined) lead();
      else locks.request(NAME, { signal: wish.signal }, lead).catch(() => {});
    } else if (!isVisible) {
      wish?.abort();
      wish = null;
      leave?.();
    }
  }
  document.addEventListener("visibilitychange", look);
  look();
  return {
    /** Tries again at once, if the stream is ours. */
    retry() {
      if (leave === null) return;
      leave();
      wish = null;
      look();
    }
  };
}

/** At most so many logs of a browser have a stream; others ask again and again. */
const MAX_LOG_STREAMS = 3;

/** One of the few places for streams of logs, or null. Call it to give it back.
 * @returns {Promise<(() => void) | null>} */
export async function logPlace() {
  const locks = /** @type {LockManager | undefined} */ (navigator.locks);
  if (locks === undefined) return () => {};
  for (let index = 0; index < MAX_LOG_STREAMS; index += 1) {
    const place = await new Promise((/** @type {(value: (() => void) | null) => void} */ resolve) => {
      locks.request(`${NAME} log ${index}`, { ifAvailable: true }, (lock) => {
        if (lock === null) return resolve(null);
        return new Promise((/** @type {(value: void) => void} */ release) => resolve(release));
      });
    });
    if (place !== null) return place;
  }
  return null;
}
