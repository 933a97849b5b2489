// graphile-worker and pg-boss, measured as main.rs says: `node contestant.mjs NAME URL MODE COUNT`.

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import PgBoss from "pg-boss";

const BULK = Number(process.env.BULK);
const SUBMITTERS = Number(process.env.SUBMITTERS);

/** How each is opened: what submits one, what submits many, and what counts those that have not ended. */
const QUEUES = {
  // With the batches of its page on performance.
  "graphile-worker": async (url, onRun) => {
    const logger = new Logger(() => () => {});
    const utils = await makeWorkerUtils({ connectionString: url, logger });
    await utils.migrate();
    const worker = { concurrentJobs: 25, maxPoolSize: 20, localQueue: { size: 500 }, completeJobBatchDelay: 0 };
    const taskList = { empty: async (payload) => onRun(payload) };
    await run({ connectionString: url, logger, noHandleSignals: true, preset: { worker }, taskList });
    return {
      submit: (payload) => utils.addJob("empty", payload),
      submitAll: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: "empty", payload }))),
      open: "SELECT count(*)::int4 AS count FROM graphile_worker._private_jobs",
    };
  },
  // Its polling knows no notification: half a second is the shortest that it takes.
  "pg-boss": async (url, onRun) => {
    const boss = new PgBoss({ connectionString: url, max: 20 });
    boss.on("error", (error) => console.error(error));
    await boss.start();
    await boss.createQueue("empty");
    const handle = async (jobs) => jobs.forEach((job) => onRun(job.data));
    await boss.work("empty", { batchSize: 1000, pollingIntervalSeconds: 0.5 }, handle);
    return {
      submit: (payload) => boss.send("empty", payload),
      submitAll: (payloads) => boss.insert(payloads.map((data) => ({ name: "empty", data }))),
      open: "SELECT count(*)::int4 AS count FROM pgboss.job WHERE name = 'empty' AND state < 'completed'",
    };
  },
};

const [name, url, mode, countText] = process.argv.slice(2);
const count = Number(countText);
let onLatest = () => {};
const queue = await QUEUES[name](url, () => onLatest());
const client = new pg.Client({ connectionString: url });
await client.connect();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function untilAllHaveEnded() {
  while ((await client.query(queue.open)).rows[0].count > 0) await sleep(5);
}

if (process.env.MEMBER) console.log("works");
const payloads = Array.from({ length: count }, (_, number) => ({ number }));
const began = performance.now();
if (mode === "latency") {
  const latencies = [];
  for (const payload of payloads) {
    const submitted = performance.now();
    const started = new Promise((resolve) => {
      onLatest = resolve;
    });
    await queue.submit(payload);
    await started;
    latencies.push(performance.now() - submitted);
    await sleep(20);
  }
  console.log(latencies.join(" "));
} else {
  if (mode === "bulk") {
    for (let at = 0; at < count; at += BULK) await queue.submitAll(payloads.slice(at, at + BULK));
  } else {
    const submitter = async (first) => {
      for (let at = first; at < count; at += SUBMITTERS) await queue.submit(payloads[at]);
    };
    await Promise.all(Array.from({ length: SUBMITTERS }, (_, first) => submitter(first)));
  }
  if (process.env.MEMBER) {
    console.log("submitted");
    await new Promise(() => {});
  }
  await untilAllHaveEnded();
  console.log((performance.now() - began) / 1000);
}
process.exit(0);
