"""Kills a run of the hospital ten times, and holds its log against those of runs that nobody disturbed.

`python -m bench.hospital kills [SEED]`: the default hospital with its beds, in which many come at once, the laboratory
stands still and a doctor stays away; nurse and doctor are models behind an endpoint of ours that answers one request in
twenty with a fault of a server. Undisturbed with one, two and four workers; then with two, killed with signal 9 ten
times, once it has got as far as the seed says, and taken up again after each.
"""

import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from polyclinic.testing.endpoint import ENDPOINT_FAULTS, EndpointProcess

SEED = 20_263
KILLS, WORKERS = 10, (1, 2, 4)
LATER = 0.3  # seconds, at most, from when it has got so far to the kill
FAULTS, LATENCY = 0.05, 0.03
EVENTS = ("mass arrival 40 at day 1 10:00", "outage laboratory 4 h at day 1 09:00", "absent doctor neurology at day 2")
TOWN = ("--residents", "200", "--days", "2", *(word for event in EVENTS for word in ("--event", event)))


def kills(seeds=()):
    for seed in seeds or (str(SEED),):
        # A server's faults, which are asked about again: what does not depend on how often that is.
        kinds = [kind for kind in ENDPOINT_FAULTS if kind not in {"hang", "429-after", "429-date", "huge"}]
        with (
            EndpointProcess(latency=LATENCY, faults=FAULTS, kinds=kinds) as endpoint,
            tempfile.TemporaryDirectory() as folder,
        ):
            _kill(seed, endpoint, Path(folder))


def _kill(seed, endpoint, folder):
    models = ("--set", "run.nurse=direct/n", "--doctor", "direct/d", "--base-url", endpoint.url)
    made = ("run", *TOWN, "--seed", seed, *models, "--set", "run.max-failures=100")
    hashes, events = {}, 0
    for workers in WORKERS:
        began = time.monotonic()
        document = json.loads(_call(*made, "--on", f"local:{workers}", "--out", folder / f"whole-{workers}", "--json"))
        hashes[workers], events = document["log_hash"], document["events"]
        print(
            f"seed {seed}, {workers} workers, undisturbed: {document['visits']} visits, {document['events']:,} "
            f"happenings, {document['admitted']} admitted, {document['failed']} failed, {document['calls']:,} calls, "
            f"{time.monotonic() - began:.0f} s; log {document['log_hash'][:16]}",
            flush=True,
        )
    rng, kept, killed = random.Random(int(seed)), folder / "killed", []
    command = (*made, "--on", "local:2", "--out", kept)
    for far in sorted(rng.randrange(events) for _ in range(KILLS)):
        process = subprocess.Popen(_words(*command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while _stored(kept) < far and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, LATER))
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        killed.append(_stored(kept))
    print(f"  killed {len(killed)} times, with so many happenings on disk: {', '.join(map(str, killed))}", flush=True)
    document = json.loads(_call(*command, "--set", "run.max-failures=100", "--json"))
    same = {document["log_hash"], *hashes.values()}
    faults = sum(endpoint.counters()["faults"].values())
    print(f"  taken up again to its end: log {document['log_hash'][:16]}; {faults:,} faults of the endpoint in all")
    print(f"  {len(same)} log hash of {len(WORKERS) + 1} runs{'' if len(same) == 1 else ': NOT THE SAME HISTORY'}")


def _words(*given):
    return [sys.executable, "-m", "polyclinic", *map(str, given)]


def _call(*given):
    return subprocess.run(_words(*given), stdout=subprocess.PIPE, check=True, text=True).stdout


def _stored(folder):
    """Returns how many happenings a run that is not being written has on disk."""
    try:
        connection = sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)
        try:
            return connection.execute("SELECT count(*) FROM happenings").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0
