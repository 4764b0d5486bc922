"""What a short report is worth: what is named counts, what is dosed is told, and a code's own name is right."""

import msgspec

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Diagnosis
from polyclinic.judges.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.metrics.grades import Aspect
from polyclinic.web.chair.naming import is_named, link_by_code, verdict_by_code
from polyclinic.web.chair.prescribing import by_name, due_points
from polyclinic.web.chair.symptoms import by_symptom

DUE = (
    "salbutamol inhalation, 200 micrograms by spacer every four hours (opens the airways at once)",
    "prednisolone by mouth, 30 to 40 mg once a day for five days (for breathlessness)",
    "help to stop smoking",
)


def found(*given):
    return [(one.named, one.dosed) for one in due_points(DUE, given, read_knowledge())]


def test_what_is_named_and_what_is_dosed_are_told_apart():
    none = (False, None)
    for given, wanted in (
        (["Salbutamol"], [(True, False), none, none]),
        (["salbutamol 0.2 mg", "prednisolone 35mg"], [(True, True), (True, True), none]),
        (["prednisolone 5 mg; 200 micrograms salbutamol"], [(True, True), (True, False), none]),
        (["沙丁胺醇 200微克"], [(True, True), none, none]),
        (["help him stop smoking"], [none, none, (True, None)]),
        ([], [none, none, none]),
    ):
        assert found(*given) == wanted, given


def bronchitis(severity):
    return next(
        case
        for case in read_cases("shipped")
        if case.truth.diagnoses[0].name == "Chronic Bronchitis" and case.truth.severity == severity
    )


def told(*names, treatment=()):
    diagnoses = tuple(Diagnosis(name=name) for name in names)
    return Report(symptoms=(), examinations=(), diagnoses=diagnoses, rationale=(), treatment=tuple(treatment))


def test_the_name_of_the_records_code_is_right():
    knowledge = read_knowledge()
    moderate, mild = bronchitis("moderate").truth, bronchitis("mild").truth
    for name in ("COPD exacerbation", "AECOPD", "慢阻肺急性加重", "chronic bronchitis"):
        assert verdict_by_code(told(name), moderate, knowledge) == "right", name
    # A mild one has not got worse; and what is broader is not it.
    for name, truth in (("COPD exacerbation", mild), ("COPD", moderate), ("asthma", moderate)):
        assert verdict_by_code(told(name), truth, knowledge) == "wrong", name
        assert not is_named(name, truth, knowledge)
    assert verdict_by_code(told(), moderate, knowledge) == "no diagnosis"


async def test_a_short_report_is_graded_by_what_it_names():
    knowledge, case = read_knowledge(), bronchitis("moderate")
    report = told("COPD exacerbation", treatment=["salbutamol", "prednisolone", "stop smoking"])
    strict = await RulesJudge(knowledge).grade(case, report)
    ours = await RulesJudge(knowledge, link=link_by_code(case.truth, knowledge)).grade(by_name(case, knowledge), report)
    assert (strict.grades[Aspect.DIAGNOSIS].name, ours.grades[Aspect.DIAGNOSIS].name) == ("D", "A")
    assert strict.grades[Aspect.TREATMENT] < ours.grades[Aspect.TREATMENT]
    # What says nothing of doses and reasons stays as it is.
    plain = msgspec.structs.replace(case.truth, treatment=("rest, fluids and watching",))
    assert by_name(msgspec.structs.replace(case, truth=plain), knowledge).truth.treatment == plain.treatment


def test_a_symptom_may_be_named_less_particularly_than_the_record_has_it():
    knowledge = read_knowledge()
    wrong = []
    for language, recorded, reported, wanted in (
        ("en", ("a fever above 39 degrees", "throat pain"), ("fever", "cough"), ("fever", "throat pain")),
        ("zh", ("高热", "咽痛"), ("发烧",), ("发热", "咽痛")),
        ("en", ("a fever above 39 degrees",), ("high fever",), ("a fever above 39 degrees",)),
        ("en", ("a fever above 39 degrees",), ("no fever",), ("a fever above 39 degrees",)),
        ("en", ("a fever",), ("high fever",), ("a fever",)),
    ):
        case = next(iter(read_cases("shipped" if language == "en" else "shipped-zh")))
        history = msgspec.structs.replace(case.record.history, symptoms=recorded)
        case = msgspec.structs.replace(case, record=msgspec.structs.replace(case.record, history=history))
        report = Report(symptoms=reported, examinations=(), diagnoses=(), rationale=(), treatment=())
        lexicon = Lexicon(knowledge.symptoms.values(), language)
        found = by_symptom(case, report, knowledge.symptoms, lexicon).record.history.symptoms
        if found != wanted:
            wrong.append((recorded, reported, found))
    assert not wrong
