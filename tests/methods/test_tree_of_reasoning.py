"""Tree-of-Reasoning: what it costs, who is shown what and when, and what becomes of failures."""

import re

import pytest
from bench.virtual_time import latencies_of
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, Record
from polyclinic.errors import Refused, ScriptError, Unreachable, UserError
from polyclinic.evidence_tree.meeting import Concluded, Remark, Wrote
from polyclinic.evidence_tree.tree import EvidenceTree, Reasoning, Suspected
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.retrieval import Passage, ScriptedRetriever

KINDS = ("outpatient", "laboratory", "radiology", "pathology")
RECORD = Record(
    presentation=Presentation(complaint="Hoarse for two months", age=71, sex="male"),
    history=History(present="He swallows well.", past="Tuberculosis as a child."),
    findings=(
        Finding(examination="physical examination", item="Throat", value="a white patch on the left cord"),
        Finding(examination="blood test", item="hemoglobin", value=98.0, unit="g/L", reference="115-175"),
        Finding(examination="CT", value="thickening of the left vocal cord of 9 mm"),
        Finding(examination="ultrasound", value="a cyst in the liver"),
        Finding(examination="pathology", value="keratosis with severe dysplasia"),
    ),
)
PARTS = {
    "outpatient": ("71 years", "Hoarse for two months", "swallows well", "Tuberculosis as a child", "white patch"),
    "laboratory": ("98 g/L",),
    "radiology": ("thickening of the left vocal cord", "cyst in the liver"),
    "pathology": ("severe dysplasia",),
}
QUESTION = Question(
    id="q1",
    stem="Which of these diagnoses does the patient have?",
    options={"A": "Laryngeal carcinoma", "B": "Gallstones", "C": "Hepatic cyst", "D": "Vocal nodules"},
    several=True,
)


def tree(name, *evidence):
    reasonings = [{"analysis": f"Because of {name}.", "evidence": list(evidence) or [f"Sign of {name}."]}]
    return {"suspected": [{"diagnosis": name, "reasonings": reasonings}]}


def answers(given=None):
    """Returns a team's answers by purpose: everybody speaks to the next; `given` replaces by how a purpose begins."""

    def answer(purpose, text):
        for start, value in (given or {}).items():
            if purpose.startswith(start):
                return value(purpose, text) if callable(value) else value
        if purpose.endswith(" reads") or " updates, " in purpose:
            return tree(f"Disease of {purpose}")
        if " speaks, " in purpose:
            if "`yes`" in text:
                return "yes"
            me = purpose.partition(" ")[0]
            return {"reason": "So.", "to": [KINDS[(KINDS.index(me) + 1) % 4]]}
        if " to " in purpose:
            return f"Remark of {purpose}."
        assert purpose == "conclusion", purpose
        why = {"rationale": "Plainly."} if "`rationale`" in text else {"tree": tree("The final disease")}
        return {**why, "answer": ["A", "C"]}

    return answer


def cost(outcome):
    return outcome.calls, outcome.round_trips


def ask(model, **settings):
    return tree_of_reasoning(QUESTION, model, record=RECORD, **settings)


async def test_twelve_round_trips_of_four_doctors(by_purpose):
    model = by_purpose(answers())
    outcome = await ask(model)
    assert (outcome.answers, outcome.end) == (frozenset("AC"), OutcomeEnd.ANSWERED)
    assert cost(outcome) == (4 + 2 * (2 * (4 + 4) + 4) + 1, 12)
    trips = [sum(call.round_trip == trip for call in outcome.trace) for trip in range(1, 13)]
    assert trips == [4] * 11 + [1]
    assert len({call.purpose for call in model.seen}) == 45
    assert "The final disease" in outcome.rationale


async def test_no_part_reaches_another_doctor_before_the_cross_verification_and_no_option_a_doctor_ever(by_purpose):
    model = by_purpose(answers())
    await ask(model)
    for call in model.seen:
        options = [option in call.text for option in QUESTION.options.values()]
        if call.purpose == "conclusion":
            assert all(options)
            continue
        assert not any(options), call.purpose
        assert QUESTION.stem not in call.text
        if call.purpose.endswith(" reads"):
            me = call.purpose.partition(" ")[0]
            for kind, texts in PARTS.items():
                assert all((text in call.text) == (kind == me) for text in texts), (me, kind)
            assert "Disease of" not in call.text
    for call in model.shown("outpatient speaks, round 1, turn 1"):
        assert all(text in call.text for texts in PARTS.values() for text in texts)


async def test_turns_see_the_turns_before_and_updates_start_from_the_latest_tree(by_purpose):
    model = by_purpose(answers())
    await ask(model)
    (first,), (second,) = (model.shown(f"radiology speaks, round 1, turn {turn}") for turn in (1, 2))
    assert "Remark of" not in first.user
    assert "Remark of laboratory to radiology, round 1, turn 1." in second.user
    assert "Remark of pathology to outpatient, round 1, turn 1." in second.user
    (update,) = model.shown("radiology updates, round 1")
    own = update.user.rpartition("Your own:")[2]
    assert "Disease of radiology reads" in own
    assert "Remark of laboratory to radiology, round 1, turn 2." in own
    assert "Remark of pathology" not in own
    (again,) = model.shown("radiology updates, round 2")
    own = again.user.rpartition("Your own:")[2]
    assert "Disease of radiology updates, round 1" in own
    assert "round 1, turn" not in own
    (head,) = model.shown("conclusion")
    assert all(f"Disease of {kind} updates, round 2" in head.user for kind in KINDS)


async def test_updates_from_the_first_tree_as_the_appendix(by_purpose):
    model = by_purpose(answers())
    await ask(model, update_from="first")
    assert "Disease of radiology reads" in model.shown("radiology updates, round 2")[0].user.rpartition("Your own:")[2]


async def test_silence_of_all_ends_the_verification(by_purpose):
    nobody = {"reason": "", "to": []}
    silent = {f"{kind} speaks": nobody for kind in KINDS}
    assert cost(await ask(by_purpose(answers(silent)))) == (4 + 4 + 1, 3)
    second = {f"{kind} speaks, round 1, turn 2": nobody for kind in KINDS}
    outcome = await ask(by_purpose(answers(second)))
    # Those who were spoken to in the first turn think again, and then it is over.
    assert cost(outcome) == (4 + 4 + 4 + 4 + 4 + 1, 6)


async def test_nobody_speaks_to_itself_or_to_who_is_not_there(by_purpose):
    model = by_purpose(answers({"laboratory speaks": {"reason": "", "to": ["laboratory", "radiology", "radiology"]}}))
    outcome = await ask(model, rounds=1, turns=1, without=("pathology",))
    to = [(one.by, one.to) for one in outcome.log if isinstance(one, Remark)]
    assert to == [("outpatient", "laboratory"), ("laboratory", "radiology")]


async def test_random_addressees_are_seeded(by_purpose):
    def said(outcome):
        return [(one.by, one.to) for one in outcome.log if isinstance(one, Remark)]

    one, same, other = [said(await ask(by_purpose(answers()), targets="random", seed=seed)) for seed in (1, 1, 2)]
    assert one == same != other
    assert all(by != to for by, to in one)
    assert len(one) == 16


@each_row(
    ("settings", "expected"),
    [
        ({"cross_verification": False}, (5, 2)),
        ({"tree": False}, (45, 12)),
        ({"rounds": 1}, (4 + 20 + 1, 7)),
        ({"rounds": 0}, (5, 2)),
        ({"turns": 1, "rounds": 1}, (4 + 12 + 1, 5)),
        ({"without": ("laboratory", "radiology", "pathology")}, (2, 2)),
        ({"without": ("laboratory", "radiology", "pathology"), "removed": "withheld"}, (2, 2)),
        ({"form": "typed"}, (45, 12)),
    ],
)
async def test_ablations(by_purpose, settings, expected):
    outcome = await ask(by_purpose(answers()), **settings)
    assert cost(outcome) == expected
    assert outcome.answers == frozenset("AC")


async def test_without_trees_doctors_speak_plain_language(by_purpose):
    model = by_purpose(
        answers({f"{kind} {what}": f"Plain of {kind}." for kind in KINDS for what in ("reads", "updates")})
    )
    outcome = await ask(model, tree=False)
    assert outcome.rationale == "Plainly."
    assert not any("Reasoning pathway" in call.text or "evidence" in call.system for call in model.seen)
    assert "Plain of laboratory." in model.shown("conclusion")[0].user


async def test_printed_trees_are_read_and_what_is_none_leaves_the_opinion(by_purpose):
    whole = "Reasoning pathway\n  Polyp\n    Analysis: seen\n      Evidence 1: a white patch"
    given = {f"{kind} {what}": whole for kind in KINDS for what in ("reads", "updates")}
    outcome = await ask(by_purpose(answers(given)), form="printed")
    assert [one.opinion.suspected[0].diagnosis for one in outcome.log if isinstance(one, Wrote)] == ["Polyp"] * 12
    half = given | {"outpatient updates": "Reasoning pathway\n  Cancer\n    Analysis: seen"}
    outcome = await ask(by_purpose(answers(half)), form="printed")
    assert [one.round for one in outcome.log if isinstance(one, Wrote) and one.by == "outpatient"] == [0]
    # What was not a whole tree is told from what the model never said.
    unusable = [(call.purpose, call.error) for call in outcome.trace if call.unusable]
    assert unusable == [(f"outpatient updates, round {n}", "UnreadableReply") for n in (1, 2)]


async def test_removed_doctors_hand_over_their_data_or_it_is_withheld(by_purpose):
    for removed, shown in (("reassigned", True), ("withheld", False)):
        model = by_purpose(answers())
        outcome = await ask(model, without=("laboratory", "pathology"), removed=removed)
        assert [part.kind for part in outcome.parts] == ["outpatient", "radiology"]
        assert ("98 g/L" in model.shown("outpatient reads")[0].user) is shown
        assert any("severe dysplasia" in call.user for call in model.seen) is shown


async def test_each_doctor_looks_its_own_part_up(by_purpose):
    found = {
        "98 g/L": [
            Passage(id=str(n), score=1.0, title="Anaemia", text=f"On anaemia {n}.", corpus="books") for n in range(5)
        ],
        "dysplasia": [Passage(id="d", score=1.0, text="On dysplasia.", corpus="books")],
    }
    library, model = ScriptedRetriever(found), by_purpose(answers())
    outcome = await ask(model, retriever=library)
    assert len(library.queries) == 4
    assert [any(text in query for text in PARTS["laboratory"]) for query in library.queries].count(True) == 1
    (read,) = model.shown("laboratory reads")
    assert [f"On anaemia {n}." in read.user for n in range(5)] == [True] * 3 + [False] * 2
    assert "[books#0]" in read.user
    assert sum("On dysplasia." in call.user for call in model.seen) == 1
    assert [p.source for p in next(one for one in outcome.log if one.by == "pathology").passages] == ["books#d"]
    without = by_purpose(answers())
    await ask(without, retriever=library, retrieval=False)
    assert len(library.queries) == 4
    assert not any("Looked up" in call.user for call in without.seen)


async def test_unsupported_evidence_is_kept_from_the_head_where_it_is_to_be(by_purpose):
    given = {
        "laboratory reads": tree("Anaemia", "hemoglobin 98 g/L", "ferritin 3 ug/L"),
        "pathology reads": tree("Lymphoma", "large B cells"),
    }
    for evidence, shown in (("all", True), ("supported", False)):
        model = by_purpose(answers(given))
        outcome = await ask(model, evidence=evidence, cross_verification=False)
        (head,) = model.shown("conclusion")
        assert "hemoglobin 98 g/L" in head.user
        assert ("ferritin 3 ug/L" in head.user) is shown
        assert ("Lymphoma" in head.user) is shown
        # What was written is written down whole.
        assert any("large B cells" in str(one) for one in outcome.log)


async def test_the_log_tells_it_all(by_purpose):
    outcome = await ask(by_purpose(answers()))
    kinds = [type(one).__name__ for one in outcome.log]
    assert kinds == ["Wrote"] * 4 + 2 * (["Remark"] * 8 + ["Wrote"] * 4) + ["Concluded"]
    last = outcome.log[-1]
    assert isinstance(last, Concluded) and last.answers == frozenset("AC")
    assert last.opinion == EvidenceTree(
        (
            Suspected(
                "The final disease", (Reasoning("Because of The final disease.", ("Sign of The final disease.",)),)
            ),
        )
    )


async def test_a_doctor_whose_first_tree_cannot_be_used_falls_silent(by_purpose):
    model = by_purpose(answers({"radiology reads": {"suspected": [{"diagnosis": "x", "reasonings": []}]}}))
    outcome = await ask(model)
    assert outcome.answers == frozenset("AC")
    assert not any(call.purpose.startswith("radiology ") for call in model.seen if "reads" not in call.purpose)
    assert [call.error for call in outcome.trace if call.error] == ["UnreadableReply"]


async def test_all_silent_is_the_end_by_the_first_failure(by_purpose):
    outcome = await ask(
        by_purpose(answers({"outpatient reads": Refused("no")} | {f"{k} reads": "" for k in KINDS[1:]}))
    )
    assert (outcome.end, outcome.calls, outcome.answers) == (OutcomeEnd.REFUSED, 4, frozenset())


@pytest.mark.parametrize("said", [Refused("no"), "neither", ""])
async def test_later_failures_leave_the_opinion_and_silence(by_purpose, said):
    given = {"laboratory updates": said, "radiology speaks": said, "pathology to outpatient": said}
    outcome = await ask(by_purpose(answers(given)))
    assert outcome.answers == frozenset("AC")
    assert [one.round for one in outcome.log if isinstance(one, Wrote) and one.by == "laboratory"] == [0]
    assert not any(one.by == "radiology" for one in outcome.log if isinstance(one, Remark))


@each_row("failure", [Unreachable("nobody there"), ScriptError("spent")])
@each_row("stage", ["laboratory reads", "radiology speaks, round 2", "pathology updates", "conclusion"])
async def test_an_endpoint_that_fails_ends_the_question_as_failed(by_purpose, stage, failure):
    outcome = await ask(by_purpose(answers({stage: failure})))
    assert (outcome.end, outcome.answers) == (OutcomeEnd.FAILED, frozenset())
    assert outcome.problem == str(failure) or "spent" in outcome.problem


async def test_the_head_must_choose_among_the_options(by_purpose):
    wrong = {"tree": tree("x"), "answer": ["Z"]}
    assert (await ask(by_purpose(answers({"conclusion": wrong})))).end is OutcomeEnd.UNREADABLE


async def test_one_doctor_alone_has_nobody_to_talk_to(by_purpose):
    record = Record(presentation=RECORD.presentation)
    assert cost(await tree_of_reasoning(QUESTION, by_purpose(answers()), record=record)) == (2, 2)
    assert cost(await tree_of_reasoning(QUESTION, by_purpose(answers()))) == (2, 2)


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"turns": 0}, {"passages": 0}, {"without": ("outpatient",)}])
async def test_what_makes_no_sense_is_refused_before_any_call(by_purpose, wrong):
    model = by_purpose(answers())
    with pytest.raises(UserError):
        await ask(model, **wrong)
    assert not model.seen


async def test_a_chinese_record_is_discussed_in_chinese(by_purpose):
    record = Record(
        presentation=Presentation(complaint="声音嘶哑两个月", language="zh", age=71, sex="male"),
        findings=(
            Finding(examination="血液检查", item="血红蛋白", value=98.0, unit="克"),
            Finding(examination="磁共振检查", value="左声带增厚"),
            Finding(examination="病理检查", value="重度异型增生"),
        ),
    )
    question = Question(
        id="q", stem="哪些诊断成立？", options={"A": "喉癌", "C": "肝囊肿"}, language="zh", several=True
    )
    model = by_purpose(answers())
    outcome = await tree_of_reasoning(question, model, record=record)
    assert outcome.answers == frozenset("AC")
    for call in model.seen:
        assert "研究和教学" in call.text
        told = re.sub(r"(Disease|Remark|Sign|Because) of [^\n]*|CT", "", call.user)
        assert not re.search(r"[A-Za-z]{2,}", told), told


def team_answers(body):
    """Returns what an endpoint says to a team: everybody speaks to everybody."""
    form = body.get("response_format")
    if form is None:
        return "A remark."
    fields = form["json_schema"]["schema"]["properties"]
    if "to" in fields:
        return {"reason": "So.", "to": [KINDS[1]]}
    if "answer" in fields:
        return {"tree": tree("Disease"), "answer": ["A"]}
    return tree("Disease")


def test_one_record_takes_twelve_latencies():
    """In virtual time, so that nothing depends on ours."""
    outcome, in_a_row, _ = latencies_of(ask, team_answers)
    assert outcome.round_trips == 12
    assert in_a_row == pytest.approx(12)
