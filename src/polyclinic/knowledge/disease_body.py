"""What a disease makes of the body, linked: its quantities, its symptoms' shares, and the ways to meet its criteria.

The disease files write numbers by examination. Here they become quantities; and what symptoms and panels make of these
is written back as marginal distributions, for all who look at one symptom or item at a time.

Criteria such as "three of four" tie quantities together. So what they leave open is taken apart into variants, each of
which decides every condition that matters: one quantity lies in this interval, that one in that state, a symptom is
there. Variants exclude one another, and together they are all that the criteria allow. Drawing one by its weight, and
then each quantity by itself, draws exactly from the patients who meet them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.knowledge.body import BodyRules, PanelReading, SymptomReading, along
from polyclinic.knowledge.data import SEVERITIES, Severity, Share
from polyclinic.knowledge.entries import AtSeverities, Criterion, Disease, Distribution, Examination, Item, Symptom

Interval = tuple[float, float]
"""From (included) to (excluded)."""

_MOST = 400  # variants; more is a criterion that nobody can read either


class Variant(NamedTuple):
    """What one way of meeting the criteria fixes."""

    weight: float = 1.0  # the share of the patients, before the criteria, that are so
    numbers: Mapping[str, Interval] = {}  # the interval that a number lies in, by quantity
    states: Mapping[str, frozenset[str]] = {}  # the states that a text can be in, by quantity
    symptoms: Mapping[str, bool] = {}  # whether a symptom is there


_Cell = Interval | frozenset[str] | bool


def variants(
    criteria: Sequence[Criterion],
    items: Mapping[str, Item],
    distribution: Callable[[Item], Distribution],
    share: Callable[[str], float],
) -> tuple[Variant, ...]:
    """Returns the variants of a disease at a severity; one that fixes nothing where there are no criteria."""
    if not criteria:
        return (Variant(),)
    whole = Criterion(all=tuple(criteria))
    names = dict.fromkeys(leaf.quantity or leaf.symptom for leaf in whole.leaves())
    cells: dict[str, list[tuple[_Cell, float]]] = {}
    for name in names:
        found = _cells(name, whole, items)
        cells[name] = [
            (cell, (share(name) if cell else 1 - share(name)))
            if isinstance(cell, bool)
            else (cell, _chance(items[name], distribution(items[name]), cell))
            for cell in found
        ]

    def met(fixed: dict[str, _Cell], weight: float) -> Iterator[tuple[float, dict[str, _Cell]]]:
        """Yields every way to meet the criteria that goes on from what is fixed, with its share."""
        holds = meets(whole, items, fixed)
        if holds is False or weight <= 0:
            return
        if holds:
            yield weight, fixed
            return
        part = whole
        while part.parts():
            part = next(one for one in part.parts() if meets(one, items, fixed) is None)
        name = part.quantity or part.symptom
        for cell, chance in cells[name]:
            yield from met({**fixed, name: cell}, weight * chance)

    ways = list(met({}, 1.0))
    if not ways:
        raise ValueError("no patient can meet the criteria")
    if len(ways) > _MOST:
        raise ValueError(f"the criteria can be met in {len(ways)} ways; at most {_MOST}")
    return tuple(
        Variant(
            weight,
            numbers={name: cell for name, cell in fixed.items() if isinstance(cell, tuple)},
            states={name: cell for name, cell in fixed.items() if isinstance(cell, frozenset)},
            symptoms={name: cell for name, cell in fixed.items() if isinstance(cell, bool)},
        )
        for weight, fixed in ways
    )


def meets(criterion: Criterion, items: Mapping[str, Item], values: Mapping[str, float | str | _Cell]) -> bool | None:
    """Returns whether somebody meets a criterion, by quantities (as an adult's) and symptoms; None where unknown.

    Of a quantity it may be known in which interval, or among which states, it is.
    """
    if criterion.parts():
        return _counted(criterion, [meets(part, items, values) for part in criterion.parts()])
    value = values.get(criterion.quantity or criterion.symptom)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value in criterion.one_of
    if isinstance(value, frozenset):
        return value <= set(criterion.one_of)
    low, high = interval_of(criterion, items[criterion.quantity])
    if isinstance(value, tuple):
        return low <= value[0] and value[1] <= high
    return low <= value < high


def _counted(criterion: Criterion, states: Sequence[bool | None]) -> bool | None:
    """Returns whether a criterion of several parts holds."""
    if criterion.at_most is not None:
        if states.count(True) > criterion.at_most:
            return False
        return True if states.count(True) + states.count(None) <= criterion.at_most else None
    needed = len(states) if criterion.all else 1 if criterion.any else criterion.count or 0
    if states.count(True) >= needed:
        return True
    return False if states.count(True) + states.count(None) < needed else None


def interval_of(leaf: Criterion, item: Item) -> Interval:
    """Returns the values of a number that meet a plain condition, as they are before they are rounded."""
    step = 10.0**-item.decimals
    low, high = leaf.at_least, leaf.below
    if leaf.abnormal == "low":
        high = item.low
    elif leaf.abnormal == "high":
        low = None if item.high is None else item.high + step
    return (
        -math.inf if low is None else low - step / 2,
        math.inf if high is None else high - step / 2,
    )


def _cells(name: str, whole: Criterion, items: Mapping[str, Item]) -> list[_Cell]:
    leaves = [leaf for leaf in whole.leaves() if name in (leaf.quantity, leaf.symptom)]
    if leaves[0].symptom:
        return [True, False]
    item = items[name]
    if item.numeric:
        ends = sorted({end for leaf in leaves for end in interval_of(leaf, item) if math.isfinite(end)})
        edges = [-math.inf, *ends, math.inf]
        return list(itertools.pairwise(edges))
    alike: dict[tuple[bool, ...], set[str]] = {}
    for state in item.values:
        alike.setdefault(tuple(state in leaf.one_of for leaf in leaves), set()).add(state)
    return [frozenset(states) for states in alike.values()]


def _chance(item: Item, distribution: Distribution, cell: Interval | frozenset[str]) -> float:
    """Returns the share of a quantity's distribution that lies in an interval, or in some states."""
    if isinstance(distribution, dict):
        return math.fsum(distribution.get(str(state), 0.0) for state in cell)  # whatever the order of the set
    low, high = (below(item, distribution, float(end)) for end in cell)
    return high - low


def below(item: Item, distribution: Distribution, value: float) -> float:
    """Returns the share of a number's distribution that lies below a value."""
    if math.isinf(value):
        return 0.0 if value < 0 else 1.0
    centre, spread = distribution
    assert isinstance(centre, float) and isinstance(spread, float)  # noqa: S101
    if item.lognormal:
        if value <= 0:
            return 0.0
        z = math.log(value / centre) / math.log(spread)
    else:
        z = (value - centre) / spread
    return 0.5 * math.erfc(-z / math.sqrt(2))


_PULSE_SHARE_SPREAD = 0.03
_SILENT_OF_LEADING = 0.62  # of what a disease leads with as a share of those who keep silent about other symptoms
_SILENT_IN_DANGER = 0.15  # the same where a disease is time-critical
_WHOLE: Interval = (-math.inf, math.inf)


class DiseaseBody(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a disease makes of the body.

    Attributes:
        quantities: distributions before the criteria, by quantity and severity; the rest are usual.
        shares: of the symptoms that it names, given their parents, as they are told, by severity.
    """

    quantities: dict[str, dict[Severity, Distribution]]
    shares: dict[str, tuple[Share, Share, Share]]
    ways: dict[Severity, tuple[Variant, ...]]  # the variants of its criteria by severity, their weights summing to 1

    def distribution(self, item: Item, severity: Severity) -> Distribution:
        """Returns the distribution of a quantity."""
        by_severity = self.quantities.get(item.id)
        return item.usual if by_severity is None else by_severity[severity]

    def share(self, disease: Disease, symptom: Symptom, severity: Severity) -> float:
        """Returns the share of a symptom that follows from no quantity, given its parent."""
        shares = self.shares.get(symptom.id)
        return disease.unnamed(symptom) if shares is None else shares[SEVERITIES.index(severity)]


def _told(disease: Disease, symptoms: Mapping[str, Symptom], told: float) -> dict[str, tuple[Share, Share, Share]]:
    """Returns how often patients tell of the symptoms that a disease names, by severity.

    What the disease leads with, most of them come for: three fifths as many keep silent about it, and hardly anybody
    where minutes or hours decide.
    """
    felt = [id for id in disease.symptoms if symptoms[id].section == "symptoms"]
    silent = _SILENT_IN_DANGER if disease.time_critical else _SILENT_OF_LEADING
    first = [id for id in felt if symptoms[id].complaint and symptoms[id].parent is None]
    leading = max(first, key=lambda id: sum(disease.symptoms[id]), default="")
    of_each = {id: 1 - silent * (1 - told) if id == leading else told if id in felt else 1.0 for id in disease.symptoms}
    return {id: (of_each[id] * a, of_each[id] * b, of_each[id] * c) for id, (a, b, c) in disease.symptoms.items()}


def link_body(
    disease: Disease, items: Mapping[str, Item], symptoms: Mapping[str, Symptom], body: BodyRules
) -> DiseaseBody:
    """Returns what a disease makes of the body."""
    named = {item: by for items_of in disease.findings.values() for item, by in items_of.items()} | disease.body
    for id in named:
        if id in body.items:
            problem = f"{id} follows from {body.items[id].of}; name that"
            raise BadInput(problem, field=f"$.findings.*.{id}")
    for id in disease.symptoms:
        if id in body.symptoms:
            problem = f"the symptom {id} follows from {body.symptoms[id].of}; name that under findings"
            raise BadInput(problem, field=f"$.symptoms.{id}")
    quantities: dict[str, dict[Severity, Distribution]] = {}
    for id, by in named.items():
        if id not in body.derived:
            quantities[id] = {severity: by["all"] if "all" in by else by[severity] for severity in SEVERITIES}
    for id, shown in body.shown_as.items():
        for severity, shares in quantities.get(id, {}).items():
            assert isinstance(shares, dict)  # noqa: S101
            merged = shares.get(shown.state, 0.0) + shares.get(shown.as_, 0.0)
            quantities[id][severity] = shares | {shown.state: merged, shown.as_: 0.0}
    if "diastolic" in named and "systolic" in quantities:
        quantities["pulse_share"] = {
            severity: _pulse_share(quantities["systolic"][severity], named["diastolic"], severity)
            for severity in SEVERITIES
        }
    linked = DiseaseBody(quantities=quantities, shares=_told(disease, symptoms, body.told), ways={})
    return msgspec.structs.replace(
        linked,
        ways={
            severity: _ways(disease, linked, severity, items=items, symptoms=symptoms, body=body)
            for severity in SEVERITIES
        },
    )


def _pulse_share(systolic: Distribution, diastolic: AtSeverities, severity: Severity) -> Distribution:
    low = diastolic["all"] if "all" in diastolic else diastolic[severity]
    assert isinstance(systolic, tuple) and isinstance(low, tuple)  # noqa: S101
    return (1 - low[0] / systolic[0], _PULSE_SHARE_SPREAD)


def _ways(
    disease: Disease,
    linked: DiseaseBody,
    severity: Severity,
    *,
    items: Mapping[str, Item],
    symptoms: Mapping[str, Symptom],
    body: BodyRules,
) -> tuple[Variant, ...]:
    criteria = disease.criteria.at(severity)
    for criterion in criteria:
        for leaf in criterion.leaves():
            if leaf.symptom in body.symptoms:
                problem = (
                    f"the symptom {leaf.symptom} follows from {body.symptoms[leaf.symptom].of}; a criterion names that"
                )
                raise BadInput(problem, field="$.criteria")
    try:
        found = variants(
            criteria,
            items,
            lambda item: linked.distribution(item, severity),
            lambda symptom: linked.share(disease, symptoms[symptom], severity),
        )
    except ValueError as problem:
        raise BadInput(f"{severity}: {problem}", field="$.criteria") from None
    total = math.fsum(variant.weight for variant in found)
    return tuple(variant._replace(weight=variant.weight / total) for variant in found)


def marginal(item: Item, distribution: Distribution, ways: tuple[Variant, ...]) -> Distribution:
    """Returns the distribution of a quantity over all the ways; of a number its centre and spread."""
    if not any(item.id in way.numbers or item.id in way.states for way in ways):
        return distribution
    if isinstance(distribution, dict):
        total = dict.fromkeys(distribution, 0.0)
        for way in ways:
            for state, share in restricted(distribution, way.states.get(item.id)).items():
                total[state] += way.weight * share
        return {state: min(share, 1.0) for state, share in total.items()}
    centre, spread = distribution if not item.lognormal else (math.log(distribution[0]), math.log(distribution[1]))
    first = second = 0.0
    for way in ways:
        mean, variance = _truncated(centre, spread, *_standard(item, way.numbers.get(item.id, _WHOLE), centre, spread))
        first += way.weight * mean
        second += way.weight * (variance + mean * mean)
    deviation = math.sqrt(max(second - first * first, 1e-12))
    return (math.exp(first), math.exp(max(deviation, 1e-3))) if item.lognormal else (first, max(deviation, 1e-6))


def restricted(shares: Mapping[str, float], states: frozenset[str] | None) -> dict[str, float]:
    """Returns shares of texts where only some states can be."""
    if states is None:
        return dict(shares)
    total = math.fsum(share for state, share in shares.items() if state in states)
    return {state: share / total if state in states else 0.0 for state, share in shares.items()}


def _standard(item: Item, interval: Interval, centre: float, spread: float) -> Interval:
    def scaled(x: float) -> float:
        if math.isinf(x):
            return x
        if item.lognormal:
            x = math.log(x) if x > 0 else -math.inf
        return (x - centre) / spread

    return scaled(interval[0]), scaled(interval[1])


def _truncated(centre: float, spread: float, a: float, b: float) -> tuple[float, float]:
    """Returns mean and variance of a normal distribution that is cut off at a and b standard deviations."""
    share = _cumulated(b) - _cumulated(a)
    if share <= 1e-12:
        edge = a if math.isfinite(a) else b
        return centre + spread * edge, (0.1 * spread) ** 2
    pa, pb = _density(a), _density(b)
    shift = (pa - pb) / share
    ends = (a * pa if math.isfinite(a) else 0.0) - (b * pb if math.isfinite(b) else 0.0)
    return centre + spread * shift, max(spread * spread * (1 + ends / share - shift * shift), 1e-12)


def _density(z: float) -> float:
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) if math.isfinite(z) else 0.0


def _cumulated(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2)) if math.isfinite(z) else float(z > 0)


def share_of_reading(
    reading: SymptomReading, item: Item, distribution: Distribution, ways: tuple[Variant, ...]
) -> float:
    """Returns the share of a symptom that follows from a quantity."""
    cells = cell_shares(reading.cuts, item, distribution, ways)
    if reading.states:
        return math.fsum(share * reading.at(str(state)) for state, share in cells.items())
    return math.fsum(share * p for share, (_, p) in zip(cells.values(), reading.below, strict=True))


def cell_shares(
    cuts: tuple[float, ...], item: Item, distribution: Distribution, ways: tuple[Variant, ...]
) -> dict[str, float]:
    """Returns the shares of a quantity's states, or, by number, of the cells that the cuts make, over all the ways."""
    if isinstance(distribution, dict):
        shares = marginal(item, distribution, ways)
        assert isinstance(shares, dict)  # noqa: S101
        return dict(shares)
    edges = [-math.inf, *cuts, math.inf]
    total = dict.fromkeys(range(len(edges) - 1), 0.0)
    for way in ways:
        low, high = way.numbers.get(item.id, _WHOLE)
        first, last = (below(item, distribution, end) for end in (low, high))
        for cell, (a, b) in enumerate(itertools.pairwise(edges)):
            inside = min(below(item, distribution, b), last) - max(below(item, distribution, a), first)
            total[cell] += way.weight * max(inside, 0.0) / max(last - first, 1e-12)
    return {str(cell): share for cell, share in total.items()}


def with_marginals(
    disease: Disease,
    linked: DiseaseBody,
    examinations: Mapping[str, Examination],
    items: Mapping[str, Item],
    body: BodyRules,
) -> Disease:
    """Returns a disease whose findings and symptoms hold what follows from its quantities and its criteria as well."""

    def over_ways(item: Item, severity: Severity) -> Distribution:
        return marginal(item, linked.distribution(item, severity), linked.ways[severity])

    findings: dict[str, dict[str, AtSeverities]] = {}
    by: AtSeverities
    fixed = {name for ways in linked.ways.values() for way in ways for name in (*way.numbers, *way.states)}
    changed = linked.quantities.keys() | fixed
    for examination in examinations.values():
        for item in examination.items:
            if item.id in body.derived:
                by = disease.findings.get(examination.id, {}).get(item.id, {})
            elif item.id in body.items:
                panel = body.items[item.id]
                of = items[panel.of]
                by = (
                    {s: _of_panel(panel, item, of, over_ways(of, s), linked=linked, severity=s) for s in SEVERITIES}
                    if of.id in changed
                    else {}
                )
            else:
                by = {s: over_ways(item, s) for s in SEVERITIES} if item.id in changed else {}
            if by:
                values = list(by.values())
                findings.setdefault(examination.id, {})[item.id] = (
                    {"all": values[0]} if all(v == values[0] for v in values) else by
                )
    symptoms = {
        id: tuple(_share(id, shares[n], linked.ways[severity]) for n, severity in enumerate(SEVERITIES))
        for id, shares in linked.shares.items()
    }
    for id, reading in body.symptoms.items():
        if reading.of in changed:
            of = items[reading.of]
            symptoms[id] = tuple(
                share_of_reading(reading, of, linked.distribution(of, s), linked.ways[s]) for s in SEVERITIES
            )
    return msgspec.structs.replace(disease, findings=findings, symptoms=symptoms)


def _share(symptom: str, share: float, ways: tuple[Variant, ...]) -> float:
    return min(math.fsum(way.weight * way.symptoms.get(symptom, share) for way in ways), 1.0)


def _of_panel(
    reading: PanelReading, item: Item, of: Item, distribution: Distribution, *, linked: DiseaseBody, severity: Severity
) -> Distribution:
    """Returns the distribution of an item that reads another's quantity."""
    if item.numeric:
        centre, spread = distribution
        assert isinstance(centre, float) and isinstance(spread, float)  # noqa: S101
        if reading.curve:
            ends = along(reading.curve, centre - spread), along(reading.curve, centre + spread)
            centre, spread = along(reading.curve, centre), (ends[1] - ends[0]) / 2
        return (centre, math.hypot(spread, reading.error))
    cells = cell_shares(reading.cuts, of, linked.distribution(of, severity), linked.ways[severity])
    total = dict.fromkeys(item.values, 0.0)
    for number, (cell, share) in enumerate(cells.items()):
        texts = reading.below[number][1] if reading.below else reading.at(str(cell))
        for text, of_cell in texts.items():
            total[text] += share * of_cell
    return {text: min(share, 1.0) for text, share in total.items()}
