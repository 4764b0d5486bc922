"""Parts of a command on two Ray nodes of this machine: how quick, whether the same comes, and what a kill costs.

`python -m bench cluster [--replicas N] [--cases N] [replicas|parts|kills]...`

- replicas: runs of the hospital on two nodes of one processor each, and by two local processes, in turn;
- parts: an evaluation in eight parts, item by item against the same in one;
- kills: signal 9 to the process of a part, to the second node, and to the command itself, which is given again.

It needs the extra `ray`; the cluster is its own, and is stopped at the end.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from polyclinic.testing.process import EndpointProcess

BAR = 1.15  # of the time of two local processes
PARTS = 8
TOWN = ("--residents", "600", "--days", "3")
EVERY = ("replicas", "parts", "kills")


def run(*given):
    parser = argparse.ArgumentParser(prog="python -m bench cluster")
    parser.add_argument("what", nargs="*", choices=[*EVERY, []], default=list(EVERY))
    parser.add_argument("--replicas", type=int, default=16)
    parser.add_argument("--cases", type=int, default=40)
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        for what in options.what:
            scratch = Path(folder) / what
            scratch.mkdir()
            {"replicas": _replicas, "parts": _parts, "kills": _kills}[what](scratch, options)


@contextlib.contextmanager
def _cluster(processors):
    """Two raylets, each of so many processors; yields the address of the client's server."""
    ray, head, client = Path(sys.executable).with_name("ray"), _free(), _free()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": _environment()}
    common = ("--num-cpus", str(processors), "--disable-usage-stats")
    start = [str(ray), "start"]
    first = [*start, "--head", "--port", str(head), "--ray-client-server-port", str(client), *common]
    try:
        subprocess.run([*first, "--include-dashboard=false"], check=True, **quiet)
        subprocess.run([*start, "--address", f"127.0.0.1:{head}", *common], check=True, **quiet)
        yield f"ray://127.0.0.1:{client}"
    finally:
        subprocess.run([str(ray), "stop", "--force"], check=False, **quiet)


def _replicas(folder, options):
    took = {}
    with _cluster(1) as address:
        for where in ("processes:2", address):
            began = time.monotonic()
            name = where.partition(":")[0]
            _call("run", *TOWN, "--replicas", options.replicas, "--out", folder / name, "--on", where, "--json")
            took[name] = time.monotonic() - began
    hashes = {name: [_hash(folder / name / f"seed-{n}") for n in range(options.replicas)] for name in took}
    ratio = took["ray"] / took["processes"]
    print(
        f"{options.replicas} replicas: two processes {took['processes']:.1f} s, two Ray nodes {took['ray']:.1f} s, "
        f"ratio {ratio:.2f} (bar {BAR}); {'the same logs' if hashes['ray'] == hashes['processes'] else 'LOGS DIFFER'}",
        flush=True,
    )


def _parts(folder, options):
    items = {}
    with _cluster(PARTS // 2) as address, EndpointProcess(latency=0.05, seed=1) as endpoint:
        asked = []
        for name, more in {"one": (), "parts": ("--on", address)}.items():
            before = endpoint.counters()["requests"]
            _call(*_evaluation(endpoint, options.cases), "--out", folder / name, *more)
            asked.append(endpoint.counters()["requests"] - before)
            items[name] = _items(folder / name)
    same = "the same item by item" if items["one"] == items["parts"] else "ITEMS DIFFER"
    print(
        f"{options.cases} visits in {PARTS} parts: {same}; requests {asked[0]} in one, {asked[1]} in parts", flush=True
    )


def _kills(folder, options):
    with _cluster(1) as address, EndpointProcess(latency=0.3, seed=1) as endpoint:
        _call(*_evaluation(endpoint, options.cases), "--out", folder / "whole")
        whole, needed = _items(folder / "whole"), endpoint.counters()["requests"]
        for victim in ("part", "command", "node"):
            before = endpoint.counters()["requests"]
            kept, out = folder / f"{victim}.sqlite", folder / victim
            words = (*_evaluation(endpoint, options.cases), "--journal", kept, "--out", out, "--on", address)
            process = subprocess.Popen(
                _words(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
            )
            while endpoint.counters()["requests"] < before + needed // 3 and process.poll() is None:
                time.sleep(0.05)
            _kill(victim, process)
            error = process.communicate()[1].decode()
            if victim == "command":
                _wait_until_gone()
                shutil.rmtree(out, ignore_errors=True)
                _call(*words)
            elif process.returncode:
                print(f"  {error.strip().splitlines()[-1]}")
            more = endpoint.counters()["requests"] - before - needed
            same = "the same items" if out.is_dir() and _items(out) == whole else "ITEMS DIFFER"
            print(f"kill -9 of the {victim}: {same}; {needed} requests are needed, {more} were made again", flush=True)


def _kill(victim, process):
    if victim == "command":
        process.kill()
        return
    pattern = {"part": "polyclinic.cluster.child", "node": "raylet/raylet"}[victim]
    found = []
    while not found and process.poll() is None:
        found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False).stdout.split()
    if not found:
        print(f"  the command ended before its {victim} could be killed")
        return
    # The second raylet is the node that is not the head.
    os.kill(int(found[-1] if victim == "node" else found[0]), signal.SIGKILL)


def _evaluation(endpoint, cases):
    models = ("--doctor", "direct/x", "--base-url", endpoint.url, "--concurrency", "8")
    return ("eval", "aie", "--cases", "shipped", "--limit", cases, *models)


def _items(folder):
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def _hash(folder):
    return json.loads((folder / "summary.json").read_text())["log_hash"]


def _wait_until_gone():
    """Waits until the parts of a command that was killed have ended, as they do by themselves."""
    while subprocess.run(["pgrep", "-f", "polyclinic.cluster.child"], capture_output=True, check=False).returncode == 0:
        time.sleep(0.2)
    time.sleep(1)


def _words(*words):
    return [sys.executable, "-m", "polyclinic", *map(str, words)]


def _call(*words):
    done = subprocess.run(_words(*words), capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()[-2000:]}")


def _environment():
    return {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


def _free():
    """Returns a port that is free; Ray gives its workers those from 10002 on."""
    for port in random.sample(range(7_000, 10_000), 100):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    sys.exit("no port below 10002 is free")


if __name__ == "__main__":
    run(*sys.argv[1:])
