"""procrastinate, measured as main.rs says: `python contestant.py procrastinate URL MODE COUNT`."""

import asyncio
import os
import sys
import time

import procrastinate

BULK = int(os.environ["BULK"])
SUBMITTERS = int(os.environ["SUBMITTERS"])

_, url, mode, count_text = sys.argv[1:]
count = int(count_text)
connector = procrastinate.PsycopgConnector(conninfo=url, min_size=4, max_size=20)
app = procrastinate.App(connector=connector)
run_count = 0
latest = asyncio.Event()


@app.task(name="empty", queue="empty")
async def empty(number):
    global run_count
    run_count += 1
    latest.set()


async def open_count():
    rows = await connector.execute_query_all_async(
        "SELECT count(*) AS count FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    )
    return rows[0]["count"]


async def submit_some(first):
    for number in range(first, count, SUBMITTERS):
        await empty.defer_async(number=number)


async def main():
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        worker = asyncio.create_task(app.run_worker_async(concurrency=25, install_signal_handlers=False))
        began = time.perf_counter()
        if mode == "latency":
            latencies = []
            for number in range(count):
                submitted = time.perf_counter()
                latest.clear()
                await empty.defer_async(number=number)
                await latest.wait()
                latencies.append((time.perf_counter() - submitted) * 1000)
                await asyncio.sleep(0.02)
            print(*latencies)
        else:
            if mode == "bulk":
                for at in range(0, count, BULK):
                    chunk = range(at, min(at + BULK, count))
                    await empty.batch_defer_async(*({"number": number} for number in chunk))
            else:
                await asyncio.gather(*(submit_some(first) for first in range(SUBMITTERS)))
            while run_count < count or await open_count() > 0:
                await asyncio.sleep(0.005)
            print(time.perf_counter() - began)
        worker.cancel()


asyncio.run(main())
