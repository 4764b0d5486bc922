"""`--protocol` on the command line: at which temperature models are asked, and what is said of a run."""

import json

import pytest

from polyclinic.errors import UserError
from polyclinic.evaluations.protocol import check_methods, followed, held_by
from polyclinic.methods.table import ChosenMethod
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.protocols.following import protocol_text
from polyclinic.protocols.papers import MedAgentsSettings, MvmeSettings
from polyclinic.testing.endpoint import Endpoint

MINDS = {"doctor": ["rules", "direct/a"], "patient": ["saps:direct/a"], "judge": ["direct/j"]}


def saying(tmp_path, text, **options):
    path = tmp_path / "models.toml"
    path.write_text(text, "utf-8")
    return ModelSettings(model_file=path, **options)


async def test_what_a_judge_is_asked_is_asked_at_the_papers_temperature(tmp_path, capsys):
    """Whatever the call says of it: grades, names of diseases and reasons alike."""
    paper = followed(MvmeSettings, "paper")
    async with Endpoint() as endpoint:
        models = saying(tmp_path, '[models."direct/a"]\ntemperature = 0.7\n', base_url=endpoint.url)
        by = held_by(paper, models, MINDS, cases=3)
        async with open_models(["direct/a", "direct/j"], by.models) as session:
            for name, role in (("direct/j", "judge"), ("direct/j", "judge"), ("direct/a", "doctor")):
                asked = session.model(name, Asker(role, "e"))
                await asked.ask("x", **({} if len(endpoint.bodies) else {"temperature": 0.9}))
    assert [body["temperature"] for body in endpoint.bodies] == [0.0, 0.0, 0.7]
    file = tmp_path / "models.toml"
    theirs = f'0.7, by [models."direct/a"] in {file}'
    assert by.temperatures == {"doctor": theirs, "patient": theirs, "judge": "0, by the protocol"}
    assert by.departures == [
        "cases (506 Chinese records; here 3)",
        "doctor rules (no model, as all of the paper's are)",
    ]
    assert capsys.readouterr().err.count("\n") == 1


def test_a_model_file_that_contradicts_the_paper_is_refused(tmp_path):
    for text, options, told in (
        ("[roles.judge]\ntemperature = 0.9\n", {}, r"judge at temperature 0 .*models\.toml, \[roles\.judge\] is 0\.9"),
        ('[models."direct/j"]\ntemperature = 0.9\n', {}, r'\[models\."direct/j"\] is 0\.9'),
        ("# says nothing\n", {"temperature": 0.9}, "--temperature is 0.9"),
    ):
        models = saying(tmp_path, text, **options)
        with pytest.raises(UserError, match=told):
            held_by(followed(MvmeSettings, "paper"), models, MINDS, cases=3)
        ours = held_by(followed(MvmeSettings, "ours"), models, MINDS, cases=3)
        assert ours.models.said == models.said
        assert bool(ours.temperatures) == (not options)
    equal = saying(tmp_path, "[roles.judge]\ntemperature = 0.0\n", temperature=0.9)
    held_by(followed(MvmeSettings, "paper"), equal, MINDS, cases=3)


def test_methods_are_asked_at_the_papers_temperatures_or_refused(tmp_path):
    models = saying(tmp_path, '[models."direct/a"]\ntemperature = 0.7\n')
    chosen = [ChosenMethod(name="self_consistency", settings={"temperature": 0.7})]
    check_methods(followed(MedAgentsSettings, "paper"), chosen, ["direct/a"], models)
    chosen.append(ChosenMethod(name="medagents", settings={"temperature": 1.0}))
    check_methods(followed(MedAgentsSettings, "ours"), chosen, ["direct/a"], models)
    with pytest.raises(
        UserError, match=r"asks medagents at temperature 1 \(§4\.1\); temperature in .* is 0\.7\. Leave"
    ):
        check_methods(followed(MedAgentsSettings, "paper"), chosen, ["direct/a"], models)


def test_a_protocol_of_ones_own_sets_what_a_role_is_asked_at(tmp_path):
    path = tmp_path / "mine.yaml"
    doctor = '    section: "§2.2"\n'
    warm = f"    temperature: {{paper: 0.3, section: mine}}\n{doctor}"
    path.write_text(protocol_text("mvme").replace(doctor, warm), "utf-8")
    by = held_by(followed(MvmeSettings, str(path)), ModelSettings(), MINDS, cases=3)
    assert by.temperatures == {"doctor": "0.3, by the protocol", "judge": "0, by the protocol"}
    assert by.models.said.asking("direct/a", "doctor").temperature == 0.3


def test_what_a_protocol_of_ones_own_changes_stands_in_the_results(run, tmp_path):
    """Whoever reads the results sees what was not the paper's, and knows the file again by its hash."""
    path = tmp_path / "mine.yaml"
    text = protocol_text("aie")
    path.write_text(text.replace("  greets:\n    paper: true", "  greets:\n    paper: false"), "utf-8")
    words = ("eval", "aie", "--cases", "shipped", "--limit", "1", "--patient", "saps:made-up", "--doctor", "made-up")
    words = (*words, "--distractors", "made-up", "--set", "run.max-failures=100")
    done = run(*words, "--protocol", path, "--out", tmp_path / "out")
    told = "greets (yes, "
    assert told in done.stderr and "; here no)" in done.stderr and told in done.stdout
    record = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert [one for one in record["departures"] if one.startswith(told)] and len(set(record["departures"])) == len(
        record["departures"]
    )
    assert [one["file"] for one in record["data"] if one["option"] == "protocol"] == [str(path)]
    assert told in run("results", "show", tmp_path / "out").stdout
    run(*words, "--protocol", "paper", "--out", tmp_path / "paper")
    assert told not in (tmp_path / "paper" / "results.json").read_text("utf-8")
