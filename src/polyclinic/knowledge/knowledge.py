"""The medical knowledge as typed data, and its reader.

`departments.yaml`, `symptoms.yaml`, `examinations.yaml` and `drugs.yaml` are the vocabulary; `diseases/*.yaml` holds
one disease a file, each with its sources. `read_knowledge()` reads and links them all; every reference that leads
nowhere is an error that names file and field. Probabilities are those of the simulation: textbook knowledge put into
numbers by hand, for teaching and testing, not estimates from patients.

A disease names only what it changes. A symptom that it does not name has the symptom's `base` (what the patient came
for, times the disease's `background`), an item of an examination that it does not name has the item's `usual`.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.errors import BadInput
from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml

Severity = Literal["mild", "moderate", "severe"]
SEVERITIES: tuple[Severity, ...] = ("mild", "moderate", "severe")

AGE_BANDS: dict[str, tuple[int, int]] = {
    "0-5": (1, 5),
    "6-14": (6, 14),
    "15-44": (15, 44),
    "45-64": (45, 64),
    "65-90": (65, 90),
}
"""Age bands of the diseases' epidemiology; first and last year of age that patients are drawn from."""

Section = Literal["symptoms", "past", "medications", "allergies", "personal", "family"]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Distribution = tuple[float, float] | dict[str, Share]
"""Of a number: `[mean, sd]`, or `[median, geometric sd]` where the item is lognormal. Of a text: value id to share."""

DATA = Path(__file__).parent


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything that is read from the data files: what is not known here is a mistake there."""


class Name(Data, frozen=True, kw_only=True):
    """A name in both languages."""

    en: str
    zh: str

    def get(self, language: Language) -> str:
        """Returns the name in one language."""
        return self.en if language == "en" else self.zh


class Texts(Data, frozen=True, kw_only=True):
    """Several texts in both languages."""

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()

    def get(self, language: Language) -> tuple[str, ...]:
        """Returns the texts in one language."""
        return self.en if language == "en" else self.zh


class Department(Data, frozen=True, kw_only=True):
    """A department of the hospital.

    Attributes:
        id: how the disease files name it.
        name: its name.
        preset: whether its diseases are those of the Agent Hospital paper, whose right examinations are among the
            paper's sixteen.
    """

    id: str
    name: Name
    preset: bool = False


class Symptom(Data, frozen=True, kw_only=True):
    """A symptom, or a circumstance of the history, that a patient can tell.

    Attributes:
        id: how the disease files name it.
        section: the part of the history it stands in.
        name: clinical name.
        parent: it can only be present where this one is; its probabilities are given the parent.
        synonyms: other words that mean the same, for reading.
        phrases: how a patient puts it: noun phrases that go on from "I have" (en), phrases that go on from "我" (zh).
        question: how a doctor asks for it.
        base: how often patients with some other illness have it (given the parent).
        sex: whose alone it can be; None where anybody's.
        ages: first and last year of age in which it can be; None at any age.
    """

    id: str
    section: Section = "symptoms"
    name: Name
    parent: str | None = None
    synonyms: Texts = Texts()
    phrases: Texts
    question: Name
    base: Share
    sex: Sex | None = None
    ages: tuple[int, int] | None = None

    def possible(self, age: float | None, sex: Sex | None) -> bool:
        """Returns whether somebody of this age and sex can have it; what is unknown excludes nothing."""
        if self.sex is not None and sex is not None and sex != self.sex:
            return False
        return self.ages is None or age is None or self.ages[0] <= age < self.ages[1] + 1


class Item(Data, frozen=True, kw_only=True):
    """One thing that an examination looks at.

    A number has `unit`, `low`/`high` (reference range, None where open), `usual` (its distribution in people without
    this trouble: `[mean, sd]`; `[median, geometric sd]` where `lognormal`), `limits` (no value is drawn outside) and
    `decimals`. A text item has `values` (id to wording) and `usual` (id to probability), the first value is the normal
    one.
    """

    id: str
    name: Name
    synonyms: Texts = Texts()
    loinc: str | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    lognormal: bool = False
    decimals: int = 1
    limits: tuple[float, float] | None = None
    values: dict[str, Name] = {}
    usual: Distribution

    @property
    def numeric(self) -> bool:
        """Whether the result is a number."""
        return not self.values


class Examination(Data, frozen=True, kw_only=True):
    """An examination that can be ordered.

    Attributes:
        id: how the disease files name it.
        name: as it is ordered.
        synonyms: other names by which it may be ordered.
        kind: where it is done.
        preset: whether it is one of the sixteen of the Agent Hospital paper (Figure 16).
        effort: how many questions' worth of information it has to bring before a careful doctor orders it.
        items: what is looked at.
        sex: on whom alone it can be done; None on anybody.
    """

    id: str
    name: Name
    synonyms: Texts = Texts()
    kind: Literal["physical", "laboratory", "microbiology", "imaging", "function", "endoscopy"]
    preset: bool = True
    effort: Annotated[float, msgspec.Meta(ge=1)]
    items: tuple[Item, ...]
    sex: Sex | None = None

    def possible(self, sex: Sex | None) -> bool:
        """Returns whether it can be done on somebody of this sex."""
        return self.sex is None or sex is None or sex == self.sex


class Drug(Data, frozen=True, kw_only=True):
    """A drug that a treatment plan may name."""

    id: str
    name: Name
    atc: str


class Plan(Data, frozen=True, kw_only=True):
    """A treatment plan: short items, and the drugs in it."""

    en: tuple[str, ...]
    zh: tuple[str, ...]
    drugs: tuple[str, ...] = ()

    def get(self, language: Language) -> tuple[str, ...]:
        """Returns the items in one language."""
        return self.en if language == "en" else self.zh


class BySeverity(Data, frozen=True, kw_only=True):
    """Three of a kind."""

    mild: Plan
    moderate: Plan
    severe: Plan


class Course(Data, frozen=True, kw_only=True):
    """How it goes on: days to recovery, least and most, and the chance of getting worse by severity."""

    days: tuple[int, int]
    worsening: tuple[Share, Share, Share]


class Courses(Data, frozen=True, kw_only=True):
    """The course treated rightly, wrongly, and not at all."""

    treated: Course
    wrongly: Course
    untreated: Course


class Epidemiology(Data, frozen=True, kw_only=True):
    """Who has it and when; each sums to 1."""

    age: dict[str, Share]
    female: Share
    season: dict[Literal["winter", "spring", "summer", "autumn"], Share]


class Source(Data, frozen=True, kw_only=True):
    """Where the facts come from."""

    title: str
    publisher: str
    year: int
    supports: str


class Disease(Data, frozen=True, kw_only=True):
    """One disease.

    Attributes:
        id: the file's name.
        name: its name.
        synonyms: other names of the same disease.
        icd10: WHO ICD-10 code.
        department: id of the department that sees it ("respiratory").
        sources: where the facts come from.
        epidemiology: who has it and when.
        duration: days of illness at the visit, `[median, geometric sd]`.
        symptoms: symptom id to its probability when mild, moderate, severe; what is not named has the symptom's
            `base`, or a share of it, see `background`.
        background: how much of its `base` a symptom keeps that is not named, is nobody's child and is a complaint (not
            past history, habits or family). 1 where patients come with all sorts of complaints; below where the
            illness keeps to its place (a migraine is not a time of many coughs), and then what is not named is told
            when asked for, and is not what the patient came for.
        findings: examination id to item id to its distribution: under `all`, or under `mild`,
            `moderate` and `severe`. What is not named has the item's `usual` distribution.
        examinations: ids of the examinations that are right for it.
        treatment: the plan by severity.
        course: how it goes on.
    """

    id: str
    name: Name
    synonyms: Texts = Texts()
    icd10: str
    department: str
    sources: tuple[Source, ...]
    epidemiology: Epidemiology
    duration: tuple[float, float]
    background: Share = 1
    symptoms: dict[str, tuple[Share, Share, Share]]
    findings: dict[str, dict[str, dict[Literal["all", "mild", "moderate", "severe"], Distribution]]]
    examinations: tuple[str, ...]
    treatment: BySeverity
    course: Courses

    def names(self) -> frozenset[str]:
        """Returns its names and synonyms in both languages, case-folded."""
        names = (self.name.en, self.name.zh, *self.synonyms.en, *self.synonyms.zh)
        return frozenset(n.casefold() for n in names)

    def share(self, symptom: Symptom, severity: Severity) -> float:
        """Returns the probability of a symptom (given its parent)."""
        shares = self.symptoms.get(symptom.id)
        if shares is not None:
            return shares[SEVERITIES.index(severity)]
        complaint = symptom.section == "symptoms" and symptom.parent is None
        return symptom.base * self.background if complaint else symptom.base

    def distribution(self, examination: str, item: Item, severity: Severity) -> Distribution:
        """Returns the distribution of an item."""
        by_severity = self.findings.get(examination, {}).get(item.id)
        if by_severity is None:
            return item.usual
        return by_severity["all"] if "all" in by_severity else by_severity[severity]

    def graded_by(self) -> frozenset[str]:
        """Returns the examinations whose findings differ with severity."""
        return frozenset(e for e, items in self.findings.items() if any("all" not in d for d in items.values()))

    def plan(self, severity: Severity) -> Plan:
        """Returns the treatment plan."""
        plan: Plan = getattr(self.treatment, severity)
        return plan


class Knowledge(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """All of it, linked: every id that a disease names stands in the vocabularies."""

    symptoms: dict[str, Symptom]
    examinations: dict[str, Examination]
    drugs: dict[str, Drug]
    diseases: dict[str, Disease]
    departments: dict[str, Department] = {}

    def select(self, wanted: str) -> Knowledge:
        """Returns the knowledge with only some diseases, in the vocabulary of their departments.

        The vocabulary of a department is the symptoms (with their parents) and examinations that its diseases name; so
        what another department adds changes nothing in it.

        Args:
            wanted: `all`, or a list with commas of departments, disease ids, names (either language) or ICD-10 codes.

        Raises:
            BadInput: something wanted is not there; says what is.
        """
        if wanted.strip().casefold() == "all":
            return self
        kept: dict[str, Disease] = {}
        for word in (w.strip() for w in wanted.replace("，", ",").split(",")):
            matches = [
                d
                for d in self.diseases.values()
                if word.casefold() in {d.id, d.icd10.casefold(), *d.names(), *self._names_of_department(d)}
            ]
            if not matches:
                there = sorted({d.department for d in self.diseases.values()})
                problem = f"no disease or department {word!r}; departments: {', '.join(there)}; "
                raise BadInput(f"{problem}diseases: {', '.join(self.diseases)}; or 'all'")
            kept.update((d.id, d) for d in matches)
        departments = {d.department for d in kept.values()}
        neighbours = [d for d in self.diseases.values() if d.department in departments]
        named = {symptom for d in neighbours for symptom in d.symptoms}
        named |= {parent for symptom in named for parent in self.ancestors(symptom)}
        examined = {examination for d in neighbours for examination in (*d.findings, *d.examinations)}
        return msgspec.structs.replace(
            self,
            symptoms={i: s for i, s in self.symptoms.items() if i in named},
            examinations={i: e for i, e in self.examinations.items() if i in examined},
            diseases={i: d for i, d in self.diseases.items() if i in kept},
            departments={i: d for i, d in self.departments.items() if i in departments},
        )

    def _names_of_department(self, disease: Disease) -> set[str]:
        department = self.department(disease)
        return {department.id, department.name.en.casefold(), department.name.zh}

    def ancestors(self, symptom: str) -> list[str]:
        """Returns a symptom's parent, the parent's parent, and so on."""
        chain = []
        parent = self.symptoms[symptom].parent
        while parent is not None:
            chain.append(parent)
            parent = self.symptoms[parent].parent
        return chain

    def department(self, disease: Disease) -> Department:
        """Returns the department that sees a disease."""
        return self.departments[disease.department]

    def disease_named(self, name: str) -> Disease | None:
        """Returns the disease that a name or synonym in either language means, or None."""
        wanted = name.strip().casefold()
        return next((d for d in self.diseases.values() if wanted in d.names()), None)


T = TypeVar("T")


def _by_id(path: Path, things: list[T]) -> dict[str, T]:
    table: dict[str, T] = {}
    for thing in things:
        key: str = thing.id  # type: ignore[attr-defined]
        if key in table:
            raise BadInput(f"the id {key!r} stands twice", path=path)
        table[key] = thing
    return table


@functools.cache
def read_knowledge(folder: Path = DATA) -> Knowledge:
    """Reads and links the knowledge; the same object for the same folder, as it never changes.

    Raises:
        BadInput: a file is missing or wrong, with its field.
    """
    departments = _by_id(folder / "departments.yaml", read_yaml(folder / "departments.yaml", list[Department]))
    symptoms = _by_id(folder / "symptoms.yaml", read_yaml(folder / "symptoms.yaml", list[Symptom]))
    examinations = _by_id(folder / "examinations.yaml", read_yaml(folder / "examinations.yaml", list[Examination]))
    drugs = _by_id(folder / "drugs.yaml", read_yaml(folder / "drugs.yaml", list[Drug]))
    diseases = {}
    for path in sorted((folder / "diseases").glob("*.yaml")):
        disease = read_yaml(path, Disease)
        if disease.id != path.stem:
            raise BadInput(f"the id is {disease.id!r}; it must be the file's name, {path.stem!r}", path=path)
        diseases[disease.id] = disease
    knowledge = Knowledge(
        symptoms=symptoms, examinations=examinations, drugs=drugs, diseases=diseases, departments=departments
    )
    _link(knowledge, folder)
    return knowledge


def _link(knowledge: Knowledge, folder: Path) -> None:
    for symptom in knowledge.symptoms.values():
        if symptom.parent is not None and symptom.parent not in knowledge.symptoms:
            raise BadInput(
                f"{symptom.id}: no symptom {symptom.parent!r} to be its parent", path=folder / "symptoms.yaml"
            )
    for disease in knowledge.diseases.values():
        path = folder / "diseases" / f"{disease.id}.yaml"
        plans = (disease.treatment.mild, disease.treatment.moderate, disease.treatment.severe)
        for what, ids, table in (
            ("symptom", disease.symptoms, knowledge.symptoms),
            ("examination", (*disease.examinations, *disease.findings), knowledge.examinations),
            ("drug", [d for plan in plans for d in plan.drugs], knowledge.drugs),
            ("department", (disease.department,), knowledge.departments),
        ):
            for key in ids:
                if key not in table:
                    raise BadInput(f"no {what} {key!r}; known: {', '.join(sorted(table))}", path=path)
        for examination, items in disease.findings.items():
            known = {item.id: item for item in knowledge.examinations[examination].items}
            for key, by_severity in items.items():
                field = f"$.findings.{examination}.{key}"
                if key not in known:
                    raise BadInput(
                        f"no item {key!r} in {examination}; known: {', '.join(known)}", path=path, field=field
                    )
                if set(by_severity) not in ({"all"}, set(SEVERITIES)):
                    problem = "needs either 'all', or 'mild', 'moderate' and 'severe'"
                    raise BadInput(problem, path=path, field=field)
                for distribution in by_severity.values():
                    problem = distribution_problem(known[key], distribution)
                    if problem:
                        raise BadInput(problem, path=path, field=field)


def distribution_problem(item: Item, distribution: Distribution) -> str:
    """Returns what is wrong with a distribution of an item, or ""."""
    if isinstance(distribution, dict):
        if item.numeric:
            return "shares of texts for an item that is a number; needs [centre, spread]"
        unknown = sorted(set(distribution) - set(item.values))
        if unknown:
            return f"no value {unknown[0]!r}; known: {', '.join(item.values)}"
        total = sum(distribution.values())
        return "" if abs(total - 1) < 1e-6 else f"the shares sum to {total:g}; they must sum to 1"
    if not item.numeric:
        return f"[centre, spread] for an item that is a text; needs a share for each of {', '.join(item.values)}"
    centre, spread = distribution
    if item.lognormal and (centre <= 0 or spread <= 1):
        return "a lognormal item needs a median above 0 and a geometric sd above 1"
    return "" if spread > 0 else "the spread must be above 0"
