"""Uses the client that openapi-python-client has made of the description: clients.py ADDRESS TOKEN."""

import sys
import time

from mainspring_client import AuthenticatedClient
from mainspring_client.api.jobs import get_jobs, post_jobs_job_run
from mainspring_client.api.once import delete_once_id, get_once, post_once
from mainspring_client.api.runs import get_runs, get_runs_job_nominal_series, post_runs_job_nominal_series_cancel
from mainspring_client.models import Noted, OnceParams, Problem, RunParams

MAX_ASKED = 600
"""How often it is asked for the end of a run, ten times a second."""


def good(answer):
    """An answer that is no problem."""
    assert answer is not None and not isinstance(answer, Problem), answer
    return answer


def place(started):
    """The job, the time and the number of a run, by its address."""
    job, nominal, series = started.href.split("/")[-3:]
    return job, nominal, int(series)


def wait(client, run, *states):
    for _ in range(MAX_ASKED):
        found = good(get_runs_job_nominal_series.sync(*run, client=client))
        if found.state.value in states:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{run} has not come to {states}")


client = AuthenticatedClient(base_url=sys.argv[1].rstrip("/"), token=sys.argv[2])
# List.
assert {job.name for job in good(get_jobs.sync(client=client)).items} == {"idle", "long"}
# Run, and wait.
run = place(good(post_jobs_job_run.sync("idle", client=client, body=RunParams())))
assert wait(client, run, "succeeded").job == "idle"
assert [found.job for found in good(get_runs.sync(client=client, job="idle")).items] == ["idle"]
# The same key is the same run.
keyed = [place(good(post_jobs_job_run.sync("idle", client=client, body=RunParams(key="once")))) for _ in range(2)]
assert keyed[0] == keyed[1], keyed
# Submit, list, withdraw.
later = {"name": "later", "in": "1h", "work": {"process": {"run": ["true"]}}}
submitted = good(post_once.sync(client=client, body=OnceParams.from_dict(later)))
assert [once.name for once in good(get_once.sync(client=client)).items] == ["later"]
withdrawn = delete_once_id.sync_detailed(submitted.id, client=client)
assert withdrawn.status_code < 300, withdrawn
assert good(get_once.sync(client=client)).items == []
# Cancel what runs.
long = place(good(post_jobs_job_run.sync("long", client=client, body=RunParams())))
wait(client, long, "running")
good(post_runs_job_nominal_series_cancel.sync(*long, client=client, body=Noted(note="enough")))
wait(client, long, "cancelled")
# What is refused has its reason.
refused = post_jobs_job_run.sync("nobody", client=client, body=RunParams())
assert isinstance(refused, Problem), refused
print("python: submit, run, wait, list, cancel")
