"""What must not wait at the door, and what must not be handed out at the pharmacy: typed data, and its readers.

`red_flags.yaml` and `cautions.yaml` name their sources; where one of them is wrong, `BadInput` says where.

Cautions decide what speaks against a drug for somebody, and what is given instead. Words are read as they are told: a
word in a clause that denies it is not meant ("no allergy to penicillin"), and what nobody told is not known.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.cases.record import History, Record
from polyclinic.knowledge.data import DATA, Data, Name, Texts
from polyclinic.knowledge.entries import Drug, Prescription, Source
from polyclinic.language.clauses import clauses, told
from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml

_NONE = Name(en="", zh="")


class SignLimit(Data):
    """A vital sign, by item id, above a value in its unit as it is measured; and what it makes.

    `then` is what is done with somebody whose illness by itself would be treated at home.
    """

    of: str
    above: float
    makes: Literal["emergency", "urgent"]
    then: Name | None = None


class DangerGroup(Data):
    """What must not wait in some people more than in others.

    It is of those as old as `from_age` or older, and younger than `below`, in years; None: of any age.
    """

    from_age: float = 0.0
    below: float | None = None
    pregnant: bool = False  # of those who have, or may have, a child within them
    emergency: tuple[str, ...] = ()  # symptoms, by id
    urgent: tuple[str, ...] = ()
    signs: tuple[SignLimit, ...] = ()  # vital signs

    def has(self, age: float | None, *, pregnant: bool) -> bool:
        """Whether somebody is of the group."""
        young = self.below is None or (age is not None and self.from_age <= age < self.below)
        return young and (pregnant or not self.pregnant)


class RedFlags(Data):
    """Symptoms, by id, that make an emergency, and those that make a patient urgent; of some people more.

    `may_be_pregnant` is the symptom by which a woman may be.
    """

    sources: tuple[Source, ...]
    emergency: tuple[str, ...]
    urgent: tuple[str, ...]
    may_be_pregnant: str = ""
    groups: tuple[DangerGroup, ...] = ()

    def of(self, age: float | None, *, pregnant: bool) -> RedFlags:
        """Returns the flags of somebody, with those of its groups; the only groups left are its own."""
        groups = tuple(group for group in self.groups if group.has(age, pregnant=pregnant))
        emergency = dict.fromkeys((*self.emergency, *(s for group in groups for s in group.emergency)))
        urgent = dict.fromkeys((*self.urgent, *(s for group in groups for s in group.urgent)))
        return msgspec.structs.replace(self, emergency=(*emergency,), urgent=(*urgent,), groups=groups)

    def crossed(self, measured: Mapping[str, float]) -> tuple[SignLimit, ...]:
        """Returns the limits of all these groups that measured vital signs lie beyond."""
        return tuple(s for g in self.groups for s in g.signs if measured.get(s.of, s.above) > s.above)

    def by_sign(self, measured: Mapping[str, float]) -> Literal["emergency", "urgent"] | None:
        """Returns what measured vital signs make in somebody of all these groups; None: nothing."""
        made = [limit.makes for limit in self.crossed(measured)]
        return "emergency" if "emergency" in made else "urgent" if made else None


class Caution(Data):
    """Drugs, by ATC codes or the beginnings of these, that somebody is not given."""

    drugs: tuple[str, ...]
    reason: Name = _NONE
    name: Name = _NONE  # of the allergy, the illness, or the group of drugs in the singular
    words: Texts = Texts()  # by which somebody tells of it, or of what it takes
    below: float = 0  # years of age, or mL/min/1.73 m2 that the kidneys filter


class Duplicate(Caution):
    """A group of drugs of which one at a time is enough."""

    stays: bool = True  # what is taken goes on where one is due; else a drug of another group is looked for
    both: bool = False  # two may be handed out together, and only beside what is taken one is enough


class Cautions(Data, eq=False):
    """All that a pharmacist looks for: what is not borne, or not given at an age, in an illness or with others.

    `heights` are median heights of children by age: years, cm.
    """

    sources: tuple[Source, ...]
    allergies: tuple[Caution, ...]
    ages: tuple[Caution, ...]
    pregnancy: tuple[Caution, ...]
    kidney: tuple[Caution, ...]
    conditions: tuple[Caution, ...]
    interactions: tuple[Caution, ...]
    duplicates: tuple[Duplicate, ...]
    heights: tuple[tuple[float, float], ...]


@functools.cache
def read_red_flags(path: Path = DATA / "red_flags.yaml") -> RedFlags:
    """Reads the red flags."""
    return read_yaml(path, RedFlags)


@functools.cache
def read_cautions(path: Path = DATA / "cautions.yaml") -> Cautions:
    """Reads the cautions."""
    return read_yaml(path, Cautions)


_PREGNANT = re.compile(r"\bpregnan(?:t|cy)\b|\bgestation\b|怀孕|孕妇|妊娠|孕\d+周", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not|no|never|previous|earlier|past|negative|denies)\b|没有|未|否认|无|既往|曾|宫外|异位", re.IGNORECASE
)
_PREGNANT_FROM = 25.0
_HCG = "21198-7"  # in LOINC
"""IU/L of beta-hCG; between 5 and this a test is repeated."""

_UMOL_IN_MG = 88.42
"""umol/L of creatinine in 1 mg/dL."""

_NO_LONGER = re.compile(
    r"\b(?:behind me|finished|already had|no longer|stopped|used to|recent antibiotics)\b"
    r"|已停|停用|刚吃|用完|吃过|以前",
    re.IGNORECASE,
)
"""What says that a medicine was taken and is not now."""

_SENTENCE = re.compile(r"[.;\n。；]")

_AGAINST_CLOTS = ("B01AA", "B01AB", "B01AE", "B01AF", "B01AX")

_GROWN = 18.0
_SCHWARTZ = 0.413

Kind = Literal["allergy", "age", "pregnancy", "kidney", "condition", "interaction", "duplicate", "taken"]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at the counter of who gets the drugs."""

    allergies: str = ""  # what it tells of allergies and intolerances, of what it takes, of earlier illness
    medications: str = ""
    past: str = ""
    pregnant: bool = False  # whether she is, as far as is told or tested
    egfr: float | None = None  # glomerular filtration in mL/min/1.73 m2; None where no creatinine is known


class Objection(NamedTuple):
    """What speaks against a drug: the kind of it, what it is about, the reason, and the limit that is not kept."""

    kind: Kind
    what: Name
    reason: Name
    limit: float = 0.0


def says_pregnant(text: str, language: Language) -> bool:
    """Whether a text says of a woman that she is pregnant."""
    return _PREGNANT.search(text) is not None and any(
        _PREGNANT.search(clause) and not _NOT.search(clause) for clause in clauses(text, language)
    )


def told_at_the_counter(presentation: Presentation, history: History) -> Known:
    """Returns what a patient tells the pharmacist, from what it can tell at all."""
    texts = (presentation.complaint, presentation.about, history.present, history.past, history.personal, history.other)
    pregnant = presentation.sex != "male" and any(says_pregnant(text, presentation.language) for text in texts)
    return Known(
        allergies=history.allergies,
        medications=history.medications,
        past=history.past,
        pregnant=pregnant,
    )


def is_pregnant(record: Record) -> bool:
    """Whether somebody is pregnant, wherever the child is: by what it tells, or by a test in its record."""
    tests = (f for f in record.findings if f.code is not None and f.code.code == _HCG and not isinstance(f.value, str))
    tested = any(float(test.value) >= _PREGNANT_FROM for test in tests)
    return tested or told_at_the_counter(record.presentation, record.history).pregnant


def with_results(known: Known, presentation: Presentation, results: Mapping[str, float]) -> Known:
    """Returns what is known after tests: `creatinine` in umol/L and `beta_hcg` in IU/L, as they were measured."""
    creatinine, hcg = results.get("creatinine"), results.get("beta_hcg")
    return msgspec.structs.replace(
        known,
        pregnant=known.pregnant or (hcg is not None and hcg >= _PREGNANT_FROM),
        egfr=None if creatinine is None else egfr(creatinine, presentation.age, presentation.sex),
    )


def egfr(creatinine: float, age: float | None, sex: Sex | None) -> float | None:
    """Returns the filtration that a creatinine (umol/L) means, in mL/min/1.73 m2; None where age or sex is not known.

    CKD-EPI 2021 without race for adults; the bedside formula of Schwartz (2009) below 18 years, with the median height
    of the age. Sources stand in `cautions.yaml`.
    """
    if age is None or (sex is None and age >= _GROWN) or creatinine <= 0:
        return None
    mg = creatinine / _UMOL_IN_MG
    if age < _GROWN:
        # The median height of the age, straight between the ages that are given.
        ages, heights = zip(*read_cautions().heights, strict=True)
        return float(_SCHWARTZ * np.interp(age, ages, heights) / mg)
    kappa, alpha, female = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    return float(142 * min(mg / kappa, 1) ** alpha * max(mg / kappa, 1) ** -1.2 * 0.9938**age * female)


def objection(drug: Drug, known: Known, presentation: Presentation, before: Sequence[Drug]) -> Objection | None:
    """Returns what speaks against a drug beside those handed out before it, the gravest first; None where nothing."""
    of_patient, of_drugs = _of_patient(drug, known, presentation), _of_drugs(drug, known, before, presentation.language)
    return next(itertools.chain(of_patient, of_drugs), None)


def _of_patient(drug: Drug, known: Known, presentation: Presentation) -> Iterator[Objection]:
    """Yields what allergies, age, pregnancy, the kidneys and illnesses have against a drug.

    An illness is one that somebody tells of, or shows by what it takes.
    """
    at, age, language = _about(drug.atc), presentation.age, presentation.language
    if known.allergies:
        if any(told(name, known.allergies) for name in (drug.name.en, drug.name.zh)):
            yield Objection("allergy", drug.name, _NONE)
        for allergy in at.allergies:
            if one_told(allergy.words.get(language), known.allergies):
                yield Objection("allergy", allergy.name, _NONE)
    for limit in at.ages:
        # An age of 0 says nothing of the months, which a limit within the first year is about.
        if age is not None and age < limit.below and not (age == 0 and limit.below < 1):
            yield Objection("age", _NONE, limit.reason, limit.below)
    if known.pregnant:
        yield from (Objection("pregnancy", _NONE, one.reason) for one in at.pregnancy)
    for least in at.kidney:
        if known.egfr is not None and known.egfr < least.below:
            yield Objection("kidney", _NONE, least.reason, least.below)
    for illness in at.conditions:
        if one_told(illness.words.get(language), f"{known.past}\n{known.medications}"):
            yield Objection("condition", illness.name, illness.reason)


def _of_drugs(drug: Drug, known: Known, before: Sequence[Drug], language: Language) -> Iterator[Objection]:
    """Yields what other drugs have against a drug: those taken already, and those handed out before it."""
    at = _about(drug.atc)
    taken = now_taken(known.medications)
    beside = ". ".join([taken, *(other.name.get(language) for other in before)])
    for one in at.interactions:
        word = one_told(one.words.get(language), beside)
        if word:
            yield Objection("interaction", Name(en=word, zh=word), one.reason)
    for other in before:
        if other.atc == drug.atc:
            yield Objection("duplicate", other.name, drug.name)
        for group in at.duplicates:
            if not group.both and within(other.atc, group.drugs):
                yield Objection("duplicate", other.name, group.name)
    for other in before:
        for one in _about(other.atc).interactions:
            if one_told(one.words.get(language), drug.name.get(language)):
                yield Objection("interaction", other.name, one.reason)
    for group in at.duplicates:
        word = "" if group.stays else one_told(group.words.get(language), taken)
        if word:
            yield Objection("taken", Name(en=word, zh=word), group.name)


def goes_on(options: Sequence[Drug], known: Known, presentation: Presentation) -> tuple[int, str] | None:
    """Returns which of the alternatives of a measure somebody takes already, and the word in which it says so.

    That is so where it takes the first of them that nothing else speaks against, or one of the same kind; None where it
    does not, and something new is due.
    """
    language = presentation.language
    taken = now_taken(known.medications)
    if not taken:
        return None
    for number, drug in enumerate(options):
        if next(_of_patient(drug, known, presentation), None) is not None:
            continue
        kind = [w for group in _about(drug.atc).duplicates if group.stays for w in group.words.get(language)]
        word = one_told([drug.name.get(language), *kind], taken)
        if word:
            return number, word
        if next(_of_drugs(drug, known, (), language), None) is None:
            return None
    return None


def is_new(prescription: Prescription, drug: Drug) -> bool:
    """Whether a drug is handed out though somebody takes one of its kind.

    That is so of what goes into a vein or muscle, in place of tablets or the patient's own supply; but for what keeps
    blood from clotting, of which there is never a second.
    """
    return prescription.route in ("intravenous", "intramuscular") and not within(drug.atc, _AGAINST_CLOTS)


@functools.lru_cache(maxsize=1024)
def now_taken(medications: str) -> str:
    """Returns what somebody tells of medicines, without those that it took and takes no more."""
    return ". ".join(s.strip() for s in _SENTENCE.split(medications) if s.strip() and not _NO_LONGER.search(s))


@functools.lru_cache(maxsize=4096)
def _about(atc: str) -> Cautions:
    """Returns the cautions that speak of a drug."""
    cautions = read_cautions()
    groups = ("allergies", "ages", "pregnancy", "kidney", "conditions", "interactions", "duplicates")
    own = {group: tuple(one for one in getattr(cautions, group) if within(atc, one.drugs)) for group in groups}
    return msgspec.structs.replace(cautions, **own)


def within(atc: str, codes: Iterable[str]) -> bool:
    """Whether an ATC code is one of some codes, or begins as one of them does."""
    return any(atc.startswith(code) for code in codes)


def one_told(words: Iterable[str], text: str) -> str:
    """Returns the first word that a text tells and does not deny; "" where there is none."""
    return next((word for word in words if told(word, text)), "")
