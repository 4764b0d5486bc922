"""Studies: items of one or more forms, several people by link, a third where two differ, and their verdicts.

Two kinds of documents are kept: a study, which says what is judged and by whom, and the verdicts of each person.
Nobody who judges learns whose an item is or of which case, and each has the items in an order drawn by the seed. The
routes are those below `/api/judging`: for the organiser, and by link for annotators.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from anyio.to_thread import run_sync
from starlette.responses import Response
from starlette.routing import BaseRoute

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput, UserError
from polyclinic.judging.people import QuestionAgreement, agreed, disputed, figures
from polyclinic.judging.sheets import errors_sheet, sheet_of
from polyclinic.judging.verdicts import PAIR, Answer, Item, PersonsVerdict, form_named, forms, in_order, write_verdicts
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import read_exam
from polyclinic.seeds import derive
from polyclinic.web.browse.holdings import Holdings, recording_kind, unused_name
from polyclinic.web.chair.visits import TRACES
from polyclinic.web.practice import Practice, check_names
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import download, get, post
from polyclinic.web.serving import Serving


class GivenAnswers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An annotator's answers on an item; unanswered questions are left out."""

    answers: Annotated[dict[str, str | float], msgspec.Meta(max_length=20)]
    comment: Annotated[str, msgspec.Meta(max_length=8000)] = ""


JUDGED_HERE = tuple(forms())
"""The forms that can be judged here; "errors" where the questions that were asked are there."""

MOST_ITEMS = 5_000

LEAST_PEOPLE = 2  # who judge everything
_NO_QUESTIONS: Mapping[str, ExamQuestion] = {}
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
    def key(self) -> Item:
        """The item as verdicts name it, two doctors in the order of the alphabet."""
        return in_order(self.item) if form_named(self.form).keys[1:] == PAIR else self.item


class Annotator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges: the key of the link, and whether only what others differ on."""

    name: str
    key: str
    third: bool = False


class KeptStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study as it is kept."""

    id: str
    made: float
    set: NewStudy
    people: tuple[Annotator, ...]
    items: tuple[StudyItem, ...]


_Said = dict[tuple[str, Item], PersonsVerdict]


class Study:
    """One study, with all that was said in it."""

    def __init__(self, practice: Practice, kept: KeptStudy) -> None:
        self.kept, self._practice = kept, practice
        self._order = {person.key: self._drawn(person) for person in kept.people}
        self._said: dict[str, _Said] = {}
        for person in kept.people:
            said = practice.get("verdicts", self._verdicts_of(person), tuple[PersonsVerdict, ...]) or ()
            self._said[person.key] = {(one.form, one.item): one for one in said}

    def _verdicts_of(self, person: Annotator) -> str:
        return f"{self.kept.id}/{self.kept.people.index(person) + 1}"

    def verdicts(self) -> list[PersonsVerdict]:
        """Returns all verdicts, person by person; two doctors of an item stand in the order of the alphabet."""
        return [one for person in self.kept.people for one in self._said[person.key].values()]

    def listed(self) -> dict[str, Any]:
        """Returns the line of a list for it."""
        kept = self.kept
        return {"id": kept.id, "title": kept.set.title, "items": len(kept.items), "people": len(kept.people)}

    def desk(self, person: Annotator) -> dict[str, Any]:
        """Returns an annotator's work: for each item, in order, the form and whether every question is answered."""
        items = [(one.form, self._is_done(person, one)) for one in self._items(person)]
        return {"title": self.kept.set.title, "name": person.name, "third": person.third, "items": items}

    def task(self, person: Annotator, number: int) -> dict[str, Any]:
        """Returns an item as an annotator sees it; `number` is its place in the annotator's own order, from 1."""
        one = self._item(person, number)
        said = self._said[person.key].get((one.form, one.key))
        questions = [
            {"id": id, "en": asked.en, "zh": asked.zh, "answers": asked.answers.order, "scale": asked.answers.scale}
            for id, asked in form_named(one.form).questions.items()
        ]
        return {
            "number": number,
            "form": one.form,
            "shown": one.shown,
            "questions": questions,
            "answers": {} if said is None else {id: _turned(one, answer) for id, answer in said.answers.items()},
            "comment": "" if said is None else said.comment,
        }

    def judge(self, person: Annotator, number: int, judged: GivenAnswers) -> None:
        """Keeps an annotator's answers on an item, in place of earlier ones."""
        one = self._item(person, number)
        questions = form_named(one.form).questions
        answers: dict[str, Answer] = {}
        for id, said in judged.answers.items():
            if id not in questions:
                raise UserError(f"there is no question {id[:40]!r} here; there are: {', '.join(questions)}")
            answer = questions[id].answers.read(str(said))
            if answer is None:
                raise UserError(
                    f"{str(said)[:40]!r} is not an answer to {id}; allowed: {questions[id].answers.allowed}"
                )
            answers[id] = _turned(one, answer)
        theirs = dict(self._said[person.key])
        theirs.pop((one.form, one.key), None)
        if answers:
            theirs[one.form, one.key] = PersonsVerdict(
                form=one.form, item=one.key, who=person.name, answers=answers, comment=judged.comment.strip()
            )
        self._practice.put("verdicts", self._verdicts_of(person), tuple(theirs.values()))
        self._said[person.key] = theirs

    def state(self) -> dict[str, Any]:
        """Returns the progress and the figures of the study; takes a moment if there is much to agree on."""
        kept, verdicts = self.kept, self.verdicts()
        names = [name for name in kept.set.forms if any(one.form == name for one in verdicts)]
        progress = []
        for person in kept.people:
            items = self._items(person)
            done = sum(self._is_done(person, one) for one in items)
            progress.append({"name": person.name, "third": person.third, "done": done, "of": len(items)})
        return {
            "id": kept.id,
            "title": kept.set.title,
            "set": kept.set,
            "people": kept.people,
            "items": Counter(one.form for one in kept.items),
            "progress": progress,
            "disputed": {name: len(disputed(verdicts, name)) for name in names},
            "agreement": [one for name in names for one in self._agreed(name, verdicts)],
            "figures": {name: figures(verdicts, name, seed=kept.set.seed) for name in names},
        }

    def _agreed(self, form: str, verdicts: Sequence[PersonsVerdict]) -> list[QuestionAgreement]:
        """Returns the agreement of those who judge everything, with the items that all people together decide."""
        seed = self.kept.set.seed
        by_all = {one.question: one for one in agreed(verdicts, form, seed=seed)}
        return [
            msgspec.structs.replace(one, decided=by_all[one.question].decided, undecided=by_all[one.question].undecided)
            for one in agreed(self._first(), form, seed=seed)
        ]

    def _first(self) -> list[PersonsVerdict]:
        """Returns the verdicts of those who judge everything: a third sees nothing but disputed items."""
        return [one for person in self.kept.people if not person.third for one in self._said[person.key].values()]

    def _drawn(self, person: Annotator) -> list[StudyItem]:
        drawn = []
        for name in self.kept.set.forms:
            of_form = [one for one in self.kept.items if one.form == name]
            derive(self.kept.set.seed, "order", name, person.name).shuffle(of_form)
            drawn += of_form
        return drawn

    def _items(self, person: Annotator) -> list[StudyItem]:
        """Returns an annotator's items; a third gets those on which others differ, and those it has judged already."""
        if not person.third:
            return self._order[person.key]
        first = self._first()
        open_ = {(name, item) for name in self.kept.set.forms for item in disputed(first, name)}
        mine = open_ | self._said[person.key].keys()
        return [one for one in self._order[person.key] if (one.form, one.key) in mine]

    def _item(self, person: Annotator, number: int) -> StudyItem:
        items = self._items(person)
        if not 1 <= number <= len(items):
            raise NotFound(f"there are the items 1 to {len(items)}" if items else "there is nothing to judge yet")
        return items[number - 1]

    def _is_done(self, person: Annotator, one: StudyItem) -> bool:
        said = self._said[person.key].get((one.form, one.key))
        return said is not None and len(said.answers) == len(form_named(one.form).questions)


class Studies:
    """The studies of a practice; one that cannot be read is left out, and named."""

    def __init__(self, practice: Practice) -> None:
        self._practice = practice
        self._studies: dict[str, Study] = {}
        self.all()  # names those that cannot be read

    def all(self) -> list[Study]:
        """Returns all studies, the latest first."""
        return sorted(self._read().values(), key=lambda one: -one.kept.made)

    def _read(self) -> dict[str, Study]:
        """Returns the studies by id; each is read once, unless another server changes the file."""
        there = self._practice.all("study", KeptStudy)
        for id, kept in there.items():
            if id not in self._studies or self._studies[id].kept is not kept:
                try:
                    self._studies[id] = Study(self._practice, kept)
                except BadInput as error:
                    self._practice.leave_out("study", id, error)
        return {id: self._studies[id] for id in there if id in self._studies}

    def make(
        self,
        new: NewStudy,
        files: Sequence[Path],
        cases: Mapping[str, Case],
        questions: Mapping[str, ExamQuestion] = _NO_QUESTIONS,
    ) -> Study:
        """Makes a study of files, with a link for each person. Wrong answers were given to the questions."""
        names = [name.strip() for name in (*new.people, *new.thirds)]
        check_names(new.title, names, "people")
        if len(new.people) < LEAST_PEOPLE:
            raise UserError("at least two people must judge everything, so that their agreement can be measured")
        items = [one for form in dict.fromkeys(new.forms) for one in _items_of(form, new, files, cases, questions)]
        if len(items) > MOST_ITEMS:
            raise UserError(f"{len(items):,} items; a study has at most {MOST_ITEMS:,}: draw a sample of each form")
        people = tuple(
            Annotator(name=name, key=secrets.token_urlsafe(16), third=place >= len(new.people))
            for place, name in enumerate(names)
        )
        new = msgspec.structs.replace(new, forms=tuple(dict.fromkeys(new.forms)))
        kept = KeptStudy(id=secrets.token_urlsafe(9), made=time.time(), set=new, people=people, items=tuple(items))
        self._practice.put("study", kept.id, kept)
        return self._read()[kept.id]

    def named(self, id: str) -> Study:
        """Returns a study."""
        study = self._read().get(id)
        if study is None:
            self._practice.check("study", id)
            raise NotFound("there is no such study here")
        return study

    def person(self, key: str) -> tuple[Study, Annotator]:
        """Returns the study and the annotator of a link."""
        for study in self._read().values():
            for person in study.kept.people:
                if person.key == key:
                    return study, person
        raise NotFound("this link is not valid; ask the organiser of the study for another")


def _items_of(
    form: str, new: NewStudy, files: Sequence[Path], cases: Mapping[str, Case], questions: Mapping[str, ExamQuestion]
) -> list[StudyItem]:
    if form not in JUDGED_HERE:
        raise UserError(f"there is no form {form[:40]!r} here; there are: {', '.join(JUDGED_HERE)}")
    if form == "errors":
        if not questions:
            raise UserError(
                "wrong answers are shown with their questions: begin the server with --set serve.exams=FILE"
            )
        sheet = errors_sheet([path for path in files if recording_kind(path) == "outcomes"], questions)
    else:
        sheet = sheet_of(form, () if form == "records" else files, cases, seed=new.seed)
    if not sheet.items:
        raise UserError(f"nothing that was chosen can be judged by the form {form!r}")
    items = [StudyItem(form=form, item=item, shown=dict(shown)) for item, shown in sheet.items.items()]
    if new.sample and new.sample < len(items):
        items = derive(new.seed, "sample", form).sample(items, new.sample)
    return items


_OTHER: dict[Any, Answer] = {"first": "second", "second": "first"}


def _turned(one: StudyItem, answer: Answer) -> Answer:
    """Returns an answer on two doctors as it is with them the other way round, where the item shows them so."""
    return answer if one.item == one.key else _OTHER.get(answer, answer)


_ENDINGS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


PLAYED = "played visits"  # all visits that people played here, as one
_KINDS = {"visits": "traces", "outcomes": "outcomes"}
_MOST = 300


class MaterialShelf:
    """The files of traces and outcomes that can be judged, each under a name that is not a path.

    The visits in the folder of practice are offered together.
    """

    def __init__(self, holdings: Holdings, practice: Path) -> None:
        self._holdings, self._practice = holdings, practice

    def listed(self) -> list[dict[str, str]]:
        """Returns the name and kind of each file."""
        return [{"name": name, "kind": kind} for name, (_, kind) in self._look().items()]

    def paths(self, names: Iterable[str]) -> list[Path]:
        """Returns the files of these names."""
        found = self._look()
        if missing := [name for name in names if name not in found and name != PLAYED]:
            raise NotFound(f"{missing[0][:80]!r} is not among what can be judged here")
        return [path for name in names if name in found for path in found[name][0]]

    def _look(self) -> dict[str, tuple[list[Path], str]]:
        files = [file for one in self._holdings.look().values() for file in one.files if file.kind in _KINDS]
        found: dict[str, tuple[list[Path], str]] = {}
        for file in files[:_MOST]:
            found[unused_name(file.name, found, "{number}/{name}")] = [file.path], _KINDS[file.kind]
        played = sorted(one for one in (self._practice / TRACES).glob("*.trace.jsonl") if one.is_file())
        return found | ({PLAYED: (played, "traces")} if played else {})


def judging(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the annotator's desk."""
    catalogue, studies = serving.catalogue, Studies(serving.practice)
    shelf = MaterialShelf(serving.holdings, serving.practice.folder)

    async def settings() -> Any:
        told = [
            {"name": name, "source": form_named(name).source, "questions": form_named(name).questions}
            for name in JUDGED_HERE
            if name != "errors" or serving.exams
        ]
        return {"forms": told, "material": await run_sync(shelf.listed), "sets": catalogue.sets()}

    def listed() -> Any:
        return {"studies": [study.listed() for study in studies.all()]}

    async def make(new: NewStudy) -> Any:
        files = await run_sync(shelf.paths, new.material)
        cases = {case.id: case for case in catalogue.cases(new.cases)}
        questions = await run_sync(asked) if "errors" in new.forms else {}
        study = await run_sync(studies.make, new, files, cases, questions)
        return study.state()

    def asked() -> dict[str, ExamQuestion]:
        """Returns the questions that were asked, by their ids."""
        return {one.question.id: one for path in serving.exams for one in read_exam(path)}

    def verdicts(id: str, ending: str) -> Response:
        study = studies.named(id)
        if ending not in _ENDINGS:
            return Response("There are verdicts.jsonl and verdicts.csv.\n", 404, media_type="text/plain")
        return download(write_verdicts(study.verdicts(), f".{ending}"), f"verdicts.{ending}", _ENDINGS[ending])

    def work(key: str) -> Any:
        study, person = studies.person(key)
        return study.desk(person)

    def task(key: str, n: int) -> Any:
        study, person = studies.person(key)
        return study.task(person, n)

    def judge(given: GivenAnswers, key: str, n: int) -> Any:
        study, person = studies.person(key)
        study.judge(person, n, given)
        return study.desk(person)

    one, item = "/studies/{id}", "/by-link/{key}/items/{n:int}"
    return [
        get("/settings", settings),
        get("/studies", listed),
        post("/studies", NewStudy, make, status=201),
        get(one, lambda id: run_sync(studies.named(id).state)),
        get(f"{one}/verdicts.{{ending}}", verdicts),
        get("/by-link/{key}", work),
        get(item, task),
        post(item, GivenAnswers, judge),
    ]
