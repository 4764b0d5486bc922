"""Compares the diseases that a doctor names with those of the reference, as sets of ICD-10 codes (ai-hospital §3.2).

The names are read out of a report (`disease_names`) or come typed, and are linked to codes (`icd_linking`). The paper
reports one precision, recall and F1, of which the last is the harmonic mean of the first two (58.97, 38.90, 46.88), so
they are pooled over the cases and not means of them; here the pooled ones are the metrics and the means stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from polyclinic.cases.report import Diagnosis
from polyclinic.metrics.icd.linking import Linker
from polyclinic.metrics.icd.tables import category
from polyclinic.statistics.uncertainty import RESAMPLES, Estimate, estimate, ratio

METRICS = (
    "number",
    "precision",
    "recall",
    "f1",
    "category_precision",
    "category_recall",
    "category_f1",
    "category_number",
)

Sets = Sequence[tuple[frozenset[str], frozenset[str]]]


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

    Attributes:
        metrics: pooled over the cases, in percent, by whole code and by category; `number` is how many disease names a
            report holds (the paper's #), `category_number` how many categories they come to.
        per_case: the same six shares as means over the cases.
        reference_number: names in a reference.
        cases: the codes, case by case.
        names: different names that were linked or not, on either side.
        unlinked: those of them with no title similar enough.
        tied: those of them whose title fits further codes as well; the first one was taken.
        tied_categories: those of them for which the further codes are of other categories too.
        without_names: reports in which no disease is named; they count, with an empty set.
    """

    metrics: dict[str, Estimate]
    per_case: dict[str, Estimate]
    reference_number: Estimate
    cases: tuple[IcdCase, ...]
    names: int
    unlinked: int
    tied: int
    tied_categories: int
    without_names: int


def named(names: Iterable[str]) -> tuple[Diagnosis, ...]:
    """Returns names as diagnoses without codes."""
    return tuple(Diagnosis(name=name) for name in names)


def score_names(
    pairs: Sequence[NamedPair],
    linker: Linker,
    *,
    known_codes: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> IcdSummary:
    """Links the names of every case and compares the sets of codes.

    Codes that a diagnosis already has are not used unless asked for: most doctors write none, those of the reference
    come from another edition of ICD-10 than the table, and the paper goes by name on both sides.

    Args:
        pairs: one a report.
        linker: links names, such as `Titles(entries).link_all`.
        known_codes: take a diagnosis' own code where it has one.
        resamples: of the bootstrap, by case.
        seed: of the bootstrap.
    """
    links = linker([d.name for pair in pairs for d in (*pair.given, *pair.reference)])

    def codes(diagnoses: Iterable[Diagnosis]) -> frozenset[str]:
        found: set[str] = set()
        for diagnosis in diagnoses:
            if known_codes and diagnosis.icd10:
                found.add(diagnosis.icd10)
            else:
                found |= {link.code for link in links[diagnosis.name] if link.code is not None}
        return frozenset(found)

    def count(diagnoses: Iterable[Diagnosis]) -> int:
        return len({link.name for diagnosis in diagnoses for link in links[diagnosis.name]})

    whole = [(codes(pair.given), codes(pair.reference)) for pair in pairs]
    categories = [(frozenset(map(category, g)), frozenset(map(category, r))) for g, r in whole]
    ids = [pair.id for pair in pairs]

    def mean(values: Sequence[float]) -> Estimate:
        return estimate(values, clusters=ids, resamples=resamples, seed=seed)

    def pooled(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
        percent = [100 * value for value in numerators]
        return ratio(percent, denominators, clusters=ids, resamples=resamples, seed=seed)

    numbers = [count(pair.given) for pair in pairs]
    metrics = {"number": mean(numbers), **_pooled(whole, "", pooled), **_pooled(categories, "category_", pooled)}
    metrics["category_number"] = mean([len(given) for given, _ in categories])
    single = {link.name: link for found in links.values() for link in found}
    return IcdSummary(
        metrics={name: metrics[name] for name in METRICS},
        per_case={**_per_case(whole, "", mean), **_per_case(categories, "category_", mean)},
        reference_number=mean([count(pair.reference) for pair in pairs]),
        cases=tuple(
            IcdCase(id=id, given=tuple(sorted(given)), reference=tuple(sorted(reference)))
            for id, (given, reference) in zip(ids, whole, strict=True)
        ),
        names=len(single),
        unlinked=sum(link.code is None for link in single.values()),
        tied=sum(link.ties > 0 for link in single.values()),
        tied_categories=sum(link.other_categories for link in single.values()),
        without_names=numbers.count(0),
    )


def _pooled(
    sets: Sets, prefix: str, pooled: Callable[[Sequence[float], Sequence[float]], Estimate]
) -> dict[str, Estimate]:
    shared = [len(given & reference) for given, reference in sets]
    given, reference = [len(given) for given, _ in sets], [len(reference) for _, reference in sets]
    both = [g + r for g, r in zip(given, reference, strict=True)]
    return {
        f"{prefix}precision": pooled(shared, given),
        f"{prefix}recall": pooled(shared, reference),
        f"{prefix}f1": pooled([2 * s for s in shared], both),
    }


def _per_case(sets: Sets, prefix: str, mean: Callable[[Sequence[float]], Estimate]) -> dict[str, Estimate]:
    """Returns the means; two empty sets agree wholly, an empty one and another not at all."""
    shared = [len(given & reference) for given, reference in sets]
    shares: dict[str, list[float]] = {
        "precision": [len(given) for given, _ in sets],
        "recall": [len(reference) for _, reference in sets],
        "f1": [(len(given) + len(reference)) / 2 for given, reference in sets],
    }
    return {
        f"{prefix}{name}": mean(
            [
                100 * s / whole if whole else 100.0 * (given == reference)
                for s, whole, (given, reference) in zip(shared, wholes, sets, strict=True)
            ]
        )
        for name, wholes in shares.items()
    }
