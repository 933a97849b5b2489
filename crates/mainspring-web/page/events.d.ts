// Events of the HTTP API's streams, for which OpenAPI has no words.
//
// ```text
// GET runs/{run}/output/events?after=OFFSET
//
//   id: 18213                                 the offset after these bytes
//   event: text
//   data: {"text": "2026-10-25T00:30:01.250Z 1 stdout 17 files\n"}     whole lines
//
//   event: end
//   data: {"state": "succeeded"}
//
// GET events?after=EPOCH.N                    `after` does for a new stream what Last-Event-ID does for an old one
// ```

import type { Instant, RunState } from "./api.d.ts";

export interface Events {
  /** First on each stream. */
  hello: { version: string; assets: string; now: Instant };
  "run.changed": { run: string; job: string; state: RunState };
  "job.changed": { job: string };
  "once.changed": { id: string };
  "clock.jumped": Record<string, never>;
  "audit.added": Record<string, never>;
  "server.ending": Record<string, never>;
  /** Every 15 seconds, without an id: by this the page knows that the stream lives. */
  beat: Record<string, never>;
  /** What was missed is not known: ask again. Where another server plans it is all that is told. */
  reset: { elsewhere?: boolean };
}

export type EventName = keyof Events;
