"""The measurements: what they share stands once, and the model in a process of its own answers as they say."""

import re
from pathlib import Path

import pytest

serving = pytest.importorskip("bench.serving", reason="the measurements are not part of the package")
FOLDER = Path(serving.__file__).parent


def test_a_ratio_is_held_against_its_bar():
    assert serving.held_against(1.1, 1.2) == "ratio 1.100  bar 1.2: met"
    assert serving.held_against(1.3, 1.2) == "ratio 1.300  bar 1.2: MISSED"


def test_one_class_of_them_starts_an_endpoint():
    names = [path.name for path in FOLDER.glob("*.py") if re.search(r'"serve", str\(latency', path.read_text("utf-8"))]
    assert names == ["serving.py"]
    # Whoever is served by a module has its answers there.
    for path in FOLDER.glob("*.py"):
        for name in re.findall(r'Served\("bench\.(\w+)"', path.read_text("utf-8")):
            assert "serve_or_run(answer, run)" in (FOLDER / f"{name}.py").read_text("utf-8")


def test_options_go_to_the_one_measurement_before_them(monkeypatch):
    import bench.__main__ as measurements
    import bench.visits as visits

    asked = []
    monkeypatch.setattr(visits, "run", lambda *options: asked.append(options))
    monkeypatch.setattr("sys.argv", ["bench", "visits", "--visits", "5", "--seed", "3"])
    measurements.main()
    assert asked == [("--visits", "5", "--seed", "3")]
    for wrong in (["bench", "--visits", "5"], ["bench", "saps", "visits", "--seed", "3"], ["bench", "nothing"]):
        monkeypatch.setattr("sys.argv", wrong)
        with pytest.raises(SystemExit):
            measurements.main()
