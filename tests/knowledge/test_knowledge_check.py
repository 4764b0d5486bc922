"""The shipped knowledge has no problems, and every kind of problem is found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.knowledge.check import Flaw, check_knowledge
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge

Data = dict[str, Any]


# What is of all departments; everything else is found as well among the diseases of one, and ten times as fast.
OF_ALL = {
    *("symptom of no disease", "examination of no disease", "symptom of women in a disease of men"),
    "department without a Chinese name",
}


@functools.cache
def _encoded(diseases: str) -> bytes:
    # What is linked from the files holds infinite ends, which JSON does not have.
    return msgspec.json.encode(msgspec.structs.replace(read_knowledge().select(diseases), bodies={}))


def planted(plant: Callable[[Data], object], diseases: str = "respiratory") -> list[Flaw]:
    data = msgspec.json.decode(_encoded(diseases))
    plant(data)
    return check_knowledge(msgspec.convert(data, Knowledge))


def symptom(data: Data, key: str) -> Data:
    return data["symptoms"][key]


def item(data: Data, examination: str, key: str) -> Data:
    return next(i for i in data["examinations"][examination]["items"] if i["id"] == key)


def wbc(data: Data) -> Data:
    return item(data, "blood-test", "wbc")


def pharynx(data: Data) -> Data:
    return item(data, "oropharyngeal-examination", "pharynx")


def flu(data: Data) -> Data:
    return data["diseases"]["influenza-a"]


def mild(data: Data) -> Data:
    return flu(data)["treatment"]["mild"]


def give(drug: str) -> Data:
    return {"give": [{"drug": drug, "route": "oral", "dose": {"en": "1 g", "zh": "1 g"}}]}


def phrase(data: Data, key: str, language: str, text: str) -> None:
    symptom(data, key)["phrases"][language] = [*symptom(data, key)["phrases"][language], text]


@pytest.mark.slow
def test_the_shipped_knowledge_has_no_problems() -> None:
    assert check_knowledge(read_knowledge()) == []


def test_there_are_many_diseases_in_many_departments_and_sixteen_preset_examinations() -> None:
    knowledge = read_knowledge()
    assert len(knowledge.diseases) >= 32
    assert len({d.department for d in knowledge.diseases.values()}) >= 10
    assert len(knowledge.select("respiratory").diseases) == 8
    assert sum(e.preset for e in knowledge.examinations.values()) == 16


def test_an_age_of_a_text_that_is_not_there_is_found() -> None:
    found = planted(lambda data: pharynx(data).update(from_age={"spotted": 4, "normal": 3}))
    told = [flaw.problem.split()[0] for flaw in found if flaw.where.endswith("pharynx.from_age")]
    assert told == ["'normal'", "'spotted'"]


def test_every_drug_is_in_some_plan() -> None:
    knowledge = read_knowledge()
    used = {
        drug
        for d in knowledge.diseases.values()
        for s in ("mild", "moderate", "severe")
        for drug in d.plan(s).drug_ids()
    }
    assert set(knowledge.drugs) == used


CODES: dict[str, Callable[[Data], object]] = {
    "LOINC": lambda d: wbc(d).update(loinc="WBC"),
    "ATC": lambda d: d["drugs"]["oxygen"].update(atc="V03AN"),
    "ICD-10": lambda d: flu(d).update(icd10="J101"),
}


@each_row("plant", CODES.values())
def test_what_is_no_code_is_not_read(plant: Callable[[Data], object]) -> None:
    with pytest.raises(msgspec.ValidationError, match="regex"):
        planted(plant)


SYMPTOMS: dict[str, tuple[Callable[[Data], object], str, str]] = {
    "no Chinese name": (lambda d: symptom(d, "rash")["name"].update(zh=" "), "symptoms.rash.name", "'zh'"),
    "no English question": (lambda d: symptom(d, "rash")["question"].update(en=""), "symptoms.rash.question", "'en'"),
    "English is Chinese": (lambda d: symptom(d, "rash")["question"].update(en="皮疹？"), "symptoms.rash", "is Chinese"),
    "one phrase": (lambda d: symptom(d, "rash")["phrases"].update(zh=["皮疹"]), "symptoms.rash.phrases", "1 in 'zh'"),
    "certain in others": (lambda d: symptom(d, "rash").update(base=1.0), "symptoms.rash.base", "always or never"),
    "parent after child": (lambda d: symptom(d, "fever").update(parent="rash"), "symptoms.fever.parent", "after it"),
    "its own parent": (lambda d: symptom(d, "fever").update(parent="fever"), "symptoms.fever.parent", "after it"),
    "shared synonym": (
        lambda d: symptom(d, "rash")["synonyms"]["en"].append("Coughing"),
        "symptoms.rash",
        "also belongs to the symptom 'cough'",
    ),
    "phrase with another symptom": (
        lambda d: phrase(d, "rash", "en", "a rash since the cough began"),
        "symptoms.rash.phrases",
        "also says 'cough' (cough)",
    ),
    "Chinese phrase with another symptom": (
        lambda d: phrase(d, "rash", "zh", "发烧后起疹子"),
        "symptoms.rash.phrases",
        "also says '发烧' (fever)",
    ),
    "phrase of a parent with its child's word": (
        lambda d: phrase(d, "fever", "en", "a fever that is at times a high fever"),
        "symptoms.fever.phrases",
        "(high_fever)",
    ),
    "phrase that names a disease": (
        lambda d: phrase(d, "rash", "en", "a rash from COVID-19"),
        "symptoms.rash",
        "gives the diagnosis away",
    ),
    "question that names a disease": (
        lambda d: symptom(d, "wheeze")["question"].update(zh="您有哮喘吗？"),
        "symptoms.wheeze",
        "bronchial-asthma",
    ),
    "phrase in two parts": (
        lambda d: phrase(d, "rash", "zh", "皮疹，满身都是"),
        "symptoms.rash.phrases",
        "answers are cut there",
    ),
    "phrase about an examination": (
        lambda d: phrase(d, "rash", "en", "a rash that the blood test explained"),
        "symptoms.rash.phrases",
        "speaks of an examination",
    ),
    "ages upside down": (lambda d: symptom(d, "rash").update(ages=[9, 3]), "symptoms.rash.ages", "first <= last"),
    "symptom of no disease": (
        lambda d: [disease["symptoms"].pop("hunger_pain", None) for disease in d["diseases"].values()],
        "symptoms.hunger_pain",
        "no disease names it",
    ),
    "phrase with a duration": (
        lambda d: phrase(d, "rash", "en", "a rash for three weeks"),
        "symptoms.rash.phrases",
        "names a duration",
    ),
}

EXAMINATIONS: dict[str, tuple[Callable[[Data], object], str, str]] = {
    "no unit": (lambda d: wbc(d).update(unit=""), "blood-test.wbc.unit", "needs a unit in UCUM"),
    "range upside down": (lambda d: wbc(d).update(low=12), "blood-test.wbc", "low 12 is not below high 9.5"),
    "no range": (lambda d: wbc(d).update(low=None, high=None), "blood-test.wbc", "reference range"),
    "limits upside down": (lambda d: wbc(d).update(limits=[50, 40]), "blood-test.wbc.limits", "not below"),
    "decimals": (lambda d: wbc(d).update(decimals=-1), "blood-test.wbc.decimals", "is -1"),
    "usual is not normal": (lambda d: wbc(d).update(usual=[12, 1]), "blood-test.wbc.usual", "outside the reference"),
    "usual is beyond limits": (lambda d: wbc(d).update(limits=[8, 9]), "blood-test.wbc.usual", "outside the limits"),
    "no spread": (lambda d: wbc(d).update(usual=[6.5, 0]), "blood-test.wbc.usual", "spread"),
    "shares": (lambda d: pharynx(d)["usual"].update(normal=0.5), "pharynx.usual", "sum to 1"),
    "text with a unit": (lambda d: pharynx(d).update(unit="%"), "oropharyngeal-examination.pharynx", "neither unit"),
    "normal comes second": (
        lambda d: pharynx(d).update(usual={"normal": 0.2, "mild_redness": 0.8}),
        "pharynx.usual",
        "most usual",
    ),
    "same wording twice": (
        lambda d: pharynx(d)["values"]["follicles"].update(en="Slightly red"),
        "pharynx.values",
        "stands for two values",
    ),
    "wording in one language": (
        lambda d: pharynx(d)["values"]["follicles"].update(zh=""),
        "pharynx.values.follicles",
        "'zh'",
    ),
    "wording that names a disease": (
        lambda d: pharynx(d)["values"]["follicles"].update(en="as in a common cold"),
        "pharynx.values.follicles",
        "acute-nasopharyngitis",
    ),
    "examination of no disease": (
        lambda d: [disease["findings"].pop("brain-mri", None) for disease in d["diseases"].values()],
        "examinations.brain-mri",
        "no disease has findings in it",
    ),
    "no items": (lambda d: d["examinations"]["chest-ct"].update(items=[]), "examinations.chest-ct", "no items"),
    "item twice": (
        lambda d: d["examinations"]["chest-ct"]["items"].append(item(d, "chest-ct", "lungs")),
        "examinations.chest-ct",
        "same id",
    ),
    "shared name": (
        lambda d: d["examinations"]["chest-ct"]["synonyms"]["en"].append("cxr"),
        "examinations.chest-ct",
        "also belongs to the examination 'chest-x-ray'",
    ),
    "shared item name": (
        lambda d: wbc(d)["synonyms"]["en"].append("CRP"),
        "examinations.blood-test.crp",
        "also belongs to the item 'wbc'",
    ),
    "ATC twice": (lambda d: d["drugs"]["oxygen"].update(atc="M01AE01"), "drugs.oxygen.atc", "'ibuprofen'"),
    "drug without a name": (lambda d: d["drugs"]["oxygen"]["name"].update(zh=""), "drugs.oxygen.name", "'zh'"),
}


def indicated(data: Data, needed: list[str]) -> None:
    flu(data)["indicated"].update(needed=needed, helpful=[])


DISEASES: dict[str, tuple[Callable[[Data], object], str, str]] = {
    "sources": (lambda d: flu(d).update(sources=flu(d)["sources"][:1]), "influenza-a.sources", "needs 2"),
    "empty source": (lambda d: flu(d)["sources"][0].update(supports=" "), "influenza-a.sources", "what it supports"),
    "age sum": (lambda d: flu(d)["epidemiology"]["age"].update({"65-90": 0.9}), "epidemiology.age", "sum to 1"),
    "age band": (lambda d: flu(d)["epidemiology"]["age"].update({"90-99": 0.0}), "epidemiology.age", "'90-99'"),
    "season sum": (lambda d: flu(d)["epidemiology"]["season"].update(winter=0.1), "epidemiology.season", "sum to 1"),
    "duration": (lambda d: flu(d).update(duration=[2, 0.5]), "influenza-a.duration", "geometric spread"),
    "no examination": (lambda d: indicated(d, []), "influenza-a.examinations", "at least one"),
    "examination that is not preset": (
        lambda d: indicated(d, ["physical-examination"]),
        "influenza-a.examinations",
        "not one of the preset",
    ),
    "right examination without findings": (
        lambda d: indicated(d, ["sputum-eosinophil-count"]),
        "influenza-a.examinations",
        "has no findings of this disease",
    ),
    "symptom of women in a disease of men": (
        lambda d: (flu(d)["epidemiology"].update(female=0), flu(d)["symptoms"].update(heavy_periods=[0.1, 0.1, 0.1])),
        "influenza-a.symptoms.heavy_periods",
        "none of the patients are",
    ),
    "department without a disease": (
        lambda d: d["departments"].update(
            astrology={"id": "astrology", "name": {"en": "astrology", "zh": "占星科"}, "preset": False}
        ),
        "departments.astrology",
        "sees no disease",
    ),
    "department without a Chinese name": (
        lambda d: d["departments"]["cardiology"]["name"].update(zh=""),
        "departments.cardiology.name",
        "'zh'",
    ),
    "finding beyond limits": (
        lambda d: flu(d)["findings"]["blood-test"].update(wbc={"all": [900, 1]}),
        "influenza-a.findings.blood-test.wbc.all",
        "outside the limits",
    ),
    "plan with one item": (
        lambda d: mild(d).update(measures=mild(d)["measures"][:1]),
        "influenza-a.treatment.mild",
        "needs 2",
    ),
    "empty measure": (
        lambda d: mild(d)["measures"][0]["advice"].update(zh=" "),
        "influenza-a.treatment.mild.measures[0]",
        "empty in one language",
    ),
    "two plans alike": (
        lambda d: flu(d)["treatment"].update(moderate=mild(d)),
        "influenza-a.treatment.moderate",
        "the same plan as mild",
    ),
    "less care when worse": (
        lambda d: mild(d).update(disposition="intensive care"),
        "influenza-a.treatment.moderate",
        "must not need less care",
    ),
    "operation without a procedure": (
        lambda d: mild(d).update(disposition="operation"),
        "influenza-a.treatment.mild",
        "no measure is a procedure",
    ),
    "two drugs of a kind": (
        lambda d: mild(d).update(measures=[*mild(d)["measures"], give("naproxen"), give("ibuprofen")]),
        "influenza-a.treatment.mild.measures",
        "one anti-inflammatory drug is enough",
    ),
    "days upside down": (
        lambda d: flu(d)["course"]["untreated"].update(days=[20, 10]),
        "influenza-a.course.untreated.days",
        "least <= most",
    ),
    "treatment takes longer": (
        lambda d: flu(d)["course"]["treated"].update(days=[4, 40]),
        "influenza-a.course.treated.days",
        "longer than wrongly",
    ),
    "treatment worsens": (
        lambda d: flu(d)["course"]["treated"].update(worsening=[0.1, 0.2, 0.9]),
        "influenza-a.course.treated.worsening",
        "likelier than untreated",
    ),
    "mild worsens most": (
        lambda d: flu(d)["course"]["untreated"].update(worsening=[0.9, 0.5, 0.5]),
        "influenza-a.course.untreated.worsening",
        "falls with severity",
    ),
    "same synonym": (
        lambda d: flu(d)["synonyms"]["en"].append("flu B"),
        "diseases.influenza-b",
        "also belongs to the disease 'influenza-a'",
    ),
}

KINDS = {**SYMPTOMS, **EXAMINATIONS, **DISEASES}


@pytest.mark.slow
@each_row("kind", KINDS)
def test_a_planted_problem_is_found(kind: str) -> None:
    plant, where, problem = KINDS[kind]
    found = planted(plant, "all" if kind in OF_ALL else "respiratory")
    assert any(where in p.where and problem in p.problem for p in found), found


@pytest.mark.parametrize(
    ("text", "read"),
    [("lacks a rash", "{rash: no}"), ("no rash", "{rash: no}"), ("spots: many", "{}")],
)
def test_a_text_that_is_not_read_as_its_symptom_is_found(text: str, read: str) -> None:
    found = planted(lambda d: phrase(d, "rash", "en", text))
    assert Flaw("symptoms.rash", f"{text!r} is read as {read}") in found
