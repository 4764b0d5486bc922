"""The medical knowledge, read and linked.

`departments.yaml`, `symptoms.yaml`, `examinations.yaml` and `drugs.yaml` are the vocabulary; `diseases/*.yaml` holds
one disease a file, each with its sources. `read_knowledge()` reads and links them all; every reference that leads
nowhere is an error that names file and field. Probabilities are those of the simulation: textbook knowledge put into
numbers by hand, for teaching and testing, not estimates from patients.

A disease names only what it changes. A symptom that it does not name has the symptom's `base` (what the patient came
for, times the disease's `background`), an item of an examination that it does not name has the item's `usual`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.compiled import Compiled
from polyclinic.errors import BadInput, meant
from polyclinic.knowledge.body import read_body
from polyclinic.knowledge.data import DATA, SEVERITIES
from polyclinic.knowledge.disease_body import DiseaseBody, Variant, link_body, share_of_reading, with_marginals
from polyclinic.knowledge.entries import (
    Department,
    Disease,
    DiseaseFindings,
    Drug,
    Examination,
    Identified,
    Indicated,
    Item,
    Plan,
    Symptom,
)
from polyclinic.knowledge.plan_words import PlanVocabulary, criterion_problems, in_words, unlinked_plans
from polyclinic.yaml_files import line_of, read_yaml

K = TypeVar("K", bound=Identified)


class Knowledge(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """All of it, linked: every id that a disease names stands in the vocabularies."""

    symptoms: dict[str, Symptom]
    examinations: dict[str, Examination]
    drugs: dict[str, Drug]
    diseases: dict[str, Disease]
    departments: dict[str, Department] = {}
    bodies: dict[str, DiseaseBody] = {}
    quantities: dict[str, Item] = {}
    region: str = "europe"

    def select(self, wanted: str) -> Knowledge:
        """Returns the knowledge with only some diseases, in the vocabulary of their departments.

        Wanted are `all`, or departments, disease ids, names (either language) and ICD-10 codes with commas between
        them. The vocabulary of a department is the symptoms (with their parents) and examinations that its diseases
        name; so what another department adds changes nothing in it. The same object for the same words, so that what
        is looked up in it is made once.
        """
        return self if wanted.strip().casefold() == "all" else _selected(self, wanted)

    def _select(self, wanted: str) -> Knowledge:
        kept: set[str] = set()
        for word in (w.strip() for w in wanted.replace("，", ",").split(",")):
            matches = [d.id for d in self.diseases.values() if self._is_meant(word.casefold(), d)]
            if not matches:
                there = sorted({d.department for d in self.diseases.values()})
                near = meant(word, (*there, *self.diseases, *(n for d in self.diseases.values() for n in d.names())))
                problem = f"no disease or department {word!r}{near}; departments: {', '.join(there)}; or 'all'; "
                raise BadInput(
                    f"{problem}of the diseases, 'polyclinic knowledge show NAME' says which are called nearly so"
                )
            kept.update(matches)
        departments = {self.diseases[disease].department for disease in kept}
        neighbours = [d for d in self.diseases.values() if d.department in departments]
        named = {symptom for d in neighbours for symptom in d.symptoms}
        quantities = {q for d in neighbours if d.id in self.bodies for q in self.bodies[d.id].quantities}
        named |= {s for s, reading in read_body().symptoms.items() if reading.of in quantities and s in self.symptoms}
        named |= {parent for symptom in named for parent in ancestors(self.symptoms, symptom)}
        # A panel that only shows again what another examination shows comes with those who order it.
        shown_again = read_body().items.keys()
        examined = {e for d in neighbours for e, items in d.findings.items() if not items.keys() <= shown_again}
        examined |= {examination for d in neighbours for examination in d.examinations}
        return msgspec.structs.replace(
            self,
            symptoms={i: s for i, s in self.symptoms.items() if i in named},
            examinations={i: e for i, e in self.examinations.items() if i in examined},
            diseases={
                i: msgspec.structs.replace(d, findings={e: f for e, f in d.findings.items() if e in examined})
                for i, d in self.diseases.items()
                if i in kept
            },
            departments={i: d for i, d in self.departments.items() if i in departments},
            bodies={i: b for i, b in self.bodies.items() if i in kept},
        )

    def _is_meant(self, word: str, disease: Disease) -> bool:
        name = self.departments[disease.department].name
        others = (disease.id, disease.icd10.casefold(), disease.department, name.en.casefold(), name.zh)
        return word in others or disease.is_called(word)

    def indicated(self, disease: Disease, *, sex: Sex | None, age: float | None) -> Indicated:
        """Returns what is indicated in a disease for somebody of a sex and an age; what is unknown excludes nothing."""
        impossible = {id: one for id, one in self.examinations.items() if not one.possible(age, sex)}
        if not impossible:
            return disease.indicated
        return Indicated(
            needed=tuple(id for id in disease.indicated.needed if id not in impossible),
            helpful=tuple(id for id in disease.indicated.helpful if id not in impossible),
            not_indicated=tuple(dict.fromkeys((*disease.indicated.not_indicated, *impossible))),
        )

    def right_examinations(self, disease: Disease, *, sex: Sex | None, age: float | None) -> tuple[str, ...]:
        """Returns the ids of the examinations that are right for such a person: those needed, then those that help."""
        chosen = self.indicated(disease, sex=sex, age=age)
        return (*chosen.needed, *chosen.helpful)

    def disease_named(self, name: str) -> Disease | None:
        """Returns the disease that a name or synonym in either language means, or None."""
        return _by_name(self).get(name.strip().casefold())


_selected = functools.lru_cache(maxsize=64)(Knowledge._select)


@functools.lru_cache(maxsize=64)
def _by_name(knowledge: Knowledge) -> dict[str, Disease]:
    """Returns the diseases by each of their case-folded names; the first that has a name keeps it."""
    named = reversed(knowledge.diseases.values())
    return {name.casefold(): disease for disease in named for name in disease.names()}


def ancestors(symptoms: Mapping[str, Symptom], symptom: str) -> list[str]:
    """Returns a symptom's parent, the parent's parent, and so on."""
    chain = []
    parent = symptoms[symptom].parent
    while parent is not None:
        chain.append(parent)
        parent = symptoms[parent].parent
    return chain


def read_knowledge(folder: Path = DATA) -> Knowledge:
    """Reads and links the knowledge; the same object for the same folder, as it never changes.

    Raises:
        BadInput: a file is missing or wrong, with its field.
    """
    return _read(folder)  # a cache would take the folder that is left out and the same one given for two


@functools.cache
def _read(folder: Path) -> Knowledge:
    return LINKED.table if folder == DATA else link_knowledge(folder)


def link_knowledge(folder: Path) -> Knowledge:
    """Reads the files of a folder and links them."""
    diseases = {}
    for path in sorted((folder / "diseases").glob("*.yaml")):
        disease = read_yaml(path, Disease)
        if disease.id != path.stem:
            raise BadInput(f"the id is {disease.id!r}; it must be the file's name, {path.stem!r}", path=path)
        diseases[disease.id] = disease
    knowledge = Knowledge(
        symptoms=_by_id(folder / "symptoms.yaml", list[Symptom]),
        examinations=_by_id(folder / "examinations.yaml", list[Examination]),
        drugs=_by_id(folder / "drugs.yaml", list[Drug]),
        diseases=diseases,
        departments=_by_id(folder / "departments.yaml", list[Department]),
    )
    for symptom in knowledge.symptoms.values():
        if symptom.parent is not None and symptom.parent not in knowledge.symptoms:
            problem = f"{symptom.id}: no symptom {symptom.parent!r} to be its parent"
            raise BadInput(problem, path=folder / "symptoms.yaml")
    for disease in diseases.values():
        for problem, field in _unlinked(disease, knowledge):
            path = folder / "diseases" / f"{disease.id}.yaml"
            raise BadInput(problem, path=path, line=line_of(path, field), field=field)
    return _with_bodies(_with_plans(knowledge), folder)


def _with_bodies(knowledge: Knowledge, folder: Path) -> Knowledge:
    """Returns the knowledge with what its diseases make of the body."""
    body = read_body()
    placed = {item.id: item for e in knowledge.examinations.values() for item in e.items}
    items = {i: item for i, item in placed.items() if i not in body.items and i not in body.derived}
    items |= {item.id: item for item in body.hidden}
    symptoms = dict(knowledge.symptoms)
    for id, reading in body.symptoms.items():
        if id in symptoms and reading.of in items:
            usual = share_of_reading(reading, items[reading.of], items[reading.of].usual, (Variant(),))
            symptoms[id] = msgspec.structs.replace(symptoms[id], base=usual)
    bodies: dict[str, DiseaseBody] = {}
    diseases: dict[str, Disease] = {}
    for disease in knowledge.diseases.values():
        try:
            bodies[disease.id] = linked = link_body(disease, items, symptoms, body)
        except BadInput as error:
            path = folder / "diseases" / f"{disease.id}.yaml"
            line = line_of(path, error.field)
            raise BadInput(error.problem, path=path, line=line, field=error.field) from None
        diseases[disease.id] = with_marginals(disease, linked, knowledge.examinations, items, body)
    return msgspec.structs.replace(knowledge, symptoms=symptoms, diseases=diseases, bodies=bodies, quantities=items)


def plan_vocabulary(knowledge: Knowledge) -> PlanVocabulary:
    """Returns what plans name by its id."""
    placed = {item.id: item for e in knowledge.examinations.values() for item in e.items}
    return PlanVocabulary(knowledge.drugs, knowledge.examinations, placed, knowledge.symptoms)


def _with_plans(knowledge: Knowledge) -> Knowledge:
    """Returns the knowledge whose plans stand in words."""
    vocabulary = plan_vocabulary(knowledge)
    diseases = {}
    for id, disease in knowledge.diseases.items():
        said: dict[str, Plan] = {severity: in_words(disease.plan(severity), vocabulary) for severity in SEVERITIES}
        treatment = msgspec.structs.replace(disease.treatment, **said)
        diseases[id] = msgspec.structs.replace(disease, treatment=treatment)
    return msgspec.structs.replace(knowledge, diseases=diseases)


def _by_id(path: Path, kind: type[list[K]]) -> dict[str, K]:
    table: dict[str, K] = {}
    for thing in read_yaml(path, kind):
        if thing.id in table:
            raise BadInput(f"the id {thing.id!r} stands twice", path=path)
        table[thing.id] = thing
    return table


def _unlinked(disease: Disease, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Yields what a disease refers to wrongly, each with its field."""
    for what, ids, table in (
        ("symptom", disease.symptoms, knowledge.symptoms),
        ("examination", (*disease.examinations, *disease.indicated.not_indicated), knowledge.examinations),
        ("examination", disease.findings, knowledge.examinations),
        ("disease", disease.differential, knowledge.diseases),
        ("department", (disease.department,), knowledge.departments),
    ):
        for key in ids:
            if key not in table:
                yield f"no {what} {key!r}; known: {', '.join(sorted(table))}", ""
    vocabulary, titles = plan_vocabulary(knowledge), [source.title for source in disease.sources]
    if disease.criteria.source not in titles:
        yield f"no source {disease.criteria.source!r}; known: {'; '.join(titles)}", "$.criteria.source"
    for severity in SEVERITIES:
        for criterion in disease.criteria.at(severity):
            yield from ((problem, f"$.criteria.{severity}") for problem in criterion_problems(criterion, vocabulary))
    yield from unlinked_plans(disease, vocabulary)
    yield from finding_problems(disease.findings, knowledge.examinations, "$.findings")


def finding_problems(
    findings: DiseaseFindings, examinations: Mapping[str, Examination], where: str
) -> Iterator[tuple[str, str]]:
    """Yields what is wrong with the findings of a disease in known examinations, each with its field."""
    for examination, items in findings.items():
        known = {item.id: item for item in examinations[examination].items}
        for key, by_severity in items.items():
            field = f"{where}.{examination}.{key}"
            if key not in known:
                yield f"no item {key!r} in {examination}; known: {', '.join(known)}", field
            elif set(by_severity) not in ({"all"}, set(SEVERITIES)):
                yield "needs either 'all', or 'mild', 'moderate' and 'severe'", field
            else:
                problems = filter(None, map(known[key].problem, by_severity.values()))
                yield from ((problem, field) for problem in problems)


def _sources() -> list[Path]:
    vocabularies = ("departments", "symptoms", "examinations", "drugs", "body")
    return [*(DATA / f"{name}.yaml" for name in vocabularies), *sorted((DATA / "diseases").glob("*.yaml"))]


LINKED = Compiled(DATA / "linked.msgpack", Knowledge, sources=_sources, make=lambda: link_knowledge(DATA))
"""The knowledge of the package, linked."""
