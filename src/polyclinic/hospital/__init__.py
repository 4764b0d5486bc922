"""A town that falls ill and the hospital that it goes to (agent-hospital §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.hospital.care.setup import Setup
    from polyclinic.hospital.configuration import Configuration
    from polyclinic.hospital.plan.file import read_hospital
    from polyclinic.hospital.record.recorded import RecordedRun
    from polyclinic.hospital.running import run

__all__ = [
    "Configuration",
    "RecordedRun",
    "Setup",
    "read_hospital",
    "run",
]

__getattr__ = lazily(
    __name__,
    {
        "care.setup": "Setup",
        "configuration": "Configuration",
        "plan.file": "read_hospital",
        "record.recorded": "RecordedRun",
        "running": "run",
    },
)
