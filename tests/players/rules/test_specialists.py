"""The doctors of Tree-of-Reasoning by rules: what they read, what they say, and what a team of them is worth."""

import asyncio
from itertools import pairwise

import msgspec
import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.record import Finding, History
from polyclinic.evidence_tree import EvidenceTree, Supporter, divide
from polyclinic.evidence_tree.meeting import Remark, Wrote
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.knowledge.several import Shown, SymptomTold
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.players.rules.specialists import PartReader, RulesDoctors

KNOWLEDGE = read_knowledge()


@pytest.fixture(scope="module")
def doctors():
    return RulesDoctors(KNOWLEDGE)


@pytest.fixture(scope="module", params=["inpatients", "inpatients-zh"])
def cases(request):
    return [case for case, _ in zip(read_cases(request.param), range(5), strict=False)]


def held(doctors, case, **settings):
    return asyncio.run(tree_of_reasoning(case.question, None, record=case.record, doctors=doctors, **settings))


@pytest.mark.slow
def test_it_runs_without_a_model_and_the_same_twice(doctors, cases):
    for case in cases:
        outcome = held(doctors, case)
        assert outcome.answers
        assert outcome.calls == outcome.round_trips == 0
        assert outcome == held(RulesDoctors(KNOWLEDGE), case)


def test_all_that_they_quote_stands_in_the_record(doctors, cases):
    leaves = 0
    for case in cases:
        supporter = Supporter(case.record, KNOWLEDGE)
        for one in held(doctors, case).log:
            there = list(one.opinion.leaves()) if not isinstance(one, Remark) else []
            leaves += len(there)
            assert all(supporter.supported(leaf) for leaf in there)
    assert leaves > 200


@pytest.mark.slow
def test_each_reads_its_own_part_alone(doctors, cases):
    """With the others' findings gone, or others in their place, its first tree is the same."""
    for case, other in pairwise(cases):
        mine = divide(case.record, KNOWLEDGE)
        theirs = divide(other.record, KNOWLEDGE)
        first = {one.by: one.opinion for one in held(doctors, case).log if isinstance(one, Wrote) and one.round == 0}
        for kind, part in mine.items():
            if kind == "outpatient":
                record = msgspec.structs.replace(case.record, findings=part.findings)
            else:
                outpatient = theirs["outpatient"]
                record = msgspec.structs.replace(other.record, findings=(*outpatient.findings, *part.findings))
            alone = held(doctors, msgspec.structs.replace(case, record=record))
            again = next(one.opinion for one in alone.log if isinstance(one, Wrote) and one.by == kind)
            assert again == first[kind], kind


def test_options_change_no_tree(doctors, cases):
    for case in cases[:4]:
        options = dict(list(case.question.options.items())[:3])
        question = msgspec.structs.replace(case.question, options=options)
        before = [one for one in held(doctors, case).log if not hasattr(one, "answers")]
        after = held(doctors, msgspec.structs.replace(case, question=question)).log
        assert [one for one in after if not hasattr(one, "answers")] == before


def test_what_was_said_is_taken_over_and_what_is_refuted_is_dropped(doctors, cases):
    taken = dropped = 0
    for case in cases:
        log = held(doctors, case).log
        for kind in {one.by for one in log if isinstance(one, Wrote)}:
            trees = [one.opinion for one in log if isinstance(one, Wrote) and one.by == kind]
            names = [{one.diagnosis for one in tree.suspected} for tree in (trees[0], trees[-1])]
            dropped += len(names[0] - names[1])
            taken += sum(len(one.reasonings) > 1 for one in trees[-1].suspected)
    assert taken > 10
    assert dropped > 5


def test_a_diagnosis_that_stays_keeps_the_doctor_s_own_reasoning(doctors, cases):
    english = {"outpatient": "complaint", "laboratory": "laboratory", "radiology": "images", "pathology": "specimens"}
    chinese = {"outpatient": "主诉", "laboratory": "检验", "radiology": "影像", "pathology": "病理"}
    kept, said = 0, english if cases[0].presentation.language == "en" else chinese
    for case in cases[:4]:
        trees = {}
        for one in held(doctors, case).log:
            if not isinstance(one, Wrote):
                continue
            own = {
                suspected.diagnosis: any(said[one.by] in line.analysis for line in suspected.reasonings)
                for suspected in one.opinion.suspected
            }
            before = trees.get(one.by, {})
            lost = [name for name, has in own.items() if before.get(name) and not has]
            assert not lost, (case.id, one.by, one.round)
            kept += sum(own.values())
            trees[one.by] = own
    assert kept > 10


def test_without_trees_they_name_diagnoses_in_a_sentence(doctors, cases):
    outcome = held(doctors, cases[0], tree=False)
    assert outcome.answers
    assert all(isinstance(one.opinion, str) for one in outcome.log if not isinstance(one, Remark))
    assert "log odds" not in str(outcome.log)
    assert "对数比值" not in str(outcome.log)


def test_a_question_with_one_answer_gets_one(doctors, cases):
    question = msgspec.structs.replace(cases[0].question, several=False)
    assert len(held(doctors, msgspec.structs.replace(cases[0], question=question)).answers) == 1


def test_a_record_in_other_words_is_no_error(doctors):
    """Nothing is read where nothing is known; something is chosen all the same."""
    case = next(read_cases("inpatients"))
    person = msgspec.structs.replace(case.presentation, complaint="Feels not right since Easter", age=None, sex=None)
    record = msgspec.structs.replace(case.record, presentation=person, findings=(), history=History())
    assert len(held(doctors, msgspec.structs.replace(case, record=record)).answers) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Joint X-ray: punched-out erosions beside the joint.", None),
        ("Chest X-ray: clear lungs and normal heart shadow.", ("chest-x-ray", frozenset())),
        (
            "Synovial biopsy: deposits of needle-shaped urate crystals with foreign body giant cells.",
            ("synovial-biopsy", {"crystals"}),
        ),
        ("The chest is clear.", None),
    ],
)
def test_reports_are_taken_apart(text, shown):
    knowledge = with_pathology(KNOWLEDGE)
    case = next(read_cases("inpatients"))
    record = msgspec.structs.replace(case.record, findings=(Finding(examination="X-ray", value=text),))
    part = divide(record, KNOWLEDGE)["radiology"]
    read = [one.observation for one in PartReader(knowledge, "en").read(part)]
    if shown is None:
        assert not [one for one in read if one.examination in ("chest-x-ray", "synovial-biopsy")]
    else:
        assert read == [Shown(shown[0], read[0].item, frozenset(shown[1]))]


def test_numbers_in_another_unit_are_not_read():
    case = next(read_cases("inpatients"))
    for unit, known in (("g/L", True), ("g/dL", False)):
        finding = Finding(examination="blood test", item="hemoglobin", value=9.1 if unit == "g/dL" else 91.0, unit=unit)
        part = divide(msgspec.structs.replace(case.record, findings=(finding,)), KNOWLEDGE)["laboratory"]
        assert bool(PartReader(KNOWLEDGE, "en").read(part)) is known


def test_symptoms_are_read_with_their_denials():
    case = next(
        case
        for case in read_cases("inpatients")
        if not any(word in case.presentation.complaint.casefold() for word in ("fever", "temperature", "cough"))
    )
    history = History(present="She has a dry cough. The patient denies fever or chest pain.")
    record = msgspec.structs.replace(case.record, history=history, findings=())
    read = {
        one.observation: one.quote for one in PartReader(KNOWLEDGE, "en").read(divide(record, KNOWLEDGE)["outpatient"])
    }
    assert read[SymptomTold("cough", True)] == "dry cough"
    assert read[SymptomTold("fever", False)] == "The patient denies fever or chest pain"


@pytest.mark.slow
def test_a_team_is_worth_more_than_the_outpatient_doctor_on_its_part_alone(doctors):
    cases = [case for case, _ in zip(read_cases("inpatients"), range(60), strict=False)]
    others = ("laboratory", "radiology", "pathology")

    def f1(**settings):
        right = chosen = wanted = 0
        for case in cases:
            answers, gold = held(doctors, case, **settings).answers, set(case.truth.answers)
            right, chosen, wanted = right + len(answers & gold), chosen + len(answers), wanted + len(gold)
        return 200 * right / (chosen + wanted)

    assert f1() > f1(without=others, removed="withheld") + 8
    assert isinstance(held(doctors, cases[0]).log[0].opinion, EvidenceTree)


def test_what_is_normal_is_no_evidence_for_a_disease(doctors, cases):
    """It may weigh against one, and then the line says so."""
    read = doctors._part_reader("en" if cases[0].presentation.language == "en" else "zh")
    normal, against = [], 0
    for case in cases:
        usual = {
            one.quote for part in divide(case.record, KNOWLEDGE).values() for one in read.read(part) if one.normal
        } - {one.quote for part in divide(case.record, KNOWLEDGE).values() for one in read.read(part) if not one.normal}
        for one in held(doctors, case).log:
            for said in one.opinion.suspected if not isinstance(one, Remark) else ():
                for line in said.reasonings:
                    shown = usual.intersection(line.evidence)
                    if "log odds -" in line.analysis or "对数比值-" in line.analysis:
                        against += len(shown)
                    else:
                        normal += [(case.id, said.diagnosis, text) for text in shown]
    assert not normal
    assert against > 0


def test_a_result_in_its_range_is_normal():
    case = next(read_cases("inpatients"))
    for value, reference, normal in ((91.0, "115-175", False), (130.0, "115-175", True), (130.0, "", True)):
        finding = Finding(examination="blood test", item="hemoglobin", value=value, unit="g/L", reference=reference)
        part = divide(msgspec.structs.replace(case.record, findings=(finding,)), KNOWLEDGE)["laboratory"]
        assert [one.normal for one in PartReader(KNOWLEDGE, "en").read(part)] == [normal]


def test_the_merged_tree_has_one_line_a_doctor(doctors, cases):
    for case in cases:
        for one in held(doctors, case).log[-1].opinion.suspected:
            said = [line.analysis.partition("log odds")[0].partition("对数比值")[0] for line in one.reasonings]
            assert len(said) == len(set(said)), (case.id, one.diagnosis)
