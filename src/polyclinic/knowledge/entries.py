"""What the files of the medical knowledge hold, typed.

These are departments, symptoms, examinations, drugs, diagnostic criteria, treatment plans and diseases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.ages import OF_ITSELF, SPEAKS_FROM, YOUNGEST_ADOLESCENT, Epidemiology, Prevalence, usual_at
from polyclinic.knowledge.data import SEVERITIES, Data, InBoth, Name, Severity, Share, Texts
from polyclinic.language.language import Language

Icd10 = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]\d{2}(\.\d{1,2})?$")]  # of the WHO
Atc = Annotated[str, msgspec.Meta(pattern=r"^[ABCDGHJLMNPRSV]\d{2}[A-Z]{2}\d{2}$")]  # of a substance
Loinc = Annotated[str, msgspec.Meta(pattern=r"^\d{1,7}-\d$")]


class Criterion(Data):
    """A condition, in exactly one of these forms.

    - a `quantity` of the body `at_least` and/or `below` a number (of an adult, see `Quantity`), outside its reference
      range on one side (`abnormal`), or in one of some states (`one_of`);
    - a `symptom` that the patient has;
    - `all` of some conditions, `any` of some, at least `count` of those in `of`, or `at_most` so many of them.
    """

    quantity: str = ""
    at_least: float | None = None
    below: float | None = None
    abnormal: str = ""  # "high" or "low"
    one_of: tuple[str, ...] = ()
    symptom: str = ""
    all: tuple[Criterion, ...] = ()
    any: tuple[Criterion, ...] = ()
    count: int | None = None
    at_most: int | None = None
    of: tuple[Criterion, ...] = ()

    def problem(self) -> str:
        """Returns what is wrong with its form, or ""."""
        forms = [bool(self.quantity), bool(self.symptom), bool(self.all), bool(self.any), bool(self.of)]
        if sum(forms) != 1:
            return "a criterion is one of: quantity, symptom, all, any, or count with of"
        counts = [number for number in (self.count, self.at_most) if number is not None]
        if len(counts) != bool(self.of) or any(not 0 <= number <= len(self.of) for number in counts):
            return (
                f"count {self.count}, at_most {self.at_most} of {len(self.of)}; "
                "needs one of them, from 0 to the number of conditions in 'of'"
            )
        says = [self.at_least is not None or self.below is not None, bool(self.abnormal), bool(self.one_of)]
        if sum(says) != bool(self.quantity):
            return "a quantity has at_least and/or below, or abnormal, or one_of; nothing else has"
        if self.abnormal not in ("", "high", "low"):
            return f"abnormal is {self.abnormal!r}; 'high' or 'low' is allowed"
        return ""

    def parts(self) -> tuple[Criterion, ...]:
        """Returns the conditions that it is made of; none where it is a plain one."""
        return (*self.all, *self.any, *self.of)

    def nodes(self) -> Iterator[Criterion]:
        """Yields itself and every condition in it."""
        yield self
        for part in self.parts():
            yield from part.nodes()

    def leaves(self) -> Iterator[Criterion]:
        """Yields the plain conditions in it."""
        if not self.parts():
            yield self
        for part in self.parts():
            yield from part.leaves()


class Criteria(Data):
    """What a disease is diagnosed by: the same at every severity (`every`), or by severity, each a stage of its own."""

    source: str  # the title of one of the disease's sources
    says: Name  # the definition in words
    every: Criterion | None = None
    mild: Criterion | None = None
    moderate: Criterion | None = None
    severe: Criterion | None = None

    def at(self, severity: Severity) -> tuple[Criterion, ...]:
        """Returns what holds at a severity; all of it must."""
        by_severity: Criterion | None = getattr(self, severity)
        return tuple(c for c in (self.every, by_severity) if c is not None)


class Indicated(Data):
    """Examinations, by id: those that the diagnosis needs, those that help, and those that are not indicated.

    Whatever is in none of them is neutral: it depends on the patient.
    """

    needed: tuple[str, ...] = ()
    helpful: tuple[str, ...] = ()
    not_indicated: tuple[str, ...] = ()


Disposition = Literal["home", "observation", "ward", "intensive care", "operation"]
Route = Literal[
    "oral", "sublingual", "intravenous", "intramuscular", "subcutaneous", "inhaled", "nasal", "eye", "ear", "topical",
    "rectal", "vaginal", "intra-articular",
]  # fmt: skip


class DueWhen(Data):
    """When a measure is due; all that is given must hold."""

    age_at_least: float | None = None  # in years
    age_below: float | None = None
    sex: Sex | None = None
    pregnant: bool | None = None  # whether she must be, or must not be; None where it does not matter
    days_at_most: float | None = None  # how long the illness may have lasted, in days (4.5 hours are 0.1875)
    finding: Criterion | None = None  # what must have been found; what was not looked for is not found


class Prescription(Data):
    """A drug, by id, its route, and its usual dose in words ("1 g every 6 hours as needed")."""

    drug: str
    route: Route
    dose: Name
    when: DueWhen | None = None


class Measure(Data):
    """One thing that a plan does; exactly one of `give`, `procedure`, `advice` and `monitoring`.

    Attributes:
        give: one drug of several, the first choice first: the first whose conditions hold and that this patient may be
            given is given, and no other.
    """

    give: tuple[Prescription, ...] = ()
    why: Name | None = None  # what the drug is for
    procedure: Name | None = None
    advice: Name | None = None
    monitoring: Name | None = None
    when: DueWhen | None = None  # it is not due otherwise
    after: tuple[str, ...] = ()  # ids of the examinations that must have been done before it
    within: int | None = None  # minutes from arrival in which it should be begun

    def problem(self) -> str:
        """Returns what is wrong with its form, or ""."""
        forms = [bool(self.give), *(x is not None for x in (self.procedure, self.advice, self.monitoring))]
        if sum(forms) != 1:
            return "a measure is one of: give, procedure, advice, monitoring"
        for number, prescription in enumerate(self.give):
            if any(before.drug == prescription.drug and before.when is None for before in self.give[:number]):
                return f"{prescription.drug} stands again behind {prescription.drug} without a condition"
        return ""


Section = Literal["symptoms", "past", "medications", "allergies", "personal", "family"]
Distribution = tuple[float, float] | dict[str, Share]
"""Of a number: `[mean, sd]`, or `[median, geometric sd]` where the item is lognormal. Of a text: value id to share."""


AtSeverities = dict[Literal["all", "mild", "moderate", "severe"], Distribution]
"""The same at `all` severities, or one at each."""
DiseaseFindings = dict[str, dict[str, AtSeverities]]
"""By examination and item."""


class Identified(Data):
    """What other files name by its id."""

    id: str
    name: Name


class Entry(Identified):
    """Something with a name, clinical or as it is ordered, and others that mean the same."""

    synonyms: Texts = Texts()

    def called(self, language: Language) -> tuple[str, ...]:
        """Returns its name and synonyms in one language."""
        return (self.name.get(language), *self.synonyms.get(language))

    def words(self, language: Language) -> tuple[str, ...]:
        """Returns all by which a text in one language speaks of it."""
        return self.called(language)

    def names(self) -> tuple[str, ...]:
        """Returns its name and synonyms in both languages."""
        return (self.name.en, self.name.zh, *self.synonyms.en, *self.synonyms.zh)


class Department(Identified):
    """A department of the hospital.

    The diseases of a `preset` one are those of the Agent Hospital paper, whose right examinations are among the paper's
    sixteen.
    """

    preset: bool = False


class OfSomebody(Entry):
    """What somebody of a sex and age can have, or have done."""

    sex: Sex | None = None  # whose alone it can be; None where anybody's
    ages: tuple[int, int] | None = None  # first and last year of age at which it can be; None at any age

    def possible(self, age: float | None, sex: Sex | None) -> bool:
        """Returns whether somebody of this age and sex can have it; what is unknown excludes nothing."""
        if self.sex is not None and sex is not None and sex != self.sex:
            return False
        return self.ages is None or age is None or self.ages[0] <= age < self.ages[1] + 1


class Symptom(OfSomebody):
    """A symptom, or a circumstance of the history, that a patient can tell.

    Attributes:
        phrases: how a patient puts it: noun phrases that go on from "I have" (en), phrases that go on from "我" (zh).
        of_small_child: how a parent puts it who speaks for a child under six, where `phrases` are an adult's; nobody
            in particular has it ("a tummy ache").
        complaint: whether somebody comes to the doctor for it; a circumstance ("it began suddenly") is told when asked.
        prevalence: how usual it is by age and sex, where that differs: rows of first year, last year, sex or "both",
            and the share; `base` is that of an adult for whom diseases are written.
    """

    section: Section = "symptoms"
    parent: str | None = None  # it can only be present where this one is; its probabilities are given the parent
    phrases: Texts
    of_small_child: Texts = Texts()
    of_schoolchild: Texts = Texts()  # how a child of six to eleven puts it, where that differs
    question: Name
    complaint: bool = True
    base: Share  # how often patients with some other illness have it (given the parent)
    passing: bool = False  # of a circumstance, whether it comes and goes; others are so for life
    prevalence: Prevalence = ()

    @property
    def lasts(self) -> bool:
        """Whether somebody has it for life, whatever it falls ill with."""
        return self.section != "symptoms" and not self.passing

    def usual_at(self, age: float | None, sex: Sex | None) -> float:
        """Returns how usual it is at an age and sex."""
        return self.base if age is None else usual_at(self.prevalence, age, sex, self.base)

    def at(self, share: float, age: float | None, sex: Sex | None) -> float:
        """Returns a share of an adult's as it is at an age and sex: its odds move as the usual ones do."""
        usual = self.usual_at(age, sex) if self.prevalence else self.base
        if usual == self.base:
            return share
        moved = share * usual * (1 - self.base)
        return moved / (moved + (1 - share) * (1 - usual) * self.base) if moved else 0.0

    def words(self, language: Language) -> tuple[str, ...]:
        """Returns its names and how patients put it."""
        return (*self.called(language), *self.said(language))

    def said(self, language: Language) -> tuple[str, ...]:
        """Returns how patients of any age put it."""
        of_children = (*self.of_small_child.get(language), *self.of_schoolchild.get(language))
        return (*self.phrases.get(language), *of_children)

    def said_at(self, age: float | None, language: Language) -> tuple[str, ...]:
        """Returns how somebody of an age puts it, or the parent who speaks for it."""
        adults = self.phrases.get(language)
        if age is None or age >= YOUNGEST_ADOLESCENT:
            return adults
        if age >= SPEAKS_FROM:
            return self.of_schoolchild.get(language) or adults
        others = tuple(phrase for phrase in adults if not OF_ITSELF.search(phrase))
        return self.of_small_child.get(language) or others or adults


class Item(Entry):
    """One thing that an examination looks at.

    A number has `unit`, `low`/`high` (reference range, None where open), `usual` (its distribution in people without
    this trouble: `[mean, sd]`; `[median, geometric sd]` where `lognormal`), `limits` (no value is drawn outside) and
    `decimals`. A text item has `values` (id to wording) and `usual` (id to probability), the first value is the normal
    one and those in `normal_too` are as well; `from_age` says of some from which year of age on people without this
    trouble have them.
    """

    loinc: Loinc | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    lognormal: bool = False
    decimals: int = 1
    limits: tuple[float, float] | None = None
    values: dict[str, Name] = msgspec.field(default_factory=dict)
    from_age: dict[str, int] = msgspec.field(default_factory=dict)
    normal_too: tuple[str, ...] = ()
    usual: Distribution

    def normal_texts(self) -> tuple[str, ...]:
        """Returns the ids of the texts that say that all is well: the first, and what is as well."""
        return (*itertools.islice(self.values, 1), *self.normal_too)

    def usual_texts(self, age: float) -> frozenset[str] | None:
        """Returns the texts that people of an age without this trouble can have; None where that is all of them."""
        if not self.from_age or all(age >= first for first in self.from_age.values()):
            return None
        return frozenset(value for value in self.values if age >= self.from_age.get(value, 0))

    @property
    def numeric(self) -> bool:
        """Whether the result is a number."""
        return not self.values

    def problem(self, distribution: Distribution) -> str:
        """Returns what is wrong with a distribution of it, or ""."""
        if isinstance(distribution, dict):
            if self.numeric:
                return "shares of texts for an item that is a number; needs [centre, spread]"
            unknown = sorted(set(distribution) - set(self.values))
            if unknown:
                return f"no value {unknown[0]!r}; known: {', '.join(self.values)}"
            total = sum(distribution.values())
            return "" if abs(total - 1) < 1e-6 else f"the shares sum to {total:g}; they must sum to 1"
        if not self.numeric:
            return f"[centre, spread] for an item that is a text; needs a share for each of {', '.join(self.values)}"
        centre, spread = distribution
        if self.lognormal and (centre <= 0 or spread <= 1):
            return "a lognormal item needs a median above 0 and a geometric sd above 1"
        return "" if spread > 0 else "the spread must be above 0"


class Examination(OfSomebody):
    """An examination that can be ordered.

    Attributes:
        effort: how many questions' worth of information it has to bring before a careful doctor orders it.
        burden: on the patient, from 0 (none) to 3 (invasive, or with sedation or a real risk).
    """

    kind: Literal["physical", "laboratory", "microbiology", "imaging", "function", "endoscopy", "pathology"]
    preset: bool = True  # whether it is one of the sixteen of the Agent Hospital paper (Figure 16)
    effort: Annotated[float, msgspec.Meta(ge=1)]
    cost: Annotated[float, msgspec.Meta(ge=0)] = 1  # in generic units, of which a blood count is 1
    minutes: Annotated[int, msgspec.Meta(ge=0)] = 30  # from the order to the result
    burden: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0
    radiation: Annotated[float, msgspec.Meta(ge=0)] = 0.0  # effective dose in mSv
    items: tuple[Item, ...]


class Drug(Identified):
    """A drug that a treatment plan may name."""

    atc: Atc


class Plan(InBoth[tuple[str, ...]]):
    """A treatment plan: what is done, and where; its lines are its measures in words.

    A file has no lines (`en`, `zh`): they are made when it is read.
    """

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    disposition: Disposition
    measures: tuple[Measure, ...]

    def drug_ids(self) -> tuple[str, ...]:
        """Returns every drug that it names, alternatives too, each once."""
        return tuple(dict.fromkeys(p.drug for measure in self.measures for p in measure.give))


class BySeverity(Data):
    """Three of a kind."""

    mild: Plan
    moderate: Plan
    severe: Plan


class Course(Data):
    """How it goes on: days to recovery, least and most, and the chance of getting worse by severity."""

    days: tuple[int, int]
    worsening: tuple[Share, Share, Share]


class Courses(Data):
    """The course treated rightly, wrongly, and not at all."""

    treated: Course
    wrongly: Course
    untreated: Course


class Source(Data):
    """Where the facts come from."""

    title: str
    publisher: str
    year: int
    supports: str


class Disease(Entry):
    """One disease.

    Attributes:
        id: the file's name.
        symptoms: symptom id to its probability when mild, moderate, severe; what is not named has the symptom's
            `base`, or a share of it, see `background`.
        background: how much of its `base` a symptom keeps that is not named, is nobody's child and is a complaint (not
            past history, habits or family). 1 where patients come with all sorts of complaints; below where the
            illness keeps to its place (a migraine is not a time of many coughs), and then what is not named is told
            when asked for, and is not what the patient came for.
        findings: examination id to item id to its distribution: under `all`, or under `mild`,
            `moderate` and `severe`. What is not named has the item's `usual` distribution.
        body: as `findings`, of quantities that no examination names (see `polyclinic.knowledge.body`).
        differential: ids of the diseases that look like it; `also_consider`: those that the knowledge does not hold.
        time_critical: severities at which minutes or hours decide, whatever the vital signs say.
        severity_icd10: codes of severities that have one of their own.
    """

    icd10: Icd10
    department: str  # id of the department that sees it ("respiratory")
    sources: tuple[Source, ...]
    epidemiology: Epidemiology
    duration: tuple[float, float]  # days of illness at the visit, `[median, geometric sd]`
    background: Share = 1.0
    symptoms: dict[str, tuple[Share, Share, Share]]
    findings: DiseaseFindings
    body: dict[str, AtSeverities] = msgspec.field(default_factory=dict)
    indicated: Indicated  # which examinations are needed, helpful and not indicated
    criteria: Criteria  # what it is diagnosed by
    complications: Texts = Texts()  # what it may lead to, and what keeps it away
    differential: tuple[str, ...] = ()
    also_consider: Texts = Texts()
    prevention: Texts = Texts()
    time_critical: tuple[Severity, ...] = ()
    severity_icd10: dict[Severity, Icd10] = msgspec.field(default_factory=dict)
    treatment: BySeverity
    course: Courses

    @property
    def examinations(self) -> tuple[str, ...]:
        """The ids of the examinations that are right for it: those needed, then those that help."""
        return (*self.indicated.needed, *self.indicated.helpful)

    def code(self, severity: Severity) -> str:
        """Returns its ICD-10 code at a severity."""
        return self.severity_icd10.get(severity, self.icd10)

    def is_called(self, name: str) -> bool:
        """Returns whether a case-folded name is one of its names."""
        return any(name == known.casefold() for known in self.names())

    def share(self, symptom: Symptom, severity: Severity) -> float:
        """Returns the probability of a symptom (given its parent)."""
        shares = self.symptoms.get(symptom.id)
        return self.unnamed(symptom) if shares is None else shares[SEVERITIES.index(severity)]

    def unnamed(self, symptom: Symptom) -> float:
        """Returns the probability of a symptom that it does not name."""
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
