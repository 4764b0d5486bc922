"""Histories that a model writes: what contradicts the drawn patient is refused, asked again, counted."""

import json

import msgspec
import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.errors import TimedOut
from polyclinic.generation.draw import draw_patients
from polyclinic.generation.writer import TIMES, WrittenHistory, contradiction, write_record
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted

JOIN = {"en": ". ", "zh": "。"}
ADDED = {
    "another age or sex": {"en": "He is a man.", "zh": "该男性患者就诊。"},
    "another number": {"en": "It was 38.7 at home.", "zh": "在家测得38.7。"},
    "an illness named": {"en": "It feels like bronchial asthma.", "zh": "像是支气管哮喘。"},
    "a treatment named": {"en": "Oseltamivir was taken.", "zh": "服用了奥司他韦。"},
    "an examination named": {"en": "A chest X-ray was done.", "zh": "做过胸部X线检查。"},
}


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge().select("respiratory")


@pytest.fixture(scope="module")
def drawn(knowledge):
    return {
        language: [
            one
            for one in draw_patients(knowledge, n=30, seed=3, language=language)
            if one.case.presentation.sex == "female" and one.disease.id != "bronchial-asthma"
        ]
        for language in ("en", "zh")
    }


def history(one, **fields):
    person, symptoms = one.case.presentation, one.case.record.history.symptoms
    whole = {"age": person.age, "sex": person.sex, "complaint": person.complaint, "symptoms": symptoms}
    return WrittenHistory(**{**whole, "present": f"{JOIN[person.language].join(symptoms)}.", **fields})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_so_is_taken_and_what_is_not_is_refused(drawn, knowledge, language):
    for one in drawn[language]:
        assert contradiction(history(one), one, knowledge) is None
    for kind, added in ADDED.items():
        for one in drawn[language][:5]:
            told = f"{JOIN[language].join(one.case.record.history.symptoms)}{JOIN[language]}{added[language]}"
            assert contradiction(history(one, present=told), one, knowledge)[0] == kind, told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_symptoms_age_and_duration_stay(drawn, knowledge, language):
    one = drawn[language][0]
    person, symptoms = one.case.presentation, one.case.record.history.symptoms
    other = next(o for o in drawn[language] if not {*o.case.record.history.symptoms} & {*symptoms})
    longer = {"en": f"{person.complaint.rpartition(' for ')[0]} for 11 years", "zh": "不适11年"}[language]
    for fields, kind in (
        ({"age": person.age + 1}, "another age or sex"),
        ({"sex": "male"}, "another age or sex"),
        ({"complaint": longer}, "another duration"),
        ({"symptoms": symptoms[1:]}, "a symptom left out"),
        ({"present": ""}, "a symptom left out"),
        ({"symptoms": (*symptoms, other.case.record.history.symptoms[0])}, "a symptom that is not there"),
    ):
        assert contradiction(history(one, **fields), one, knowledge)[0] == kind, fields


async def test_it_is_asked_again_and_told_why_and_at_last_stays_as_drawn(drawn, knowledge):
    one, seen = drawn["en"][0], []
    wrong, right = history(one, age=1), history(one, present=f"{history(one).present} It came slowly.")

    def script(*answers):
        coming = iter(answers)

        def say(messages):
            seen.append([text for _, text in messages])
            return msgspec.to_builtins(next(coming))

        return Scripted(say)

    came = await write_record(one, knowledge, script(wrong, right))
    assert (came.written, came.refused) == (True, ("another age or sex",))
    assert "another age or sex: 1, female" in seen[1][-1]
    assert one.disease.name.en in seen[0][-1]
    record = came.case.record
    assert record.history.present.endswith("It came slowly.")
    assert record.findings == one.case.record.findings
    assert came.case.truth == one.case.truth
    never = await write_record(one, knowledge, script(*[wrong] * TIMES))
    assert (never.written, never.case) == (False, one.case)
    assert never.refused == ("another age or sex",) * TIMES
    assert (await write_record(one, knowledge, Scripted(lambda _: "no JSON"))).refused == ("unreadable",) * TIMES
    with pytest.raises(TimedOut):
        await write_record(one, knowledge, Scripted([TimedOut("late")]))
    assert Reader(knowledge).read_history(record)[1] is not None


@pytest.mark.slow
def test_the_command_writes_counts_and_goes_on_from_its_answers(run, complaint, serving, tmp_path, monkeypatch):
    monkeypatch.setattr("polyclinic.cli.case_generate._TRAIN", 4)
    monkeypatch.setattr("polyclinic.cli.case_generate._TEST", 2)
    words = ("cases", "generate", "--preset", "agent-hospital", "--seed", 3, "--out", tmp_path / "p")

    def answers(body):  # what a careless model says: everything but the history that it was asked for
        return {"age": 40, "sex": "female", "complaint": "ill", "symptoms": ["a cough"], "present": "So it is."}

    with serving(answers) as endpoint:
        model = ("--writer", "direct/x", "--base-url", endpoint.url)
        assert "kept as drawn" in run(*words, *model).stdout
        asked = endpoint.requests
        assert asked == 6 * TIMES
        run(*words, *model, "--force")
        assert endpoint.requests == asked
        parts = (*words[:-1], tmp_path / "parts", *model)
        run(*parts, "--on", "local:2")
        assert endpoint.requests == 2 * asked
        assert (tmp_path / "parts" / "train.jsonl").read_text() == (tmp_path / "p" / "train.jsonl").read_text()
    counts = json.loads((tmp_path / "p" / "writing.json").read_text())
    assert (counts["patients"], counts["written"], sum(counts["refused"].values())) == (6, 0, 6 * TIMES)
    assert len(list(read_cases(tmp_path / "p" / "train.jsonl"))) == 4
    assert "--writer is for the patients of a preset" in complaint(*words[:2], *model, "--out", tmp_path / "x.jsonl")
    assert "'rules' is not a model" in complaint(*words[:-1], tmp_path / "q", "--writer", "rules")
