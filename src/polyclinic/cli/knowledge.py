"""`polyclinic knowledge`: a disease as a page, and the checks of the knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import printed_unit
from polyclinic.cli.chart import WORDS
from polyclinic.errors import BadInput
from polyclinic.generation.checks import KnowledgeChecked, check_all
from polyclinic.knowledge.ages import AGE_BANDS
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import (
    Criterion,
    Disease,
    Distribution,
    DueWhen,
    Examination,
    Item,
    Measure,
    Plan,
    Prescription,
)
from polyclinic.knowledge.knowledge import Knowledge, ancestors, read_knowledge
from polyclinic.knowledge.lexicon import say_days
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.run.options import Json, Seed, between
from polyclinic.terminal.screen import console, plain, print_json, progress
from polyclinic.terminal.tables import counted, table

_RARE = 0.03  # shares of a text below which it has no row

_OLDEST = 120  # years; an examination for all up to there has no upper limit


class _PageWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    severities: dict[Severity, str]
    synonyms: str
    codes: str
    code_of: str
    department: str
    definition: str
    conditions: str
    every: str
    source: str
    none_stated: str
    people: str
    person: str
    age: str
    seasons: dict[str, str]
    symptoms: str
    usual: str
    symptoms_note: str
    findings: str
    findings_note: str
    examinations: str
    needed: str
    helpful: str
    not_indicated: str
    priced: str
    priced_note: str
    alone: dict[Sex, str]
    years: str
    from_year: str
    plans: str
    dispositions: dict[str, str]
    routes: dict[str, str]
    forms: dict[str, str]
    otherwise: str
    drug: str
    why: str
    when: str
    after: str
    within: str
    within_hours: str
    age_at_least: str
    age_below: str
    pregnant: str
    not_pregnant: str
    sexes: dict[str, str]
    days_at_most: str
    hours: str
    at_least: str
    below: str
    between: str
    high: str
    low: str
    one_of: str
    and_: str = msgspec.field(name="and")
    or_: str = msgspec.field(name="or")
    count: str
    complications: str
    differential: str
    also_consider: str
    prevention: str
    course: str
    days: str
    courses: dict[str, str]
    sources: str
    supports: str


_words = WORDS.section("disease", _PageWords)


class DiseasePage:
    """The page of one disease in one language."""

    def __init__(self, disease: Disease, knowledge: Knowledge, language: Language) -> None:
        self._disease, self._knowledge, self._language = disease, knowledge, language
        self._words, self._marks = _words(language), MARKS[language]
        self._severities = [self._words.severities[severity] for severity in SEVERITIES]

    def show(self, screen: Console) -> None:
        """Prints it."""
        d, words = self._disease, self._words
        other: Language = "zh" if self._language == "en" else "en"
        title = f"{d.name.get(self._language)} ({d.name.get(other)}) · {d.id}"
        screen.rule(Text(plain(title), style="bold"), align="left", style="dim")
        for name, told in self._about():
            self._line(screen, name, told)
        self._table(screen, words.symptoms, self._symptoms(), [*self._severities, words.usual])
        screen.print(Text(words.symptoms_note, style="dim"))
        self._table(screen, words.findings, self._findings(), self._severities)
        screen.print(Text(words.findings_note, style="dim"))
        self._heading(screen, words.examinations, words.priced_note)
        for name, ids in (
            (words.needed, d.indicated.needed),
            (words.helpful, d.indicated.helpful),
            (words.not_indicated, d.indicated.not_indicated),
        ):
            priced = [self._priced(self._knowledge.examinations[id]) for id in ids]
            self._line(screen, f"  {name}", self._marks.semicolon.join(priced) or words.none_stated)
        self._heading(screen, words.plans)
        for severity in SEVERITIES:
            self._plan(screen, severity, d.plan(severity))
        screen.print()
        for name, told in self._around():
            self._line(screen, name, told)
        sources = [words.supports.format(**msgspec.to_builtins(source)) for source in d.sources]
        self._line(screen, words.sources, "\n".join(sources))

    @staticmethod
    def _heading(screen: Console, name: str, told: str = "") -> None:
        screen.print(Text.assemble("\n", (name, "bold"), (f"  {told}" if told else "", "dim")))

    @staticmethod
    def _line(screen: Console, name: str, told: RenderableType) -> None:
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_column(style="bold", min_width=15, max_width=15)
        row.add_column(overflow="fold")
        row.add_row(name, Text(plain(told)) if isinstance(told, str) else told)
        screen.print(row)

    def _about(self) -> Iterator[tuple[str, str]]:
        d, words, language = self._disease, self._words, self._language
        yield words.synonyms, self._marks.item.join(d.synonyms.get(language)) or words.none_stated
        by_severity = [
            words.code_of.format(code=code, severity=words.severities[severity])
            for severity, code in d.severity_icd10.items()
        ]
        yield words.codes, self._marks.semicolon.join([d.icd10, *by_severity])
        yield words.department, self._knowledge.departments[d.department].name.get(language)
        ages = self._marks.item.join(
            words.age.format(band=band, share=f"{100 * share:.0f}")
            for band, share in d.epidemiology.age.items()
            if share >= 0.005 and band in AGE_BANDS
        )
        seasons = sorted(d.epidemiology.season.items(), key=lambda one: -one[1])
        most = [words.seasons[name] for name, share in seasons if share > 0.99 * seasons[0][1]]
        yield (
            words.people,
            words.person.format(
                female=f"{100 * d.epidemiology.female:.0f}",
                ages=ages,
                days=self._days(d.duration[0]),
                seasons=self._marks.item.join(most),
            ),
        )
        yield words.definition, f"{d.criteria.says.get(language)}\n{words.source}{self._marks.colon}{d.criteria.source}"
        stages = [(words.every, d.criteria.every)]
        stages += [(words.severities[s], getattr(d.criteria, s)) for s in SEVERITIES]
        told = [f"{name}{self._marks.colon}{self._condition(c)}" for name, c in stages if c is not None]
        yield f"  {words.conditions}", "\n".join(told)

    def _days(self, days: float) -> str:
        return self._words.hours.format(n=round(24 * days, 1)) if days < 1 else say_days(days, self._language)

    def _condition(self, criterion: Criterion, *, inside: bool = False) -> str:
        words = self._words
        if parts := criterion.parts():
            between = words.and_ if criterion.all else words.or_ if criterion.any else self._marks.semicolon
            told = between.join(self._condition(part, inside=True) for part in parts)
            if criterion.of:
                told = words.count.format(count=criterion.count) + told
            return f"({told})" if inside and len(parts) > 1 else told
        if criterion.symptom:
            return self._knowledge.symptoms[criterion.symptom].name.get(self._language)
        item = self._knowledge.quantities[criterion.quantity]
        name, unit = item.name.get(self._language), _unit(item)
        if criterion.one_of:
            states = words.or_.join(item.values[state].get(self._language) for state in criterion.one_of)
            return words.one_of.format(name=name, states=states)
        if criterion.abnormal:
            return (words.high if criterion.abnormal == "high" else words.low).format(name=name)
        if criterion.at_least is not None and criterion.below is not None:
            return words.between.format(name=name, low=criterion.at_least, high=criterion.below, unit=unit)
        if criterion.at_least is not None:
            return words.at_least.format(name=name, value=criterion.at_least, unit=unit)
        return words.below.format(name=name, value=criterion.below, unit=unit)

    def _symptoms(self) -> Iterator[tuple[str, ...]]:
        d, symptoms = self._disease, self._knowledge.symptoms
        named = set(d.symptoms)
        roots = [s for s in d.symptoms if not named.intersection(ancestors(symptoms, s))]
        children: dict[str, list[str]] = {}
        for id in d.symptoms:
            near = next((a for a in ancestors(symptoms, id) if a in named), None)
            if near is not None:
                children.setdefault(near, []).append(id)

        def rows(ids: Iterable[str], depth: int) -> Iterator[tuple[str, ...]]:
            for id in sorted(ids, key=lambda i: -max(d.symptoms[i])):
                shares = [_percent(share) for share in (*d.symptoms[id], symptoms[id].base)]
                yield "  " * depth + symptoms[id].name.get(self._language), *shares
                yield from rows(children.get(id, ()), depth + 1)

        yield from rows(roots, 0)

    def _findings(self) -> Iterator[tuple[str, ...]]:
        d = self._disease
        for examination in self._knowledge.examinations.values():
            items = [item for item in examination.items if item.id in d.findings.get(examination.id, {})]
            if items:
                yield (f"_{capitalised(examination.name.get(self._language))}",)
            for item in items:
                yield from self._item(examination, item)

    def _item(self, examination: Examination, item: Item) -> Iterator[tuple[str, ...]]:
        by_severity = [self._disease.distribution(examination.id, item, severity) for severity in SEVERITIES]
        name = item.name.get(self._language)
        if item.numeric:
            yield (
                f"  {name}, {unit}" if (unit := _unit(item).strip()) else f"  {name}",
                *(_spread(item, x) for x in by_severity),
            )
            return
        if len(examination.items) > 1:
            yield (f"  {name}",)
        for state, text in item.values.items():
            shares = [x.get(state, 0.0) for x in by_severity if isinstance(x, dict)]
            if max(shares) >= _RARE:
                yield f"    {text.get(self._language)}", *map(_percent, shares)

    def _table(self, screen: Console, title: str, rows: Iterable[Sequence[str]], columns: Sequence[str]) -> None:
        shown = Table.grid(padding=(0, 2, 0, 0))
        shown.add_column(overflow="fold")
        for _ in columns:
            shown.add_column(justify="right", no_wrap=True)
        shown.add_row(Text(title, style="bold"), *(Text(name, style="dim") for name in columns))
        for first, *cells in rows:
            # An examination is a heading among its items.
            name = Text(first[1:], style="italic") if first.startswith("_") else Text(plain(first))
            shown.add_row(
                name
                if name.plain[:1] != " "
                else Padding(Text(name.plain.lstrip()), (0, 0, 0, (len(first) - len(first.lstrip(" "))))),
                *cells,
            )
        screen.print()
        screen.print(shown)

    def _priced(self, examination: Examination) -> str:
        words, told = self._words, [f"{examination.cost:g}"]
        if examination.sex is not None:
            told.append(words.alone[examination.sex])
        if examination.ages is not None:
            first, last = examination.ages
            told.append((words.years if last < _OLDEST else words.from_year).format(first=first, last=last))
        return words.priced.format(name=examination.name.get(self._language), told=self._marks.comma.join(told))

    def _plan(self, screen: Console, severity: Severity, plan: Plan) -> None:
        words = self._words
        told = [self._measure(measure) for measure in plan.measures] or list(plan.get(self._language))
        where = f"{self._marks.comma}{words.dispositions[plan.disposition]}" if plan.measures else ""
        screen.print(Text(f"  {words.severities[severity]}{where}", style="italic"))
        for number, one in enumerate(told, start=1):
            row = Table.grid(padding=(0, 1, 0, 0))
            row.add_column(justify="right", min_width=6)
            row.add_column(overflow="fold")
            row.add_row(f"{number}.", Text(plain(one)))
            screen.print(row)

    def _measure(self, measure: Measure) -> str:
        words, language = self._words, self._language
        plain_form = measure.procedure or measure.advice or measure.monitoring
        told = "" if plain_form is None else plain_form.get(language)
        if measure.give:
            told = words.otherwise.join(self._drug(one) for one in measure.give)
        if measure.why is not None:
            told += words.why.format(why=measure.why.get(language))
        told += self._when(measure.when)
        if measure.after:
            names = [self._knowledge.examinations[id].name.get(language) for id in measure.after]
            told += words.after.format(examinations=self._marks.item.join(names))
        if measure.within is None:
            return told
        hours = measure.within / 60
        return told + (
            words.within_hours.format(n=hours) if hours >= 2 else words.within.format(minutes=measure.within)
        )

    def _drug(self, one: Prescription) -> str:
        words, route = self._words, self._words.routes[one.route]
        name = self._knowledge.drugs[one.drug].name.get(self._language)
        # Some drugs are named with their route, as their codes differ by it.
        route = "" if name.casefold().endswith(route) or route in name else route
        blank = " " if route and self._language == "en" else ""
        told = words.drug.format(drug=f"{name}{blank}{route}", dose=one.dose.get(self._language))
        return told + self._when(one.when)

    def _when(self, when: DueWhen | None) -> str:
        if when is None:
            return ""
        words, told = self._words, []
        if when.age_at_least is not None:
            told.append(words.age_at_least.format(age=when.age_at_least))
        if when.age_below is not None:
            told.append(words.age_below.format(age=when.age_below))
        if when.sex is not None:
            told.append(words.sexes[when.sex])
        if when.pregnant is not None:
            told.append(words.pregnant if when.pregnant else words.not_pregnant)
        if when.days_at_most is not None:
            told.append(words.days_at_most.format(days=self._days(when.days_at_most)))
        if when.finding is not None:
            told.append(self._condition(when.finding))
        return words.when.format(conditions=words.and_.join(told))

    def _around(self) -> Iterator[tuple[str, str]]:
        d, words, language, marks = self._disease, self._words, self._language, self._marks
        yield words.complications, marks.semicolon.join(d.complications.get(language)) or words.none_stated
        alike = [self._knowledge.diseases[id].name.get(language) for id in d.differential]
        yield words.differential, marks.semicolon.join(alike) or words.none_stated
        if also := d.also_consider.get(language):
            yield words.also_consider, marks.semicolon.join(also)
        yield words.prevention, marks.semicolon.join(d.prevention.get(language)) or words.none_stated
        courses = [
            words.days.format(
                kind=name,
                first=course.days[0],
                last=course.days[1],
                worse=" / ".join(_percent(share) for share in course.worsening),
            )
            for kind, name in words.courses.items()
            for course in (getattr(d.course, kind),)
        ]
        yield words.course, "\n".join(courses)


def _unit(item: Item) -> str:
    unit = printed_unit(item.unit)
    return f" {unit}" if unit else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else "< 1 %"


def _spread(item: Item, distribution: Distribution) -> str:
    """Returns the middle of a number, and between what two of three patients lie."""
    centre, spread = distribution
    assert isinstance(centre, float) and isinstance(spread, float)  # noqa: S101
    ends = (centre / spread, centre * spread) if item.lognormal else (centre - spread, centre + spread)
    if item.limits is not None:
        ends = max(ends[0], item.limits[0]), min(ends[1], item.limits[1])
    middle, low, high = (f"{x:.{item.decimals}f}" for x in (centre, *ends))
    return f"{middle} ({low}–{high})"


_NEAR = 5  # names that are offered in place of one that nothing has


def show(
    disease: Annotated[
        str,
        Parameter(metavar="DISEASE", help="A disease by id, by name or synonym in either language, or by ICD-10 code."),
    ],
    /,
    *,
    language: Annotated[Language, Parameter(help="Language of the page.")] = "en",
    json: Json = False,
) -> None:
    """Prints a disease as a page."""
    knowledge = read_knowledge()
    found = disease_meant(disease, knowledge)
    if json:
        print_json(msgspec.to_builtins(found))
    else:
        DiseasePage(found, knowledge, language).show(console())


def disease_meant(text: str, knowledge: Knowledge) -> Disease:
    """Returns the disease that an id, a name in either language or an ICD-10 code means.

    Raises:
        BadInput: none, or several; says which are near.
    """
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
    near = list(dict.fromkeys(_near(wanted, knowledge)))[:_NEAR]
    offered = f"near are: {', '.join(near)}" if near else "polyclinic knowledge show takes an id, a name or a code"
    raise BadInput(f"no disease {text!r}; {offered}")


def _near(wanted: str, knowledge: Knowledge) -> Iterator[str]:
    """Yields the ids of diseases one of whose names holds, or is like, what is wanted."""
    names = {name.casefold(): d.id for d in knowledge.diseases.values() for name in (d.id, *d.names())}
    beginnings = (id for name, id in names.items() if any(word.startswith(wanted) for word in name.split()))
    if len(wanted) > 1:
        yield from beginnings
        yield from (id for name, id in names.items() if wanted in name)
    yield from (names[name] for name in get_close_matches(wanted, names, n=_NEAR, cutoff=0.5))
    words = {word for word in wanted.split() if len(word) > 3}
    yield from (id for name, id in names.items() if words.intersection(name.split()))


def check(
    *,
    n: Annotated[int, between(1, 1_000_000), Parameter(name="--n", help="Number of patients.")] = 2000,
    diseases: Annotated[
        str,
        Parameter(metavar="NAMES", help="'all', or departments, disease names or ICD-10 codes, separated by commas."),
    ] = "all",
    seed: Annotated[Seed, Parameter(help="Random seed of the patients.")] = 0,
    json: Json = False,
) -> int:
    """Prints what every check tried and what failed; the exit code is 1 where one fails."""
    whole = read_knowledge()
    with progress("checking", n, quiet=json) as advance:
        checked = check_all(whole.select(diseases), n=n, seed=seed, whole=whole, advance=advance)
    if json:
        print_json(msgspec.to_builtins(checked))
    else:
        _show(console(), checked)
    return int(bool(checked.failing))


def _show(screen: Console, checked: KnowledgeChecked) -> None:
    shown = table(None, ("check", "", "tried", "failed"), right=("tried", "failed"))
    for name, tally in checked.checks.items():
        sign = Text("✗", style="red") if tally.failed else Text("✓", style="green") if tally.tried else Text("–")
        shown.add_row(Text(name), sign, str(tally.tried), str(tally.failed))
    screen.print(shown)
    for name in checked.failing:
        tally = checked.checks[name]
        screen.print(Text(f"\n{name}: {tally.failed} of {tally.tried}", style="bold"))
        for example in tally.examples:
            screen.print(Text(f"  {plain(example)}"), soft_wrap=True)
    failing = len(checked.failing)
    outcome = f"{failing} of {counted(len(checked.checks), 'check')} failed" if failing else "every check holds"
    screen.print(Text(f"\n{counted(checked.patients, 'patient')}: {outcome}", style="bold"))
