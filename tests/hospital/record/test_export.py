"""A run's log for other tools holds what the log holds, all of it."""

import hashlib

import msgspec
import pytest

from polyclinic.errors import BadInput
from polyclinic.hospital.record.happenings import Happening
from polyclinic.hospital.record.recorded import RecordedRun


@pytest.mark.slow
def test_json_lines_are_the_log_and_their_hash_is_the_run_s(lived, lived_run, tmp_path):
    with RecordedRun(lived_run) as recorded:
        n = recorded.export(tmp_path / "log.jsonl")
        summary = recorded.summary
        with pytest.raises(BadInput, match="there is no folder"):
            recorded.export(tmp_path / "nowhere" / "log.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["log.jsonl"]  # nothing half-written beside it
    whole = (tmp_path / "log.jsonl").read_bytes()
    assert n == len(lived)
    assert [msgspec.json.decode(line, type=Happening) for line in whole.splitlines()] == lived
    assert hashlib.blake2b(whole, digest_size=16).hexdigest() == summary["log_hash"]
