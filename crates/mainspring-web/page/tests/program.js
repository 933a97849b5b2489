// The real program, at $MAINSPRING, as tests start it.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const PROGRAM = process.env.MAINSPRING ?? "";

/** Starts the program with a file of jobs, gives a way to ask it, and stops it.
 * @param {string} jobs
 * @param {(site: {address: string, pid: number, ask: (...args: string[]) => string}) => Promise<void>} run */
export async function served(jobs, run) {
  const folder = mkdtempSync(join(tmpdir(), "mainspring-page-"));
  const [data, file] = [join(folder, "data"), join(folder, "jobs.toml")];
  writeFileSync(file, jobs, { mode: 0o644 });
  const options = ["--data", data, "--listen=127.0.0.1:0", "--define-over-http", file];
  const server = spawn(PROGRAM, ["serve", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(server, "exit");
  try {
    for await (const line of createInterface(server.stdout)) if (line.includes("jobs, data in")) break;
    server.stdout.resume();
    const ask = (/** @type {string[]} */ ...args) =>
      execFileSync(PROGRAM, [...args, "--data", data], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"]
      });
    await run({ address: ask("open", "--print").trim(), pid: server.pid ?? 0, ask });
  } finally {
    server.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
