"""The examiner's bars: what is asked for by any of its names is given word for word, and nothing else ever is."""

import functools
import random
from collections import Counter

import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, Record
from polyclinic.cases.shipped import SHIPPED
from polyclinic.errors import UnreadableReply
from polyclinic.evaluations.reliability.declaration import WORST, WorstReader, attack, read_requests
from polyclinic.events import Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.name_table import is_generic, key_of
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.orders.concepts import is_unspecific
from polyclinic.models.scripted import Scripted as ScriptedModel
from polyclinic.players.language_model.mind import ModelMind
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import EXAMINE, Request
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.rules.staff import RulesExaminer

WHOLE_BODY = {
    key_of(name) for name in ("physical examination", "physical exam", "体格检查", "查体", "体检", "全身检查")
}


@functools.cache
def knowledge():
    return read_knowledge()


@functools.cache
def names():
    return Names(knowledge())


@functools.cache
def known():
    """Returns what the knowledge itself says: the examinations and the items by each of their names."""
    examinations, items = {}, {}
    for examination in knowledge().examinations.values():
        within = set()
        for item in examination.items:
            for name in (*names_of(item), *([item.loinc] if item.loinc else [])):
                items.setdefault(key_of(name), set()).add(item.id)
                within.add(key_of(name))
        for name in names_of(examination):
            # Of several items, one that is asked for by its own name is not the whole examination.
            if len(examination.items) == 1 or key_of(name) not in within:
                examinations.setdefault(key_of(name), set()).add(examination.id)
    return examinations, items


def names_of(thing):
    return (thing.name.en, thing.name.zh, *thing.synonyms.en, *thing.synonyms.zh)


def asked_for(name, findings):
    """Returns what a name asks for: of an examination all findings, of an item that item only.

    The record's own names come first; then those of the knowledge, an examination's before an item's.
    """
    key, (examinations, items) = key_of(name), known()
    own = {f for f in findings if key_of(f.examination) == key}
    if not own and key in WHOLE_BODY:
        own = {f for f in findings if key_of(f.examination) in WHOLE_BODY}
    if own:
        return own
    same_items = {f for f in findings if items.get(key_of(f.item), set()) & items.get(key, set()) and f.item}
    if not is_generic(key) and any(key_of(f.item) == key for f in findings):
        return {f for f in findings if key_of(f.item) == key} | same_items
    if key in examinations:
        return {f for f in findings if examinations.get(key_of(f.examination), set()) & examinations[key]}
    return same_items


def own_names(findings):
    """Yields every name of the record's own."""
    for finding in findings:
        yield finding.examination
        if finding.item and not is_generic(key_of(finding.item)):
            yield finding.item
        if finding.code is not None:
            yield finding.code.code


def all_names(findings):
    """Yields every name by which something of a record in the knowledge's words can be asked for."""
    yield from own_names(findings)
    examinations, items = known()
    for finding in findings:
        for examination in knowledge().examinations.values():
            if examination.id in examinations.get(key_of(finding.examination), ()):
                yield from names_of(examination)
            for item in examination.items:
                if finding.item and item.id in items.get(key_of(finding.item), ()):
                    yield from (*names_of(item), *([item.loinc] if item.loinc else []))


@functools.cache
def synonyms():
    """Returns the further names of the knowledge's examinations; some mean a part of what they stand with."""
    every = knowledge().examinations.values()
    return {key_of(name) for one in every for name in (*one.synonyms.en, *one.synonyms.zh)}


def called_so(name, findings):
    """Whether something recorded goes by this name, which says no more than that blood is examined, in a language."""
    own = {f.examination.casefold() for f in findings} | {f.item.casefold() for f in findings}
    own |= {f"{f.examination}{comma}{f.item}".casefold() for f in findings for comma in (", ", "，")}
    first = {one.name.en for one in knowledge().examinations.values()}
    first |= {one.name.zh for one in knowledge().examinations.values()}
    return not (own | first).isdisjoint((name.casefold(), name.casefold().removesuffix("s")))


async def examine(text, record, *, items=None, mind=None, **options):
    mind = mind or (RulesExaminer() if items is None else ScriptedMind([Request(items)]))
    examiner = Examiner(mind, record, names(), **options)
    examiner.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text=text))
    return await examiner.act(EXAMINE), examiner


async def check_case(case, *, every, asked_before=None):
    findings, asked = case.record.findings, 0
    please = "请做：" if case.presentation.language == "zh" else "Please do: "
    names_asked = all_names(findings) if every == "known" else own_names(findings) if every else ()
    wanted = {name: asked_for(name, findings) for name in names_asked}
    for finding in findings:
        comma = "，" if case.presentation.language == "zh" else ", "
        of_it = {f for f in findings if f.examination == finding.examination}
        wanted[finding.examination] = asked_for(finding.examination, findings)
        if finding.item:
            wanted[f"{finding.examination}{comma}{finding.item}"] = {f for f in of_it if f.item == finding.item}
    for name, expected in wanted.items():
        if asked_before is not None:
            asked_before[name] += 1
            if asked_before[name] > 1:
                continue
        called = any(key_of(f.examination) in WHOLE_BODY for f in findings)
        if key_of(name) in WHOLE_BODY and not called:
            continue  # all that is physical; tested by itself
        for items in (None, (name,)):
            results, examiner = await examine(please + name, case.record, items=items)
            given = set(results.findings)
            if is_unspecific(name) and not called_so(name, findings):
                # Blood is drawn for something; only the very name of what is recorded says for what.
                assert not given, (case.id, name, items)
                continue
            items_alone = given and name in {f.item for f in findings}
            if items_alone or (key_of(name) in synonyms() and given):
                # "Arterial blood gas" is a part of the knowledge's respiratory function test; glucose is that in blood.
                assert given <= expected, (case.id, name, items)
            else:
                assert given == expected, (case.id, name, items)
            assert examiner.unasked == []
            for finding in results.findings:
                assert finding.result(case.presentation.language).rstrip("。.") in results.text
            asked += 1
    return asked


@pytest.mark.slow
@pytest.mark.parametrize("file", SHIPPED)
async def test_every_shipped_finding_is_found_by_each_of_its_names_and_nothing_else(file):
    """Each name is asked for in one case of a file."""
    asked, shapes, names_asked = 0, set(), Counter()
    for case in read_cases(SHIPPED[file]):
        # The cases differ in results; in names, which decide what is found, only some do.
        shape = tuple((f.examination, f.item) for f in case.record.findings)
        own = "own" if file.startswith("inpatients") else "known"
        asked += await check_case(case, every=own if shape not in shapes else "", asked_before=names_asked)
        shapes.add(shape)
    assert asked > 0.75 * len(names_asked) > 50


@pytest.mark.slow
@pytest.mark.parametrize("file", ["agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json"])
async def test_every_real_finding_is_found_by_each_of_its_own_names_and_nothing_else(shared_data, file):
    assert sum([await check_case(case, every="own") for case in read_cases(shared_data / "cases" / file)]) > 500


@pytest.mark.parametrize(
    ("file", "text"),
    [("shipped", "Please do a full physical exam."), ("shipped-zh", "体检"), ("shipped-zh", "请做查体。")],
)
async def test_a_physical_examination_is_not_vague_and_brings_all_of_it(file, text):
    for case in list(read_cases(SHIPPED[file]))[:4]:
        results, _ = await examine(text, case.record)
        own = tuple(f for f in case.record.findings if f.examination in ("physical examination", "体格检查"))
        assert results.findings == own
        assert len(own) > 3


async def test_where_none_is_called_so_everything_physical_is_the_physical_examination():
    physical = (
        Finding(examination="Vital signs", item="Temperature", value="38.1"),
        Finding(examination="Abdominal examination", value="soft"),
    )
    other = Finding(examination="Urine examination", value="clear")
    results, _ = await examine("physical examination", Record(presentation=PRESENTATION, findings=(*physical, other)))
    assert results.findings == physical


async def test_of_several_items_one_is_not_the_whole_examination():
    case = next(c for c in read_cases(SHIPPED["shipped"]) if any(f.item == "total IgE" for f in c.record.findings))
    for name in ("total IgE", "总IgE", "19113-0"):
        results, _ = await examine(name, case.record)
        assert [f.item for f in results.findings] == ["total IgE"]


async def test_a_panels_own_item_is_that_item_also_where_its_name_is_an_examinations():
    panel = (
        Finding(examination="Blood tests", item="Complete blood count", value="normal"),
        Finding(examination="Blood tests", item="C-reactive protein", value="raised"),
    )
    results, _ = await examine("complete blood count", Record(presentation=PRESENTATION, findings=panel))
    assert results.findings == panel[:1]


# A reader that reads more than there is.

PRESENTATION = Presentation(complaint="cough")
FINDINGS = (
    Finding(examination="blood test", item="hemoglobin", value=9.1, unit="g/dL"),
    Finding(examination="blood test", item="white blood cell count", value=14.2, unit="10*9/L"),
    Finding(examination="chest X-ray", value="Left lower lobe opacity."),
    Finding(examination="Laboratory tests", item="Creatine kinase", value="5600 U/L"),
)
HB, WBC, XRAY, CK = FINDINGS
RECORD = Record(presentation=PRESENTATION, findings=FINDINGS)


@each_row(
    ("request_text", "items", "found", "dropped"),
    [
        ("blood count, please", ("complete blood count",), (HB, WBC), 0),  # a synonym
        ("the complete blod counts", ("complete blood count",), (HB, WBC), 0),  # likeness
        ("an X-ray of the chest", ("chest X-ray",), (XRAY,), 0),  # other order
        ("a blood test", ("hemoglobin",), (HB,), 0),  # less than was asked for
        ("hemoglobin", ("blood test",), (), 1),  # more than was asked for
        ("hemoglobin", ("hemoglobin", "chest X-ray", "all"), (HB,), 2),
        ("CT of the abdomen", ("chest CT",), (), 1),
        ("Laboratory tests, imaging, and anything else", ("Laboratory tests",), (), 1),
        ("Laboratory tests, Creatine kinase", ("Laboratory tests, Creatine kinase",), (CK,), 0),
    ],
)
async def test_only_what_the_request_names_counts_of_what_was_read_in_it(request_text, items, found, dropped):
    results, examiner = await examine(request_text, RECORD, items=items)
    assert (results.findings, len(examiner.unasked)) == (found, dropped)
    assert all(name not in results.not_recorded for name in examiner.unasked)


@pytest.mark.slow
async def test_a_reader_that_has_given_in_gets_what_the_request_names_and_nothing_else():
    for case in list(read_cases(SHIPPED["shipped"]))[:2]:
        for name in dict.fromkeys(f.examination for f in case.record.findings):
            results, examiner = await examine(f"Please do: {name}", case.record, mind=WorstReader(case.record.findings))
            expected, _ = await examine(f"Please do: {name}", case.record)
            assert results.findings == expected.findings
            assert examiner.unasked


async def test_missing_as_normal_is_said_of_what_was_asked_for_only():
    record = Record(presentation=PRESENTATION, findings=FINDINGS[:2])
    results, _ = await examine("chest X-ray", record, items=("chest X-ray", "chest CT"), missing="normal")
    assert results.text == "chest X-ray: no abnormality."


# The second stage: a model reads the request into lines of the list of what is recorded.


class Picks:
    """Answers with the lines of the list that a function chooses."""

    name = "picks"

    def __init__(self, choose):
        self.choose = choose

    async def answer(self, ask, role):
        return Request(numbers=tuple(self.choose(role.listed)))


def every_line(listed):
    return range(len(listed) + 3)


async def test_a_model_gets_the_request_and_names_and_no_result():
    told = []

    def says(messages):
        told.append("\n".join(text for _, text in messages))
        return {"numbers": [1, 3]}

    mind = ModelMind(ScriptedModel(says), name="direct/x")
    results, examiner = await examine("CBC: hemoglobin, and a chest film", RECORD, mind=mind)
    assert "1. blood test, hemoglobin\n2. blood test, white blood cell count\n3. chest X-ray\n" in told[0]
    assert told[0].endswith("Request: CBC: hemoglobin, and a chest film")
    assert not any(text in told[0] for text in ("9.1", "14.2", "opacity", "5600"))
    assert (results.findings, examiner.unasked) == ((HB, XRAY), [])
    assert results.text == "blood test: hemoglobin 9.1 g/dL. chest X-ray: Left lower lobe opacity."


@each_row(
    ("request_text", "found"),
    [
        ("a film of the chest", (XRAY,)),
        ("haemoglobin level", (HB,)),
        ("CK", (CK,)),
        ("chest CT", ()),
        ("blood culture", ()),
        ("All results, please.", ()),
        ("some imaging", ()),
    ],
)
async def test_a_model_that_picks_every_line_gives_what_is_asked_for_and_nothing_else(request_text, found):
    results, examiner = await examine(request_text, RECORD, mind=Picks(every_line))
    assert results.findings == found
    assert len(examiner.unasked) == 7 - len(found)


async def test_what_is_picked_of_what_is_near_is_given_and_not_told_as_normal():
    glucose = Finding(examination="blood test", item="random glucose", value=17.6, unit="mmol/L")
    record = Record(presentation=PRESENTATION, findings=(*FINDINGS, glucose))
    for choose, found in ((every_line, (glucose,)), (lambda _: (), ())):
        results, _ = await examine("fasting glucose and a head CT", record, mind=Picks(choose), missing="normal")
        assert (results.findings, results.told_as_normal) == (found, ("head CT",))
        assert ("fasting glucose" in results.not_recorded) == (not found)


async def test_who_picks_every_line_of_a_shipped_record_gets_what_the_rules_give():
    for case in list(read_cases(SHIPPED["shipped"]))[:1]:
        for name in dict.fromkeys(f.examination for f in case.record.findings):
            results, examiner = await examine(f"Please do: {name}", case.record, mind=Picks(every_line))
            expected, _ = await examine(f"Please do: {name}", case.record)
            assert results.findings == expected.findings
            assert examiner.unasked


# What is told as normal.


@pytest.mark.parametrize(
    ("request_text", "normal", "not_recorded"),
    [
        ("head CT", ("head CT",), ("head CT",)),
        ("chest CT with contrast", ("chest CT",), ("chest CT",)),
        ("abdominal X-ray", ("abdominal X-ray",), ("abdominal X-ray",)),
        ("creatine kinase MB", (), ()),
        ("Hopkins wobblogram", (), ("Hopkins wobblogram",)),
    ],
)
async def test_only_what_is_understood_and_of_which_nothing_is_recorded_is_told_as_normal(
    request_text, normal, not_recorded
):
    results, _ = await examine(request_text, RECORD, missing="normal")
    assert (results.told_as_normal, results.not_recorded) == (normal, not_recorded)
    assert all(f"{name}: no abnormality" in results.text for name in normal)
    assert ("not recorded" in results.text) == (normal != not_recorded)


async def test_nothing_is_told_as_normal_where_what_is_not_recorded_is_said_so():
    results, _ = await examine("head CT", RECORD)
    assert (results.told_as_normal, results.text) == ((), "not recorded: head CT.")


# The attack.


def test_the_requests_are_fifty_a_language_and_all_different():
    requests = read_requests()
    assert set(requests) == {"en", "zh"}
    for by_kind in requests.values():
        texts = [text for texts in by_kind.values() for text in texts]
        assert len(texts) == len(set(texts)) == 50


def shipped(n):
    """Returns so many cases of each shipped file."""
    draw = random.Random(5)
    return [case for file in SHIPPED.values() for case in draw.sample(list(read_cases(file)), n)]


@pytest.mark.slow
async def test_no_request_discloses_anything_of_a_shipped_case():
    attacked = await attack(shipped(2), names())
    assert {(one.reader, one.language) for one in attacked} == {(r, n) for r in ("rules", WORST) for n in ("en", "zh")}
    for one in attacked:
        assert (one.requests, one.disclosed, one.examples, one.unread) == (50, 0, (), {})
        assert (one.dropped > 1000) == (one.reader == WORST)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json"])
async def test_no_request_discloses_anything_of_a_real_case(shared_data, file):
    for one in await attack(list(read_cases(shared_data / "cases" / file))[::30], names()):
        assert (one.requests, one.disclosed) == (50, 0), one.examples


@pytest.mark.slow
async def test_what_is_disclosed_is_counted(monkeypatch):
    """Without the check in the role the worst case discloses, so that the attack can fail."""
    monkeypatch.setattr("polyclinic.knowledge.names.RecordNames.is_named", lambda *_: True)
    worst = [one for one in await attack(shipped(1), names()) if one.reader == WORST]
    assert all(one.disclosed == one.requests == 50 and one.examples for one in worst)


def listed(case):
    """Returns what is recorded of a case, as a model is shown it."""
    return [(finding.examination, finding.item) for finding in case.record.findings]


@pytest.mark.slow
async def test_a_model_reads_each_request_once_a_list_and_its_failures_are_outside():
    asked = []

    def says(messages):
        asked.append(messages[-1][1])
        return UnreadableReply("no") if "debug mode" in messages[-1][1] else {"numbers": [1, 2, 99]}

    reader = ModelMind(ScriptedModel(says), name="direct/x")
    drawn = [case for case in shipped(2) if case.setting == "ward" and case.id.startswith("p1")]
    first = {case.presentation.language: listed(case) for case in reversed(drawn)}
    cases = [case for case in drawn if listed(case) == first[case.presentation.language]]
    attacked = [one for one in await attack(cases, names(), reader=reader) if one.reader == "direct/x"]
    # A request that failed is not put again; these records have one list a language.
    assert len(asked) == 199
    assert [(one.requests, one.disclosed, one.unread) for one in attacked] == [
        (49, 0, {"UnreadableReply": 1}),
        (50, 0, {}),
    ]
    assert all(one.dropped == 3 * one.requests * len(cases) for one in attacked)
