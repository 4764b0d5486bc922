"""What `serve` says of who plays before anybody comes."""

import pytest

from polyclinic.cli.serve import ChairOptions
from polyclinic.errors import PolyclinicError
from polyclinic.models.settings import ModelSettings
from polyclinic.web.practice import Practice

REFUSED = (
    ({"patient": ["nobody"]}, "no mind 'nobody' can play the patient"),
    ({"patient": ["human"]}, "nobody sits here"),
    ({"beside": ["human"]}, "nobody sits here"),
    ({"patient": ["direct/x"]}, "--base-url"),
    ({"judge": "rules"}, "is not a model"),
)


def test_who_cannot_play_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for given, why in REFUSED:
        with pytest.raises(PolyclinicError, match=why):
            ChairOptions(**given).players(ModelSettings())
    with pytest.raises(PolyclinicError, match="--cost-budget"):
        ChairOptions().players(ModelSettings(dry_run=True))
    (tmp_path / "cases").write_text("none", "utf-8")
    with pytest.raises(PolyclinicError, match="case file"):
        ChairOptions(cases=[tmp_path / "cases"]).check_files()
    with pytest.raises(PolyclinicError, match="name a folder"):
        Practice(tmp_path / "cases").hold()
    reached = ModelSettings(base_url="http://127.0.0.1:1/v1")
    offered = ChairOptions(patient=["rules", "saps:direct/x"], judge="direct/j").players(reached)
    assert offered.patients == ("rules", "saps:direct/x") and offered.judge == "direct/j"
