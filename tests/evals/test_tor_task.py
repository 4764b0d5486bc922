"""Tree-of-Reasoning's evaluation as a task of Inspect."""

import json
from importlib.util import find_spec

import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.errors import UserError
from polyclinic.testing.endpoint import Endpoint

pytestmark = [
    pytest.mark.slow,  # Inspect takes half a second a task
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai of the extra 'evals' is not installed"),
    pytest.mark.filterwarnings("default"),
]

TREE = {"suspected": [{"diagnosis": "X", "reasonings": [{"analysis": "So.", "evidence": ["never seen anywhere"]}]}]}


def said(body):
    text = body["messages"][-1]["content"]
    if "response_format" not in body:
        return "A remark.\n\nAnswer: A"
    schema = json.loads(text[text.index('{"') :])
    names = schema.get("properties", {})
    if "answer" in names:
        return {"tree": TREE, "answer": ["A"]}
    return {"reason": "", "to": []} if "to" in names else TREE


async def test_the_task_scores_what_was_chosen_and_what_was_invented(tmp_path):
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log_async

    import polyclinic.evals._registry  # noqa: F401
    from polyclinic.evals.tasks import Tor, tor

    async with Endpoint(answers=said) as endpoint:
        (log,) = await eval_async(
            tor(),
            model="direct/test",
            model_base_url=endpoint.url,
            log_dir=str(tmp_path / "logs"),
            limit=3,
            model_args={"attempts": 1},
        )
    log = await read_eval_log_async(log.location)
    assert log.status == "success"
    assert len(log.samples) == 3
    cases = {case.id: case for case in read_cases("inpatients")}
    for sample in log.samples:
        (score,) = sample.scores.values()
        assert set(score.value) == set(Tor.metrics)
        assert score.value["RIGHT"] == ("A" in cases[str(sample.id)].truth.answers)
        assert score.value["WANTED"] == len(cases[str(sample.id)].truth.answers)
        assert score.value["UNSUPPORTED"] == 100
        # What holds is nowhere in what the model was shown but among the options.
        assert "truth" not in sample.metadata


def test_what_cannot_be_used_is_refused():
    from polyclinic.evals.tasks import tor

    with pytest.raises(UserError, match="no method"):
        tor(method="nonesuch")
    with pytest.raises(UserError, match="options"):
        tor(cases="shipped")
