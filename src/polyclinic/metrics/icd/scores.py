"""Compares the diseases that a doctor names with those of the reference, as sets of ICD-10 codes (ai-hospital §3.2).

Names are read from a report (`disease_names`) or come typed, and are linked to codes (`linking`). The paper's F1 is the
harmonic mean of its precision and recall (58.97, 38.90, 46.88), so they are pooled over the cases; means over the cases
are reported, too.

Links with the nearest titles (`nearest`) are compared as the paper's authors do: a doctor's name is right if it shares
a title with a name of the reference that is not matched yet, and a side without names counts as one unmatched name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.report import Diagnosis
from polyclinic.errors import BadInput
from polyclinic.events import Convened, End, Ended, Opened, Reported, Revealed, Trace
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.dialogue import LeftOut, unusable_answer
from polyclinic.metrics.disease_names import split_names
from polyclinic.metrics.icd.linking import Link, Linker, category
from polyclinic.metrics.recorded_reports import Sections, is_ours, read_recorded
from polyclinic.statistics.uncertainty import Estimate, estimate, ratio

METRICS = tuple("number precision recall f1 category_precision category_recall category_f1 category_number".split())


class NamedPair(msgspec.Struct, frozen=True, kw_only=True):
    """What a doctor and the reference name on one case; repetitions of a case have one id."""

    id: str
    given: tuple[Diagnosis, ...]
    reference: tuple[Diagnosis, ...]


class IcdCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case's codes, sorted."""

    id: str
    given: tuple[str, ...]
    reference: tuple[str, ...]


class IcdSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How a doctor's codes agree with the reference's.

    `number` counts the disease names of a report that names any (the paper's #; by nearest titles a report that names
    none counts one), `category_number` the categories of every report.
    """

    metrics: dict[str, Estimate]  # pooled over the cases, in percent, by whole code and by category
    per_case: dict[str, Estimate]  # the same six shares as means over the cases
    reference_number: Estimate
    cases: tuple[IcdCase, ...]
    names: int  # different names that were linked or not, on either side
    unlinked: int  # those of them with no title similar enough
    tied: int  # those of them whose title fits further codes as well; the first one was taken
    tied_categories: int  # those of them for which the further codes are of other categories too
    without_names: int  # reports in which no disease is named; they count, with an empty set


def named(names: Iterable[str]) -> tuple[Diagnosis, ...]:
    """Returns names as diagnoses without codes."""
    return tuple(Diagnosis(name=name) for name in names)


def texts_of(pairs: Iterable[NamedPair]) -> list[str]:
    """Returns the text of both sides of every pair: the names of diagnoses, a line each, or a text in their place."""
    return ["\n".join(one.name for one in side) for pair in pairs for side in (pair.given, pair.reference)]


def with_names(pair: NamedPair, names: Mapping[str, tuple[str, ...]]) -> NamedPair:
    """Returns a pair with the names that were read out of the texts of its sides."""
    given, reference = (named(names.get(text, ())) for text in texts_of([pair]))
    return NamedPair(id=pair.id, given=given, reference=reference)


def score_names(pairs: Sequence[NamedPair], linker: Linker, *, seed: int = 0) -> IcdSummary:
    """Links the names of every case and compares the sets of codes.

    Codes that a diagnosis already has are not used: most doctors write none, those of the reference come from another
    edition of ICD-10 than the table, and the paper goes by name on both sides.
    """
    links = linker([d.name for pair in pairs for d in (*pair.given, *pair.reference)])

    def codes(diagnoses: Iterable[Diagnosis]) -> tuple[str, ...]:
        found = (link.code for diagnosis in diagnoses for link in links[diagnosis.name])
        return tuple(sorted({code for code in found if code is not None}))

    def count(diagnoses: Iterable[Diagnosis]) -> int:
        return len({link.name for diagnosis in diagnoses for link in links[diagnosis.name]})

    def mean(values: Sequence[float]) -> Estimate:
        return estimate(values, clusters=[pair.id for pair in pairs], seed=seed)

    def pooled(parts: Sequence[float], wholes: Sequence[float]) -> Estimate:
        return ratio([100 * part for part in parts], wholes, clusters=[pair.id for pair in pairs], seed=seed)

    cases = [IcdCase(id=pair.id, given=codes(pair.given), reference=codes(pair.reference)) for pair in pairs]
    by_code = [_by_codes(one.given, one.reference) for one in cases]
    by_category = [_by_codes(map(category, one.given), map(category, one.reference)) for one in cases]
    numbers = [count(pair.given) for pair in pairs]
    if any(one.nearest is not None for found in links.values() for one in found):
        by_code = [_by_nearest(pair, links) for pair in pairs]
        numbers = [one.given for one in by_code]
    naming = [(pair.id, number) for pair, number in zip(pairs, numbers, strict=True) if number or not any(numbers)]
    number = estimate([n for _, n in naming], clusters=[id for id, _ in naming], seed=seed)
    metrics = {"number": number, "category_number": mean([one.given for one in by_category])}
    per_case = {}
    for prefix, matched in (("", by_code), ("category_", by_category)):
        wholes: dict[str, Sequence[float]] = {
            "precision": [one.given for one in matched],
            "recall": [one.reference for one in matched],
            "f1": [(one.given + one.reference) / 2 for one in matched],
        }
        for name, whole in wholes.items():
            metrics[prefix + name] = pooled([one.matched for one in matched], whole)
            shares = [
                # Two empty sets agree wholly.
                one.matched / n if n else float(one.given == one.reference)
                for one, n in zip(matched, whole, strict=True)
            ]
            per_case[prefix + name] = mean([100 * share for share in shares])
    single = {link.name: link for found in links.values() for link in found}
    return IcdSummary(
        metrics={name: metrics[name] for name in METRICS},
        per_case=per_case,
        reference_number=mean([count(pair.reference) for pair in pairs]),
        cases=tuple(cases),
        names=len(single),
        unlinked=sum(link.code is None for link in single.values()),
        tied=sum(link.ties > 0 for link in single.values()),
        tied_categories=sum(link.other_categories for link in single.values()),
        without_names=sum(count(pair.given) == 0 for pair in pairs),
    )


class _Matched(NamedTuple):
    """How many names or codes of a case's sides match, and how many each side has."""

    matched: int
    given: int
    reference: int


def _by_codes(given: Iterable[str], reference: Iterable[str]) -> _Matched:
    ours, theirs = set(given), set(reference)
    return _Matched(len(ours & theirs), len(ours), len(theirs))


def _by_nearest(pair: NamedPair, links: Mapping[str, Sequence[Link]]) -> _Matched:
    """Matches the names of both sides, in their order, each with one at most."""

    def titles(diagnoses: Iterable[Diagnosis]) -> list[frozenset[str]]:
        found = {one.name: one.nearest or frozenset() for diagnosis in diagnoses for one in links[diagnosis.name]}
        return list(found.values()) or [frozenset()]

    given, left = titles(pair.given), titles(pair.reference)
    reference = len(left)
    for one in given:
        other = next((other for other in left if one & other), None)
        if other is not None:
            left.remove(other)
    return _Matched(reference - len(left), len(given), reference)


class NamedReports(msgspec.Struct, frozen=True, kw_only=True):
    """The reports of a file, as names of diseases; the unreadable ones among them count as naming nothing."""

    layout: Literal["polyclinic", "ai-hospital"]
    language: Language
    pairs: tuple[NamedPair, ...]
    unreadable: int = 0
    left_out: tuple[LeftOut, ...] = ()


def read_named_reports(
    path: Path,
    *,
    references: Mapping[str, Sections] | None = None,
    split: Callable[[str], tuple[str, ...]] = split_names,
) -> NamedReports:
    """Reads the reports of a file, traces of ours or of ai-hospital.

    `split` reads names out of free text; typed ones are taken as they are. The `references` are of recorded reports
    that stand without, by case.
    """
    if is_ours(path, "event"):
        return _from_traces(path)
    reports, without = read_recorded(path, references)
    chinese = sum(is_chinese(report.reference.diagnosis) for report in reports)
    return NamedReports(
        layout="ai-hospital",
        language="zh" if 2 * chinese >= len(reports) else "en",
        pairs=tuple(
            NamedPair(
                id=report.id,
                given=named(split(report.given.diagnosis)),
                reference=named(split(report.reference.diagnosis)),
            )
            for report in reports
        ),
        left_out=tuple(LeftOut(id, "there is no reference of this case", failed=False) for id in without),
    )


def whole_text(text: str) -> tuple[str, ...]:
    """Returns a text as it is, in the place of the names in it, for who reads them out later; nothing of no text."""
    return (text,) if text.strip() else ()


def _from_traces(path: Path) -> NamedReports:
    pairs: list[NamedPair] = []
    left_out: list[LeftOut] = []
    languages: dict[Language, str] = {}
    unreadable = 0
    for trace in Trace.read(path):
        begin, ended, revealed = trace[0], trace.last(Ended), trace.last(Revealed)
        if not isinstance(begin, Opened | Convened) or (isinstance(begin, Opened) and begin.doctor):
            continue  # a doctor of a team has no report of its own: what the team hands in is scored
        reported = trace.last(Reported)
        if ended is None or revealed is None:
            left_out.append(LeftOut(begin.case, "the trace breaks off before the end of the visit", failed=True))
            continue
        if ended.reason is End.FAILED and reported is None:
            if unusable_answer(trace) is None:
                left_out.append(LeftOut(begin.case, "the visit failed, and not by the doctor's answer", failed=True))
                continue
            unreadable += 1
        given = reported.report.diagnoses if reported is not None else ()
        languages.setdefault(begin.presentation.language, begin.case)
        pairs.append(NamedPair(id=begin.case, given=given, reference=revealed.diagnoses))
    if not pairs:
        raise BadInput(f"none of the {len(left_out)} visits can be scored", path=path)
    if len(languages) > 1:
        told = " and ".join(f"{language} ({case})" for language, case in languages.items())
        raise BadInput(f"cases in two languages, {told}, need two tables; score them in files of their own", path=path)
    return NamedReports(
        layout="polyclinic",
        language=next(iter(languages)),
        pairs=tuple(pairs),
        unreadable=unreadable,
        left_out=tuple(left_out),
    )
