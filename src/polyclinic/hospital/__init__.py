"""A town that falls ill and the hospital that it goes to (agent-hospital §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.hospital.care.setup import Setup as Setup
    from polyclinic.hospital.configuration import Configuration as Configuration
    from polyclinic.hospital.plan.file import read_hospital as read_hospital
    from polyclinic.hospital.record.recorded import RecordedRun as RecordedRun
    from polyclinic.hospital.running import run as run

__getattr__ = lazily(__name__, __file__)
