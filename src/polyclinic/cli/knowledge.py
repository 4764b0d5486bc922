"""`polyclinic knowledge`: a disease as a page, and the checks of the knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyclinic.cases.record import printed_unit
from polyclinic.cli.chart import WORDS, print_section
from polyclinic.errors import BadInput
from polyclinic.generation.checks import KnowledgeChecked, check_all
from polyclinic.knowledge.ages import AGE_BANDS
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Disease, Distribution, Examination, Item
from polyclinic.knowledge.knowledge import Knowledge, ancestors, plan_vocabulary, read_knowledge
from polyclinic.knowledge.lexicon import say_days
from polyclinic.knowledge.plan_words import MeasureWords
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.run.options import Json, Seed, between
from polyclinic.terminal.screen import console, plain, print_json, progress
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
        d, words, marks, language = self._disease, self._words, self._marks, self._language
        severities = [words["severities"][severity] for severity in SEVERITIES]
        other: Language = "zh" if language == "en" else "en"
        title = f"{d.name.get(language)} ({d.name.get(other)}) · {d.id}"
        screen.rule(Text(plain(title), style="bold"), align="left", style="dim")
        for name, told in self._about():
            print_section(screen, words[name], told or words["none_stated"])
        _print_table(screen, words["symptoms"], self._symptoms(), [*severities, words["usual"]])
        screen.print(Text(words["symptoms_note"], style="dim"))
        _print_table(screen, words["findings"], self._findings(), severities)
        screen.print(Text(words["findings_note"], style="dim"))
        screen.print(Text.assemble("\n", (words["examinations"], "bold"), (f"  {words['priced_note']}", "dim")))
        for name in ("needed", "helpful", "not_indicated"):
            priced = [self._priced(self._knowledge.examinations[id]) for id in getattr(d.indicated, name)]
            print_section(screen, f"  {words[name]}", marks.semicolon.join(priced) or words["none_stated"])
        screen.print(Text.assemble("\n", (words["plans"], "bold")))
        for severity, name in zip(SEVERITIES, severities, strict=True):
            plan = d.plan(severity)
            screen.print(Text(f"  {name}{marks.comma}{words['dispositions'][plan.disposition]}", style="italic"))
            for number, line in enumerate(plan.get(language), start=1):
                row = Table.grid(padding=(0, 1, 0, 0))
                row.add_column(justify="right", min_width=6)
                row.add_column(overflow="fold")
                row.add_row(f"{number}.", Text(plain(line)))
                screen.print(row)
        screen.print()
        for name, told in self._around():
            print_section(screen, words[name], told or words["none_stated"])

    def _about(self) -> Iterator[tuple[str, str]]:
        d, words, marks, language = self._disease, self._words, self._marks, self._language
        by_severity = [
            words["code_of"].format(code=code, severity=words["severities"][severity])
            for severity, code in d.severity_icd10.items()
        ]
        ages = [
            words["age"].format(band=band, share=f"{100 * share:.0f}")
            for band, share in d.epidemiology.age.items()
            if share >= 0.005 and band in AGE_BANDS
        ]
        most = max(d.epidemiology.season.values())
        seasons = [words["seasons"][name] for name, share in d.epidemiology.season.items() if share > 0.99 * most]
        days = d.duration[0]
        person = words["person"].format(
            female=f"{100 * d.epidemiology.female:.0f}",
            ages=marks.item.join(ages),
            days=words["hours"].format(n=round(24 * days, 1)) if days < 1 else say_days(days, language),
            seasons=marks.item.join(seasons),
        )
        say = MeasureWords(plan_vocabulary(self._knowledge), language)
        stages = [(words["every"], d.criteria.every)]
        stages += [(words["severities"][severity], getattr(d.criteria, severity)) for severity in SEVERITIES]
        told = [f"{name}{marks.colon}{say.criterion(criterion)}" for name, criterion in stages if criterion is not None]
        yield "synonyms", marks.item.join(d.synonyms.get(language))
        yield "codes", marks.semicolon.join([d.icd10, *by_severity])
        yield "department", self._knowledge.departments[d.department].name.get(language)
        yield "people", person
        yield "definition", f"{d.criteria.says.get(language)}\n{words['source']}{marks.colon}{d.criteria.source}"
        yield "conditions", "\n".join(told)

    def _around(self) -> Iterator[tuple[str, str]]:
        d, words, language = self._disease, self._words, self._language
        semicolon = self._marks.semicolon
        yield "complications", semicolon.join(d.complications.get(language))
        yield "differential", semicolon.join(self._knowledge.diseases[id].name.get(language) for id in d.differential)
        if also := d.also_consider.get(language):
            yield "also_consider", semicolon.join(also)
        yield "prevention", semicolon.join(d.prevention.get(language))
        courses = []
        for kind, name in words["courses"].items():
            course = getattr(d.course, kind)
            worse = " / ".join(_percent(share) for share in course.worsening)
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

    def _priced(self, examination: Examination) -> str:
        words, told = self._words, [f"{examination.cost:g}"]
        if examination.sex is not None:
            told.append(words["alone"][examination.sex])
        if examination.ages is not None:
            first, last = examination.ages
            told.append(words["years" if last < _OLDEST else "from_year"].format(first=first, last=last))
        return str(words["priced"].format(name=examination.name.get(self._language), told=self._marks.comma.join(told)))


def _print_table(screen: Console, title: str, rows: Iterable[Sequence[str]], columns: Sequence[str]) -> None:
    """Prints rows whose first cell is indented by blanks; a row of that cell alone at the margin is a heading."""
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(overflow="fold")
    for _ in columns:
        shown.add_column(justify="right", no_wrap=True)
    shown.add_row(Text(title, style="bold"), *(Text(name, style="dim") for name in columns))
    for first, *cells in rows:
        name = first.lstrip(" ")
        depth = len(first) - len(name)
        style = "" if cells or depth else "italic"
        shown.add_row(Padding(Text(plain(name), style=style), (0, 0, 0, depth)), *cells)
    screen.print()
    screen.print(shown)


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
    if json:
        print_json(msgspec.to_builtins(found))
    else:
        DiseasePage(found, knowledge, language).show(console())


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
