"""The process of a job: polyclinic's command line, which ends when whoever started it is gone.

`python -m polyclinic.cluster.child WORD...`; standard input is the line to the one who started it.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading

_ORPHANED = 137


def _until_gone() -> None:
    while sys.__stdin__ is not None and os.read(sys.__stdin__.fileno(), 1):
        pass
    os._exit(_ORPHANED)


if __name__ == "__main__":
    threading.Thread(target=_until_gone, daemon=True).start()
    sys.argv[0] = "polyclinic"
    runpy.run_module("polyclinic", run_name="__main__")
