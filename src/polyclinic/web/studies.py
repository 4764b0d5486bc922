"""Studies: items of one or more forms, judged by several people by link, and by a third where two differ.

A study and the verdicts of each person are documents. Annotators see neither the doctor nor the case of an item, and
each has an own order, drawn by the seed. The routes are below `/api/judging`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from anyio.to_thread import run_sync
from starlette.responses import Response
from starlette.routing import BaseRoute

from polyclinic.errors import UserError
from polyclinic.judging.people import agreed, disputed, figures
from polyclinic.judging.sheets import Material, sheet_of
from polyclinic.judging.verdicts import TURNED, Item, PersonsVerdict, form_named, forms, verdict_of, write_verdicts
from polyclinic.questions.layouts import read_exam
from polyclinic.seeds import derive
from polyclinic.web.browse.holdings import Holdings, recording_kind, unused_name
from polyclinic.web.chair.visits import TRACES
from polyclinic.web.practice import Guest, Invitation, Invitations, Practice
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import download, get, post
from polyclinic.web.serving import Serving


class GivenAnswers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An annotator's answers on an item; unanswered questions are left out."""

    answers: Annotated[dict[str, str | float], msgspec.Meta(max_length=20)]
    comment: Annotated[str, msgspec.Meta(max_length=8000)] = ""


MOST_ITEMS = 5_000

LEAST_PEOPLE = 2  # who judge everything
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
_Names = Annotated[tuple[_Name, ...], msgspec.Meta(max_length=100)]


class NewStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study to be made."""

    title: _Name
    forms: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=8)]  # in the order of judging
    material: Annotated[tuple[str, ...], msgspec.Meta(max_length=50)] = ()  # names of files; none for records
    cases: str = "shipped"  # the set of cases that the material was made with
    people: _Names  # who judge everything
    thirds: _Names = ()  # who judge the items on which the others differ
    sample: Annotated[int, msgspec.Meta(ge=0, le=MOST_ITEMS)] = 0  # items drawn of each form; 0 for all
    seed: int = 0


class StudyItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An item, and what is shown of it."""

    form: str
    item: Item
    shown: dict[str, str]

    @property
    def key(self) -> tuple[str, Item]:
        """The form, and the item as verdicts name it."""
        return self.form, form_named(self.form).in_order(self.item)


class Annotator(Guest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges, and whether only what others differ on."""

    third: bool = False


class KeptStudy(Invitation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study as it is kept."""

    set: NewStudy
    people: tuple[Annotator, ...]
    items: tuple[StudyItem, ...]


class Study:
    """One study, with all that was said in it."""

    def __init__(self, practice: Practice, kept: KeptStudy) -> None:
        self.practice, self.kept = practice, kept
        self.said: dict[str, dict[tuple[str, Item], PersonsVerdict]] = {}  # by the key of the annotator
        for number, person in enumerate(kept.people, start=1):
            said = practice.get("verdicts", f"{kept.id}/{number}", tuple[PersonsVerdict, ...]) or ()
            self.said[person.key] = {(one.form, one.item): one for one in said}

    def verdicts(self, *, thirds: bool = True) -> list[PersonsVerdict]:
        """Returns all verdicts, person by person, optionally without those of thirds."""
        people = (person for person in self.kept.people if thirds or not person.third)
        return [one for person in people for one in self.said[person.key].values()]

    def state(self) -> dict[str, Any]:
        """Returns the progress and the figures of the study; takes a moment if there is much to agree on."""
        kept, verdicts, seed = self.kept, self.verdicts(), self.kept.set.seed
        names = [name for name in kept.set.forms if any(one.form == name for one in verdicts)]
        progress = []
        for person in kept.people:
            done = [is_done for _, is_done in Work(self, person).done()]
            progress.append({"name": person.name, "third": person.third, "done": sum(done), "of": len(done)})
        thirds = [person.name for person in kept.people if person.third]
        return {
            "id": kept.id,
            "title": kept.set.title,
            "set": kept.set,
            "people": kept.people,
            "items": Counter(one.form for one in kept.items),
            "progress": progress,
            "disputed": {name: len(disputed(verdicts, name)) for name in names},
            "agreement": [one for name in names for one in agreed(verdicts, name, seed=seed, thirds=thirds)],
            "figures": {name: figures(verdicts, name, seed=seed) for name in names},
        }


class Work:
    """An annotator's items in order; of a third, the disputed items and those already judged."""

    def __init__(self, study: Study, person: Annotator) -> None:
        self._study, self._person, self._said = study, person, study.said[person.key]
        self._items: list[StudyItem] = []
        chosen, forms = study.kept, study.kept.set.forms
        for name in forms:
            of_form = [one for one in chosen.items if one.form == name]
            derive(chosen.set.seed, "order", name, person.name).shuffle(of_form)
            self._items += of_form
        if person.third:
            first = study.verdicts(thirds=False)
            mine = {(name, item) for name in forms for item in disputed(first, name)} | self._said.keys()
            self._items = [one for one in self._items if one.key in mine]

    def done(self) -> list[tuple[str, bool]]:
        """Returns for each item the form, and whether every question is answered."""
        asked = {name: len(form_named(name).questions) for name in self._study.kept.set.forms}
        answered = {key: len(said.answers) for key, said in self._said.items()}
        return [(one.form, answered.get(one.key) == asked[one.form]) for one in self._items]

    def desk(self) -> dict[str, Any]:
        """Returns the work as its annotator sees it."""
        title, person = self._study.kept.set.title, self._person
        return {"title": title, "name": person.name, "third": person.third, "items": self.done()}

    def task(self, number: int) -> dict[str, Any]:
        """Returns an item as an annotator sees it, the first as 1."""
        one = self._item(number)
        said = self._said.get(one.key)
        answers = {} if said is None else said.answers
        if one.item != one.key[1]:
            answers = {id: TURNED.get(answer, answer) for id, answer in answers.items()}
        return {
            "number": number,
            "form": one.form,
            "shown": one.shown,
            "questions": [
                {"id": id, "en": asked.en, "zh": asked.zh, "answers": asked.answers.order, "scale": asked.answers.scale}
                for id, asked in form_named(one.form).questions.items()
            ],
            "answers": answers,
            "comment": "" if said is None else said.comment,
        }

    def judge(self, number: int, given: GivenAnswers) -> None:
        """Keeps the answers on an item, in place of earlier ones."""
        one = self._item(number)
        row = given.answers | form_named(one.form).row(one.form, one.item)
        said = verdict_of(row | {"who": self._person.name, "comment": given.comment})
        self._said.pop(one.key, None)
        if said is not None:
            self._said[one.key] = said
        kept = self._study.kept
        id = f"{kept.id}/{kept.people.index(self._person) + 1}"
        self._study.practice.put("verdicts", id, tuple(self._said.values()))

    def _item(self, number: int) -> StudyItem:
        items = self._items
        if not 1 <= number <= len(items):
            raise NotFound(f"there are the items 1 to {len(items)}" if items else "there is nothing to judge yet")
        return items[number - 1]


class Studies(Invitations[KeptStudy, Annotator]):
    """The studies of a practice; one that cannot be read is left out, and named."""

    def __init__(self, practice: Practice) -> None:
        super().__init__(practice, "study", KeptStudy, lambda kept: kept.people, "the organiser of the study")

    def make(self, new: NewStudy, material: Material) -> KeptStudy:
        """Makes a study, with a link for each person."""
        names = [name.strip() for name in (*new.people, *new.thirds)]
        self.check(new.title, names, "people")
        if len(new.people) < LEAST_PEOPLE:
            raise UserError("at least two people must judge everything, so that their agreement can be measured")
        new = msgspec.structs.replace(new, forms=tuple(dict.fromkeys(new.forms)))
        items = tuple(one for form in new.forms for one in _items_of(form, new, material))
        if len(items) > MOST_ITEMS:
            raise UserError(f"{len(items):,} items; a study has at most {MOST_ITEMS:,}: draw a sample of each form")
        people = tuple(Annotator(name=name, third=n >= len(new.people)) for n, name in enumerate(names))
        return self.keep(KeptStudy(set=new, people=people, items=items))

    def work(self, key: str) -> Work:
        """Returns the work that a link leads to."""
        kept, person = self.guest(key)
        return Work(Study(self.practice, kept), person)


def _items_of(form: str, new: NewStudy, material: Material) -> list[StudyItem]:
    if form not in forms():
        raise UserError(f"there is no form {form[:40]!r} here; there are: {', '.join(forms())}")
    if form == "errors":
        if not material.questions:
            raise UserError(
                "wrong answers are shown with their questions: begin the server with --set serve.exams=FILE"
            )
        outcomes = [path for path in material.files if recording_kind(path) == "outcomes"]
        material = replace(material, files=outcomes)
    items = [StudyItem(form=form, item=item, shown=shown) for item, shown in sheet_of(form, material).items()]
    if not items:
        raise UserError(f"nothing that was chosen can be judged by the form {form!r}")
    return derive(new.seed, "sample", form).sample(items, new.sample) if 0 < new.sample < len(items) else items


_ENDINGS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
PLAYED = "played visits"  # all visits that people played here, as one
_KINDS = {"visits": "traces", "outcomes": "outcomes"}
_MOST = 300


def _material(holdings: Holdings, practice: Path) -> dict[str, tuple[list[Path], str]]:
    """Returns the files that can be judged and their kind, by a name that is not a path; played visits are one."""
    files = [file for one in holdings.look().values() for file in one.files if file.kind in _KINDS]
    found: dict[str, tuple[list[Path], str]] = {}
    for file in files[:_MOST]:
        found[unused_name(file.name, found, "{number}/{name}")] = [file.path], _KINDS[file.kind]
    played = sorted(one for one in (practice / TRACES).glob("*.trace.jsonl") if one.is_file())
    return found | ({PLAYED: (played, "traces")} if played else {})


def judging(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the annotator's desk."""
    catalogue, studies = serving.catalogue, Studies(serving.practice)
    look = partial(_material, serving.holdings, serving.practice.folder)

    async def settings() -> Any:
        told = [
            {"name": name, "source": form.source, "questions": form.questions}
            for name, form in forms().items()
            if name != "errors" or serving.exams
        ]
        material = [{"name": name, "kind": kind} for name, (_, kind) in (await run_sync(look)).items()]
        return {"forms": told, "material": material, "sets": catalogue.sets()}

    def listed() -> Any:
        told = [
            {"id": one.id, "title": one.set.title, "items": len(one.items), "people": len(one.people)}
            for one in studies.all()
        ]
        return {"studies": told}

    def make(new: NewStudy) -> Any:
        there = look()
        if missing := [name for name in new.material if name not in there and name != PLAYED]:
            raise NotFound(f"{missing[0][:80]!r} is not among what can be judged here")
        asked = [one for path in serving.exams for one in read_exam(path)] if "errors" in new.forms else []
        material = Material(
            files=[path for name in new.material if name in there for path in there[name][0]],
            cases={case.id: case for case in catalogue.cases(new.cases)},
            questions={one.question.id: one for one in asked},
            seed=new.seed,
        )
        return state(studies.make(new, material).id)

    def state(id: str) -> Any:
        return Study(studies.practice, studies.named(id)).state()

    def verdicts(id: str, ending: str) -> Response:
        study = Study(studies.practice, studies.named(id))
        if ending not in _ENDINGS:
            return Response("There are verdicts.jsonl and verdicts.csv.\n", 404, media_type="text/plain")
        return download(write_verdicts(study.verdicts(), f".{ending}"), f"verdicts.{ending}", _ENDINGS[ending])

    def judge(given: GivenAnswers, key: str, n: int) -> Any:
        work = studies.work(key)
        work.judge(n, given)
        return work.desk()

    one, item = "/studies/{id}", "/by-link/{key}/items/{n:int}"
    return [
        get("/settings", settings),
        get("/studies", listed),
        post("/studies", NewStudy, lambda new: run_sync(make, new), status=201),
        get(one, state, threaded=True),
        get(f"{one}/verdicts.{{ending}}", verdicts),
        get("/by-link/{key}", lambda key: studies.work(key).desk()),
        get(item, lambda key, n: studies.work(key).task(n)),
        post(item, GivenAnswers, judge),
    ]
