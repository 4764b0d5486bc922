"""`polyclinic knowledge`: a disease as a page, and the checks of the knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cases.record import printed_unit
from polyclinic.cli.chart import WORDS, print_section
from polyclinic.errors import BadInput
from polyclinic.generation.checks import KnowledgeChecked, check_all
from polyclinic.knowledge.ages import AGE_BANDS
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Disease, Distribution, Item
from polyclinic.knowledge.knowledge import Knowledge, ancestors, plan_vocabulary, read_knowledge
from polyclinic.knowledge.lexicon import say_days
from polyclinic.knowledge.plan_words import MeasureWords
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.run.options import Json, Seed, between
from polyclinic.terminal.figures import ShownFigure
from polyclinic.terminal.screen import present, progress
from polyclinic.terminal.tables import counted, table

_RARE = 0.03  # shares of a text below which it has no row

_OLDEST = 120  # years; an examination for all up to there has no upper limit

_words = WORDS.section("disease", dict[str, Any])


class DiseasePage:
    """The page of one disease in one language."""

    def __init__(self, disease: Disease, knowledge: Knowledge, language: Language) -> None:
        self._disease, self._knowledge, self._language = disease, knowledge, language
        self._words, self._marks = _words(language), MARKS[language]

    def show(self, screen: Console) -> None:
        """Prints it."""
        d, words, language = self._disease, self._words, self._language
        severities = [words["severities"][severity] for severity in SEVERITIES]
        other: Language = "zh" if language == "en" else "en"
        title = f"{d.name.get(language)} ({d.name.get(other)}) · {d.id}"
        screen.rule(Text(title, style="bold"), align="left", style="dim")
        self._print_sections(screen, self._about())
        for name, rows, columns in (
            ("symptoms", self._symptoms(), [*severities, words["usual"]]),
            ("findings", self._findings(), severities),
        ):
            screen.print("")
            screen.print(table(None, (words[name], *columns), rows))
            screen.print(Text(words[f"{name}_note"], style="dim"))
        screen.print(Text.assemble("\n", (words["examinations"], "bold"), (f"  {words['priced_note']}", "dim")))
        self._print_sections(screen, self._examinations())
        screen.print(Text(f"\n{words['plans']}", style="bold"))
        for severity, name in zip(SEVERITIES, severities, strict=True):
            plan = d.plan(severity)
            lines = (f"{number}. {line}" for number, line in enumerate(plan.get(language), start=1))
            print_section(screen, f"  {name}", "\n".join((words["dispositions"][plan.disposition], *lines)))
        screen.print("")
        self._print_sections(screen, self._around())

    def _print_sections(self, screen: Console, sections: Iterable[tuple[str, str]]) -> None:
        for name, told in sections:
            print_section(screen, self._words[name], told or self._words["none_stated"])

    def _about(self) -> Iterator[tuple[str, str]]:
        d, words, marks, language = self._disease, self._words, self._marks, self._language
        epidemiology, severities, days = d.epidemiology, words["severities"], d.duration[0]
        codes = (words["code_of"].format(code=c, severity=severities[name]) for name, c in d.severity_icd10.items())
        ages = (
            words["age"].format(band=band, share=f"{100 * share:.0f}")
            for band, share in epidemiology.age.items()
            if share >= 0.005 and band in AGE_BANDS
        )
        most = 0.99 * max(epidemiology.season.values())
        person = words["person"].format(
            female=f"{100 * epidemiology.female:.0f}",
            ages=marks.item.join(ages),
            days=words["hours"].format(n=round(24 * days, 1)) if days < 1 else say_days(days, language),
            seasons=marks.item.join(
                words["seasons"][one] for one, share in epidemiology.season.items() if share > most
            ),
        )
        say = MeasureWords(plan_vocabulary(self._knowledge), language)
        criteria = {words["every"]: d.criteria.every}
        criteria |= {severities[severity]: getattr(d.criteria, severity) for severity in SEVERITIES}
        yield "synonyms", marks.item.join(d.synonyms.get(language))
        yield "codes", marks.semicolon.join([d.icd10, *codes])
        yield "department", self._knowledge.departments[d.department].name.get(language)
        yield "people", person
        yield "definition", f"{d.criteria.says.get(language)}\n{words['source']}{marks.colon}{d.criteria.source}"
        told = (f"{name}{marks.colon}{say.criterion(one)}" for name, one in criteria.items() if one is not None)
        yield "conditions", "\n".join(told)

    def _around(self) -> Iterator[tuple[str, str]]:
        d, words, language = self._disease, self._words, self._language
        join = self._marks.semicolon.join
        yield "complications", join(d.complications.get(language))
        yield "differential", join(self._knowledge.diseases[id].name.get(language) for id in d.differential)
        if also := d.also_consider.get(language):
            yield "also_consider", join(also)
        yield "prevention", join(d.prevention.get(language))
        courses = []
        for kind, name in words["courses"].items():
            course = getattr(d.course, kind)
            worse = " / ".join(map(_percent, course.worsening))
            courses.append(words["days"].format(kind=name, first=course.days[0], last=course.days[1], worse=worse))
        yield "course", "\n".join(courses)
        yield "sources", "\n".join(words["supports"].format(**msgspec.to_builtins(source)) for source in d.sources)

    def _symptoms(self) -> Iterator[tuple[str, ...]]:
        """Yields a row for each symptom that the disease names, each below the nearest of its parents."""
        d, symptoms = self._disease, self._knowledge.symptoms
        children: dict[str | None, list[str]] = {}
        for id in sorted(d.symptoms, key=lambda id: -max(d.symptoms[id])):
            children.setdefault(next((a for a in ancestors(symptoms, id) if a in d.symptoms), None), []).append(id)

        def rows(parent: str | None, depth: int) -> Iterator[tuple[str, ...]]:
            for id in children.get(parent, ()):
                shares = [_percent(share) for share in (*d.symptoms[id], symptoms[id].base)]
                yield "  " * depth + symptoms[id].name.get(self._language), *shares
                yield from rows(id, depth + 1)

        yield from rows(None, 0)

    def _findings(self) -> Iterator[tuple[str, ...]]:
        """Yields a heading for each examination, and rows for its items; a text has a row of its own."""
        d, language = self._disease, self._language
        for examination in self._knowledge.examinations.values():
            items = [item for item in examination.items if item.id in d.findings.get(examination.id, {})]
            if items:
                yield (capitalised(examination.name.get(language)),)
            for item in items:
                by_severity = [d.distribution(examination.id, item, severity) for severity in SEVERITIES]
                name, unit = item.name.get(language), printed_unit(item.unit)
                if item.numeric:
                    yield f"  {name}, {unit}" if unit else f"  {name}", *(_spread(item, x) for x in by_severity)
                    continue
                if len(examination.items) > 1:
                    yield (f"  {name}",)
                for state, text in item.values.items():
                    shares = [x.get(state, 0.0) for x in by_severity if isinstance(x, dict)]
                    if max(shares) >= _RARE:
                        yield f"    {text.get(language)}", *map(_percent, shares)

    def _examinations(self) -> Iterator[tuple[str, str]]:
        """Yields the examinations of each kind, with their cost and on whom alone they are done."""
        words, marks = self._words, self._marks
        for kind in ("needed", "helpful", "not_indicated"):
            priced = []
            for one in (self._knowledge.examinations[id] for id in getattr(self._disease.indicated, kind)):
                told = [f"{one.cost:g}", *([] if one.sex is None else [words["alone"][one.sex]])]
                if one.ages is not None:
                    first, last = one.ages
                    told.append(words["years" if last < _OLDEST else "from_year"].format(first=first, last=last))
                name = one.name.get(self._language)
                priced.append(words["priced"].format(name=name, told=marks.comma.join(told)))
            yield kind, marks.semicolon.join(priced)


def _percent(share: float) -> str:
    told = f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else "< 1 %"
    return ShownFigure(told, {"": 100 * share})


def _spread(item: Item, distribution: Distribution) -> str:
    """Returns the middle of a number, and between what two of three patients lie."""
    centre, spread = distribution
    assert isinstance(centre, float) and isinstance(spread, float)  # noqa: S101
    ends = (centre / spread, centre * spread) if item.lognormal else (centre - spread, centre + spread)
    if item.limits is not None:
        ends = max(ends[0], item.limits[0]), min(ends[1], item.limits[1])
    middle, low, high = (f"{x:.{item.decimals}f}" for x in (centre, *ends))
    return ShownFigure(f"{middle} ({low}–{high})", {"": centre, "low": ends[0], "high": ends[1]})


_NEAR = 5  # names that are offered in place of one that nothing has


def show(
    disease: Annotated[str, Parameter(metavar="DISEASE")],
    /,
    *,
    language: Language = "en",
    json: Json = False,
) -> None:
    """Prints a disease as a page.

    Args:
        disease: A disease by id, by name or synonym in either language, or by ICD-10 code.
        language: Language of the page.
    """
    knowledge = read_knowledge()
    found = disease_meant(disease, knowledge)
    present(found, lambda screen, _: DiseasePage(found, knowledge, language).show(screen), json=json)


def disease_meant(text: str, knowledge: Knowledge) -> Disease:
    """Returns the disease that an id, a name in either language or an ICD-10 code means."""
    wanted = " ".join(text.split()).casefold()
    if wanted in knowledge.diseases:
        return knowledge.diseases[wanted]
    named = knowledge.disease_named(wanted)
    if named is not None:
        return named
    diseases = knowledge.diseases.values()
    coded = [d for d in diseases if wanted in {c.casefold() for c in (d.icd10, *d.severity_icd10.values())}]
    coded = coded or [d for d in diseases if wanted and d.icd10.casefold().startswith(f"{wanted}.")]
    if len(coded) == 1:
        return coded[0]
    if coded:
        raise BadInput(f"{text!r} is the code of {len(coded)} diseases; name one: {', '.join(d.id for d in coded)}")
    names = {name.casefold(): d.id for d in diseases for name in (d.id, *d.names())}
    beginning = [id for name, id in names.items() if any(word.startswith(wanted) for word in name.split())]
    alike = [names[name] for name in get_close_matches(wanted, names, n=_NEAR, cutoff=0.5)]
    near = list(dict.fromkeys([*(beginning if len(wanted) > 1 else ()), *alike]))[:_NEAR]
    offered = f"near are: {', '.join(near)}" if near else "polyclinic knowledge show takes an id, a name or a code"
    raise BadInput(f"no disease {text!r}; {offered}")


def check(
    *,
    n: Annotated[int, between(1, 1_000_000), Parameter(name="--n")] = 2000,
    diseases: Annotated[str, Parameter(metavar="NAMES")] = "all",
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Prints what every check tried and what failed; the exit code is 1 where one fails.

    Args:
        n: Number of patients.
        diseases: 'all', or departments, disease names or ICD-10 codes, separated by commas.
    """
    whole = read_knowledge()
    with progress("checking", n, quiet=json) as advance:
        checked = check_all(whole.select(diseases), n=n, seed=seed, whole=whole, advance=advance)
    present(checked, _show, json=json)
    return int(bool(checked.failing))


def _show(screen: Console, checked: KnowledgeChecked) -> None:
    rows = (
        (name, "✗" if tally.failed else "✓" if tally.tried else "–", tally.tried, tally.failed)
        for name, tally in checked.checks.items()
    )
    screen.print(table(None, ("check", "", "tried", "failed"), rows, right=("tried", "failed")))
    for name in checked.failing:
        tally = checked.checks[name]
        screen.print(f"\n{name}: {tally.failed} of {tally.tried}", style="bold")
        for example in tally.examples:
            screen.print(f"  {example}", soft_wrap=True)
    failing = len(checked.failing)
    outcome = f"{failing} of {counted(len(checked.checks), 'check')} failed" if failing else "every check holds"
    screen.print(f"\n{counted(checked.patients, 'patient')}: {outcome}", style="bold")
