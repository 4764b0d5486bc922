"""An exam of several methods and models that is killed twice and taken up: one table, and no question asked twice.

`python -m bench exam_kills [QUESTIONS]`, 300 unless given: 3 methods x 2 models, `kill -9` after a third and after two
thirds of the answers, then the same command to its end. Asked again may be what was in flight at a kill.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from polyclinic.testing.endpoint import EndpointProcess

METHODS = {"zero_shot": 1, "chain_of_thought": 1, "self_consistency": 5}
MODELS = ("direct/a", "direct/b")
IN_FLIGHT = 8
LATENCY = 0.02


def run(questions: str = "300") -> None:
    """Prints the requests beside what is to be asked, and the rows of the one table."""
    count = int(questions)
    asks = count * len(MODELS) * sum(METHODS.values())
    with tempfile.TemporaryDirectory() as name, EndpointProcess(latency=LATENCY) as endpoint:
        folder = Path(name)
        options = {letter: f"finding {letter}" for letter in "ABCD"}
        lines = ({"question": f"number {n}?", "options": options, "answer_idx": "A"} for n in range(count))
        (folder / "q.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        command = [
            *(sys.executable, "-m", "polyclinic", "eval", "exam", "medqa", "q.jsonl", "--limit", "all"),
            *("--model", *MODELS, "--method", *METHODS, "--out", "out", "--json"),
            *("--base-url", endpoint.url, "--concurrency", str(IN_FLIGHT)),
        ]
        for part in (1, 2):
            with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
                while killed.poll() is None and _requests(endpoint) < asks * part / 3:
                    time.sleep(0.02)
                killed.send_signal(signal.SIGKILL)
            print(f"killed after {_requests(endpoint):,} requests")
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        rows = {one["name"]: one["n"] for one in json.loads(ended.stdout)["methods"]}
        asked = _requests(endpoint)
    most = asks + 2 * IN_FLIGHT * len(MODELS)
    whole = list(rows.values()) == [count] * len(MODELS) * len(METHODS)
    print(f"one table of {len(rows)} rows: {rows}")
    print(f"{asked:,} requests for {asks:,} asks; bar {most:,}: {'met' if whole and asked <= most else 'MISSED'}")


def _requests(endpoint: EndpointProcess) -> int:
    return int(endpoint.counters()["requests"])
