"""The process of a job: polyclinic's command line, which ends when whoever started it is gone.

`python -m polyclinic.cluster.child OF WORD...`; what endpoints take a minute is divided among OF processes. Standard
input is the line to the one who started it, who says there, one a line, among how many it is divided from then on. On
standard output it says what it warns of, `warned LINE`, and at its end what its models were asked for: `spent USAGE`,
as JSON.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys
import threading

import msgspec

from polyclinic.models.ledger import spending
from polyclinic.models.limits import DIVISION, Division
from polyclinic.storage.server import WAS_THERE

_ORPHANED = 137

SPENT = "spent"
"""The word before the usage, on its line."""


WARNED = "warned"
"""The word before a warning, on its line."""


class _Warning(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(WARNED, " ".join(record.getMessage().split()), flush=True)  # noqa: T201


def _until_gone(division: Division) -> None:
    while sys.__stdin__ is not None and (line := sys.__stdin__.readline()):
        division.of = int(line)
    os._exit(_ORPHANED)


if __name__ == "__main__":
    divided = Division(int(sys.argv.pop(1)))
    DIVISION.set(divided)
    WAS_THERE.set(True)  # who divided the command looked
    logging.getLogger("polyclinic").addHandler(_Warning(logging.WARNING))
    threading.Thread(target=_until_gone, args=(divided,), daemon=True).start()
    sys.argv[0] = "polyclinic"
    with spending() as all_of_it:
        try:
            runpy.run_module("polyclinic", run_name="__main__")
        finally:
            print(SPENT, msgspec.json.encode(all_of_it.asked.usage).decode(), flush=True)  # noqa: T201
