// Uses the types that openapi-typescript has made of the description, with openapi-fetch: clients.js ADDRESS TOKEN.
import assert from "node:assert";
import createClient from "openapi-fetch";
import type { paths } from "./api";

const [address, token] = process.argv.slice(2) as [string, string];
const { GET, POST, DELETE } = createClient<paths>({
  baseUrl: address.replace(/\/$/, ""),
  headers: { Authorization: `Bearer ${token}` },
});

// How often it is asked for the end of a run, ten times a second.
const MAX_ASKED = 600;

// The parts of a run's address.
function place(href: string) {
  const [job, nominal, series] = href.split("/").slice(-3) as [string, string, string];
  return { job, nominal, series: Number(series) };
}

async function wait(path: ReturnType<typeof place>, state: string) {
  for (let tries = 0; tries < MAX_ASKED; tries += 1) {
    const { data } = await GET("/api/v1/runs/{job}/{nominal}/{series}", { params: { path } });
    if (data?.state === state) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`it has not come to ${state}`);
}

async function run(job: string) {
  const { data, error } = await POST("/api/v1/jobs/{job}/run", { params: { path: { job } } });
  assert(data, JSON.stringify(error));
  return place(data.href);
}

async function main() {
  const jobs = await GET("/api/v1/jobs");
  assert.deepEqual(jobs.data?.items.map((job) => job.name).sort(), ["idle", "long"]);
  await wait(await run("idle"), "succeeded");
  const submitted = await POST("/api/v1/once", {
    body: { name: "later", in: "1h", work: { process: { run: ["true"] } } },
  });
  assert(submitted.data, JSON.stringify(submitted.error));
  const waiting = await GET("/api/v1/once");
  assert.deepEqual(waiting.data?.items.map((once) => once.name), ["later"]);
  const withdrawn = await DELETE("/api/v1/once/{id}", { params: { path: { id: submitted.data.id ?? "" } } });
  assert(withdrawn.response.ok, JSON.stringify(withdrawn.error));
  const long = await run("long");
  await wait(long, "running");
  const ended = await POST("/api/v1/runs/{job}/{nominal}/{series}/cancel", { params: { path: long }, body: {} });
  assert(ended.response.ok, JSON.stringify(ended.error));
  await wait(long, "cancelled");
  const refused = await POST("/api/v1/jobs/{job}/run", { params: { path: { job: "nobody" } }, body: {} });
  assert.equal(refused.error?.status ?? refused.response.status, 404);
  console.log("typescript: submit, run, wait, list, cancel");
}

void main();
