"""Parts of a command on two Ray nodes of this machine: how quick, whether the same comes, and what a kill costs.

`python -m bench cluster [--cases N] [visits|parts|kills]...`

- visits: a run of the hospital on two nodes of one processor each, and by two local processes;
- parts: an evaluation in eight parts, item by item against the same in one;
- kills: signal 9 to the process of a part, to the command itself, which is given again, to the second node while its
  part asks, and to all of the head while both parts ask; the command is given again when there is another head.

It needs the extra `ray`; the cluster is its own, and is stopped at the end.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from polyclinic.testing.endpoint import EndpointProcess

PARTS = 8
AT_ONCE = 8
ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
TOWN = ("--residents", "600", "--days", "3")
EVERY = ("visits", "parts", "kills")
VICTIMS = ("part", "command", "node", "head")
WORKER = "ray::RayWorker"
"""How the process of a worker is called, and what it is doing now."""


def run(*given):
    parser = argparse.ArgumentParser(prog="python -m bench cluster")
    parser.add_argument("what", nargs="*", choices=[*EVERY, []], default=list(EVERY))
    parser.add_argument("--cases", type=int, default=40)
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        for what in options.what:
            scratch = Path(folder) / what
            scratch.mkdir()
            {"visits": _visits, "parts": _parts, "kills": _kills}[what](scratch, options)


class Nodes:
    """Two raylets of this machine: `address` is that of the client's server at the first, the head.

    `gcs` is where the cluster's tables are, and `written` the folder of its logs.
    """

    def __init__(self, processors, client=None):
        # For those that this starts; nobody is let in but with a token otherwise, which lies in the user's home.
        os.environ |= ENVIRONMENT
        from ray.cluster_utils import Cluster

        client = client or _free()
        common = {"num_cpus": processors, "include_dashboard": False}
        soon = {"health_check_period_ms": 500, "health_check_timeout_ms": 2000, "health_check_failure_threshold": 4}
        self.port, self.address = client, f"ray://127.0.0.1:{client}"
        self._all = Cluster(True, head_node_args={"ray_client_server_port": client, "_system_config": soon, **common})
        self._common = common
        self.gcs, self.written = self._all.address, Path(self._all.head_node.get_session_dir_path())
        try:
            self._second = self._all.add_node(**common)
        except BaseException:
            self._all.shutdown()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._all.shutdown()

    @contextlib.contextmanager
    def another(self, **environment):
        """Has a third node in the cluster, with variables of its own."""
        node = self._all.add_node(env_vars=environment, **self._common)
        try:
            yield
        finally:
            self._all.remove_node(node)

    def kill_second(self):
        (raylet,) = self._second.all_processes["raylet"]
        raylet.process.kill()
        raylet.process.wait()

    def kill_head(self):
        """Ends whatever is of the head, as a machine does that loses its power."""
        import psutil

        first = [psutil.Process(one.process.pid) for its in self._all.head_node.all_processes.values() for one in its]
        for one in [*first, *(child for parent in first for child in parent.children(recursive=True))]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()

    def second_asks(self, endpoint):
        """Whether a part on the second node has a connection to the endpoint."""
        import psutil

        (raylet,), port = self._second.all_processes["raylet"], urlsplit(endpoint.url).port
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in psutil.Process(raylet.process.pid).children(recursive=True):
                if is_worker(one.cmdline()) and any(there.raddr[1:] == (port,) for there in one.net_connections()):
                    return True
        return False


def is_worker(words):
    """Whether these are the words of a worker's process."""
    return bool(words) and words[0].startswith(WORKER)


def _visits(folder, options):
    took = {}
    with Nodes(1) as nodes:
        for where in ("local:2", nodes.address):
            began = time.monotonic()
            name = where.partition(":")[0]
            _call("run", *TOWN, "--out", folder / name, "--on", where, "--json")
            took[name] = time.monotonic() - began
    same = _hash(folder / "ray") == _hash(folder / "local")
    print(
        f"a run: two processes {took['local']:.1f} s, two Ray nodes {took['ray']:.1f} s; "
        f"{'the same log' if same else 'LOGS DIFFER'}",
        flush=True,
    )


def _parts(folder, options):
    with Nodes(PARTS // 2) as nodes, EndpointProcess(latency=0.05, seed=1) as endpoint:
        same, *asked = in_parts(folder, nodes.address, endpoint, _evaluation(endpoint, options.cases))
    same = "the same item by item" if same else "ITEMS DIFFER"
    print(
        f"{options.cases} visits in {PARTS} parts: {same}; requests {asked[0]} in one, {asked[1]} in parts", flush=True
    )


def in_parts(folder, where, endpoint, words):
    """Gives a command once in one and once in parts; returns whether the items are the same, and requests of both."""
    items, asked = [], []
    for name, more in {"one": (), "parts": ("--on", where)}.items():
        before = endpoint.counters()["requests"]
        _call(*words, "--out", folder / name, *more)
        asked.append(endpoint.counters()["requests"] - before)
        items.append(_items(folder / name))
    return items[0] == items[1], *asked


def _kills(folder, options):
    with EndpointProcess(latency=0.3, seed=1) as endpoint:
        words = _evaluation(endpoint, options.cases)
        _call(*words, "--out", folder / "whole")
        needed = endpoint.counters()["requests"]
        for victim in VICTIMS:
            with Nodes(1) as nodes:  # anew for each: of those before one node is gone
                began = time.monotonic()
                same, again, said = killed(victim, folder, nodes, endpoint, words, needed)
                print(
                    f"kill -9 of the {victim}: {'the same items' if same else 'ITEMS DIFFER'}; of {needed} requests "
                    f"{again} were made again, {AT_ONCE} at most in flight; {time.monotonic() - began:.0f} s; "
                    f"{' / '.join(said) or 'nothing'} was said",
                    flush=True,
                )


def killed(victim, folder, nodes, endpoint, words, needed):
    """Gives a command in parts, and kills one of `VICTIMS`; gives it again where it cannot go on, to another head.

    Returns:
        Whether the items are those in `folder / "whole"`, how many more requests were made than are needed, and the
        lines that a command said that could not go on.
    """
    before, out = endpoint.counters()["requests"], folder / victim
    words = (*words, "--out", out, "--on", nodes.address)
    with subprocess.Popen(
        _words(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
    ) as process:
        while process.poll() is None and (
            endpoint.counters()["requests"] < before + needed // 3
            or (victim == "node" and not nodes.second_asks(endpoint))
        ):
            time.sleep(0.05)
        if process.poll() is not None:
            sys.exit(f"it ended before its {victim} was killed: {process.stderr.read().decode()}")
        match victim:
            case "part":
                os.kill(_one_part(endpoint), signal.SIGKILL)
            case "command":
                process.kill()
            case "node":
                nodes.kill_second()
            case "head":
                nodes.kill_head()
        error = process.communicate()[1].decode()
    if victim == "command":
        _call(*words)
    elif victim == "head":
        with Nodes(1, nodes.port):
            _call(*words)
    elif process.returncode:
        sys.exit(error)
    said = error.strip().splitlines() if victim == "head" else []
    return _items(out) == _items(folder / "whole"), endpoint.counters()["requests"] - before - needed, said


def _one_part(endpoint):
    """Returns the process of a part, known by whom it asks."""
    import psutil

    while True:
        for one in psutil.process_iter(["cmdline"]):
            with contextlib.suppress(psutil.NoSuchProcess):
                if is_worker(one.info["cmdline"]) and any(
                    there.raddr[1:] == (urlsplit(endpoint.url).port,) for there in one.net_connections()
                ):
                    return one.pid


def _evaluation(endpoint, cases):
    models = ("--doctor", "direct/x", "--base-url", endpoint.url, "--concurrency", AT_ONCE)
    return ("eval", "aie", "--cases", "shipped", "--limit", cases, *models)


def _items(folder):
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def _hash(folder):
    return json.loads((folder / "summary.json").read_text())["log_hash"]


def _words(*words):
    return [sys.executable, "-m", "polyclinic", *map(str, words)]


def command(*words):
    """Gives a command, and returns how it ended."""
    return subprocess.run(_words(*words), capture_output=True, text=True, check=False, env=_environment())


def _call(*words):
    done = command(*words)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()[-2000:]}")


def _environment():
    return {**os.environ, **ENVIRONMENT}


def _free():
    """Returns a port that is free; Ray gives its workers those from 10002 on."""
    for port in random.sample(range(7_000, 10_000), 100):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    sys.exit("no port below 10002 is free")


if __name__ == "__main__":
    run(*sys.argv[1:])
