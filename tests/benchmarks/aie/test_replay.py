"""The published doctor once more: its turns replayed through the state-aware patient give the published row."""

import csv
import json

import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.evaluations.aie.declaration import aie
from polyclinic.evaluations.aie.evaluation import LIMITS
from polyclinic.events import Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.conversation import summarise
from polyclinic.models.scripted import Scripted
from polyclinic.players.language_model.saps import PROMPTS, QUESTIONS
from polyclinic.players.minds import Minds
from polyclinic.players.player import Choice, DoctorTurn, Purpose
from polyclinic.players.staging import Staging
from polyclinic.prompts import read_prompts

PAPER = Staging(online=True, greets=True, dialogue_alone=True, concludes=False, whole=True)
KINDS = {"A": "inquiry", "B": "advice", "C": "demand", "D": "other topic", "E": "conclusion"}


class Recorded:
    """One recorded dialogue: a doctor that says its turns, and a tracker and generator that give the other half."""

    def __init__(self, record, case):
        self.case, self.chosen = case, record["diagnosis"]
        self.turns = record["history"][1:]
        self.said = self.replied = 0

    def doctor(self, ask):
        if ask.purpose is Purpose.CHOOSE:
            options = self.case.question.options
            # In some records the choice is none of the options: then it is one that is wrong.
            wrong = next(key for key in options if key not in self.case.truth.answers)
            return Choice(self.chosen if self.chosen in options else wrong)
        self.said += 1
        return DoctorTurn(self.turns[self.said - 1]["doctor"])

    def patient(self, section):
        turn = self.turns[self.said - 1]
        state = turn["state"]
        if section == "kind":
            return KINDS[state[0]]
        if section.startswith("specific"):
            return "ambiguous" if state in ("A-B", "B-B") else "specific"
        if section.startswith("relevant"):
            held = state in ("A-A-A", "B-A-A")
            return {"analysis": "", "relevant": held, "texts": [turn["memory"]] if held else []}
        self.replied += 1
        return {"say": turn["patient"]}


@pytest.fixture(scope="module", params=[("HospitalCases", "rjieba"), ("MedicalExam", "nltk")], ids=lambda p: p[0])
def recorded(request, shared_data):
    data_set, needs = request.param
    pytest.importorskip(needs, reason="cuts text into words; of the extra 'evals'")
    folder = shared_data / "cases" / "aie"
    # Two of its cases stand in it with other words than in the set of cases.
    path = folder / "recorded" / data_set / "chatgpt.json"
    cases, records = list(read_cases(path)), json.loads(path.read_text("utf-8"))
    with (folder / "recorded" / f"{data_set}.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["MODEL"] == "chatgpt")
    return cases, records, row


@pytest.mark.slow
async def test_the_published_row_is_found_again(recorded):
    cases, records, row = recorded
    by_id = {case.id: Recorded(record, case) for case, record in zip(cases, records, strict=True)}
    begins = {
        section: prompts(section, **dict.fromkeys(prompts.blanks[section], "\0")).partition("\0")[0]
        for prompts in [read_prompts(PROMPTS)[cases[0].presentation.language]]
        for section in (*QUESTIONS, "generator")
    }
    wrong = []

    async def one(case):
        """Each case has models of its own, so that nothing is mixed up where all run at once."""
        played = by_id[case.id]

        def answer(messages):
            return played.patient(next(name for name, begin in begins.items() if messages[0][1].startswith(begin)))

        minds = Minds(
            doctor=lambda ask, role: played.doctor(ask) if role.record is None else Choice("A"),
            patient="saps:direct/x",
            models={"direct/x": Scripted(answer)},
            knowledge=read_knowledge(),
            seed=1,
        )
        return (await aie([case], staging=PAPER).hold({"chatgpt": minds})).doctors[0]

    for case in cases:
        doctor = await one(case)
        came, played = doctor.summary.scores, by_id[case.id]
        said = [e for e in doctor.visits[0].trace if isinstance(e, Said) and e.who is Role.DOCTOR]
        if len(said) != len(played.turns) + 1 or len(said) > LIMITS[case.presentation.language] or len(came) != 1:
            wrong.append(case.id)
        by_id[case.id] = came[0]
    assert not wrong
    summary = summarise(list(by_id.values()))
    for name, estimate in summary.metrics.items():
        mean, error = row[name].split(r"$\pm$")
        if estimate.mean != pytest.approx(float(mean), abs=0.0051):
            wrong.append((name, estimate.mean, mean))
        if estimate.stderr != pytest.approx(float(error), abs=0.0051):
            wrong.append((name, estimate.stderr, error))
    assert not wrong
