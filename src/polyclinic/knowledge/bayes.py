"""The Bayesian reader of the knowledge: what the evidence so far says, and what would say most.

A hypothesis is a disease at a severity; given it, symptoms (given their parents), examination items, age, sex and
duration are independent, just as cases are drawn from the knowledge. So the reader of all findings is the best that
anybody can be on drawn cases. One hypothesis more, "something else", has the usual frequencies of everything; a doctor
gives it a prior so as to notice a case outside the knowledge.

Information is in nats.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.cases.record import Finding, Record
from polyclinic.knowledge.ages import MONTHS
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Distribution, Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon, read_days
from polyclinic.knowledge.reading import LEAST, BodyTables, Observed, PatientReading, Vector
from polyclinic.knowledge.results import ItemReading, ResultReader
from polyclinic.language.language import LANGUAGES


@functools.cache
def _steps(samples: int) -> Vector:
    """Returns evenly spread values of the standard normal distribution."""
    from statistics import NormalDist  # noqa: PLC0415

    return np.array([NormalDist().inv_cdf((k + 0.5) / samples) for k in range(samples)])


class NumberLikelihoods:
    """Log-likelihood of a number under every hypothesis; "something else" has the mean of all."""

    def __init__(self, item: Item, distributions: list[Distribution]) -> None:
        parameters = np.array([*distributions, item.usual], dtype=float)
        self._unit = item.unit
        self._lognormal = item.lognormal
        self._centre = np.log(parameters[:, 0]) if item.lognormal else parameters[:, 0]
        self._spread = np.log(parameters[:, 1]) if item.lognormal else parameters[:, 1]
        self._log_spread = np.log(self._spread)

    def observed(self, finding: Finding) -> float | None:
        """Returns the number of a result, or None where it is none in the item's unit."""
        try:
            value = float(finding.value)
        except ValueError:
            return None
        return value if finding.unit == self._unit else None

    def read(self, finding: Finding) -> Vector | None:
        """Returns the log-likelihoods of a result, or None where it is no number in the item's unit."""
        value = self.observed(finding)
        return (
            None if value is None else self._density(np.array(math.log(max(value, 1e-9)) if self._lognormal else value))
        )

    def _density(self, x: Vector) -> Vector:
        """Returns the log-densities (..., hypothesis), floored far out, where tails mean nothing."""
        log = self._logs(x)
        log[..., -1] = np.log(np.mean(np.exp(log), axis=-1))
        return log

    def _logs(self, x: Vector) -> Vector:
        """Returns the log-densities (..., hypothesis), the last that of people without this trouble."""
        log: Vector = x[..., None] - self._centre
        # In place: of many results the tables are large.
        log /= self._spread
        log *= log
        np.minimum(log, 18.0, out=log)
        log *= -0.5
        log -= self._log_spread
        return log

    def quantiles(self, samples: int, under: npt.NDArray[np.intp]) -> Vector:
        """Returns the log-likelihoods (hypothesis, sample, hypothesis) of evenly spread results of some hypotheses."""
        # Every item goes through its quantiles in an order of its own, so that the items of an examination vary freely.
        order = np.random.default_rng(len(self._centre) + int(abs(self._centre).sum() * 997)).permutation(samples)
        drawn = self._centre[under, None] + self._spread[under, None] * _steps(samples)[order]
        return self._density(drawn)


class WordingLikelihoods:
    """Log-likelihood of one of an item's texts under every hypothesis."""

    def __init__(self, item: Item, distributions: list[Distribution]) -> None:
        values = list(item.values)
        self._ids = tuple(values)
        shares = np.array(
            [[d.get(v, 0.0) for v in values] for d in (*distributions, item.usual) if isinstance(d, dict)]
        )
        shares[-1] = shares.mean(axis=0)
        self._shares = np.maximum(shares, LEAST)
        self._log = np.log(self._shares)
        self._value = {w.casefold(): k for k, v in enumerate(values) for w in (item.values[v].en, item.values[v].zh)}
        self._unread = np.log(np.append(np.full(len(distributions), 0.05), 0.3))

    def observed(self, finding: Finding) -> str | None:
        """Returns the id of a result's text, or None where it is in other words than the knowledge's."""
        value = self._value.get(str(finding.value).strip().casefold())
        return None if value is None else self._ids[value]

    def read(self, finding: Finding) -> Vector:
        """Returns the log-likelihoods of a result; other words than the knowledge's speak for "something else"."""
        known = self.observed(finding)
        likelihood: Vector = self._unread if known is None else self._log[:, self._ids.index(known)]
        return likelihood

    def quantiles(self, samples: int, under: npt.NDArray[np.intp]) -> Vector:
        """As `NumberLikelihoods.quantiles`: each text as often as its share says."""
        order = np.random.default_rng(int(self._shares.sum() * 997)).permutation(samples)
        levels = (order + 0.5) / samples
        shares = self._shares[under]
        cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
        drawn = np.minimum((levels[None, :, None] > cumulative[:, None, :]).sum(axis=2), self._shares.shape[1] - 1)
        likelihoods: Vector = self._log.T[drawn]
        return likelihoods


_SAMPLES = 8  # Results drawn per hypothesis to estimate an examination's information; more changes no decision much.
_WEIGHED = 40  # The likeliest hypotheses alone are weighed against one another; more takes long and changes little.
_SAID_ALIKE = 4  # Decimals of an information; what differs by less is no difference.
_PLAUSIBLE = 0.003  # Hypotheses below this take no part in planning: they could not change what is best to ask.


class ItemEvidence(NamedTuple):
    """What one item shows, and its place (ids of examination and item).

    `is_usual`: it was read in others' words as what people without that trouble have.
    """

    place: tuple[str, str]
    observed: Observed
    is_usual: bool = False


class Evidence(NamedTuple):
    """What a finding says."""

    items: tuple[ItemEvidence, ...] = ()  # the items that it tells of, each at most once
    is_unread: bool = False  # it has a result, and nothing of it is in words that are known
    is_strange: bool = False  # it tells of something wrong for which there are no words
    is_in_others_words: bool = False  # what it tells is put in other words than the knowledge's


class Reader:
    """The knowledge as tables of log-likelihoods; made once, used for any number of patients.

    `something_else` is the prior probability that a patient has none of the diseases.
    """

    def __init__(self, knowledge: Knowledge, *, something_else: float = 0.0) -> None:
        self.knowledge = knowledge
        self.diseases: tuple[Disease, ...] = tuple(knowledge.diseases.values())
        self._pairs: list[tuple[Disease, Severity]] = [(d, s) for d in self.diseases for s in SEVERITIES]
        self._something_else = something_else
        # Row d: which hypotheses belong to disease d; the last row and column are "something else".
        members = np.kron(np.eye(len(self.diseases)), np.ones(len(SEVERITIES)))
        self.members: Vector = np.block([[members, np.zeros((len(self.diseases), 1))], [np.zeros(len(self._pairs)), 1]])
        self._examination_row = {examination: row for row, examination in enumerate(knowledge.examinations)}
        self.symptom_row = {symptom: row for row, symptom in enumerate(knowledge.symptoms)}
        # The row of each symptom's parent; the one after the last where it has none.
        self._parent_row = np.array(
            [
                len(self.symptom_row) if s.parent is None else self.symptom_row[s.parent]
                for s in knowledge.symptoms.values()
            ]
        )
        self._not_everybodys = [s for s in knowledge.symptoms.values() if s.sex is not None or s.ages is not None]
        # Row e, column d: whether disease d has findings in examination e.
        self._shows = np.array([[e in d.findings for d in self.diseases] for e in knowledge.examinations], dtype=bool)
        shares = [[*(d.share(s, severity) for d, severity in self._pairs), s.base] for s in knowledge.symptoms.values()]
        self.shares: Vector = np.clip(np.array(shares), LEAST, 1 - LEAST)
        # The same by severity, "something else" apart: of what lies in one piece the products take half as long.
        self._by_severity = [
            np.ascontiguousarray(self.shares[:, n : len(self._pairs) : len(SEVERITIES)]) for n in range(len(SEVERITIES))
        ]
        self._present = np.log(self.shares)
        self._absent = np.log1p(-self.shares)
        self._items = {(e.id, i.id): (e, i) for e in knowledge.examinations.values() for i in e.items}
        self._tables = {key: self._table(examination, item) for key, (examination, item) in self._items.items()}
        self._drawn = np.zeros((len(self._examination_row), len(self._pairs)), dtype=np.bool_)
        self._ages: dict[int, Vector] = {}
        self._names = _names(knowledge.examinations.values())
        self.lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in LANGUAGES}

    @functools.cached_property
    def tables(self) -> BodyTables:
        """What every way to have a disease makes of the body, for an exact `PatientReading` of a patient."""
        return BodyTables(self.knowledge)

    def prior(self) -> Vector:
        """Returns the log prior: every disease and severity alike, and "something else"."""
        prior = np.full(len(self._pairs) + 1, math.log((1 - self._something_else) / len(self._pairs)))
        prior[-1] = math.log(self._something_else) if self._something_else else -math.inf
        return prior

    def symptom(self, symptom: str, present: bool) -> Vector:
        """Returns the log-likelihood of a symptom that is there or not (given its parent, if it has one)."""
        row = self.symptom_row[symptom]
        likelihood: Vector = (self._present if present else self._absent)[row]
        return likelihood

    def person(self, presentation: Presentation) -> Vector:
        """Returns the log-likelihood of age and sex."""
        total = np.zeros(len(self._pairs) + 1)
        if presentation.age is not None:
            total += self._of_age(presentation.age)
        if presentation.sex is not None:
            total += self._of_sex[presentation.sex]
        return total

    def _of_age(self, age: float) -> Vector:
        """Returns the log-likelihood of being of an age."""
        months = max(1, round(age * MONTHS)) if age < 1 else int(age) * MONTHS
        found = self._ages.get(months)
        if found is None:
            shares = [max(d.epidemiology.share_at(months / MONTHS), LEAST) for d, _ in self._pairs]
            found = self._ages[months] = np.log([*shares, float(np.mean(shares))])
        return found

    @functools.cached_property
    def _of_sex(self) -> dict[Sex, Vector]:
        """The log-likelihood of each sex."""
        shares = [*(d.epidemiology.female for d, _ in self._pairs), 0.5]
        female = np.clip(np.array(shares), LEAST, 1 - LEAST)
        return {"female": np.log(female), "male": np.log(1 - female)}

    def duration(self, days: float) -> Vector:
        """Returns the log-likelihood of an illness of so many days."""
        parameters = np.array([d.duration for d, _ in self._pairs])
        known = _lognormal(days, parameters[:, 0], parameters[:, 1])
        return np.append(np.logaddexp(known, math.log(LEAST)), math.log(np.mean(np.exp(known)) + LEAST))

    def finding(self, finding: Finding) -> tuple[Examination, Item, Vector] | None:
        """Returns what a finding is about and its log-likelihood, or None where the knowledge does not know it."""
        place = self._names.get((finding.examination.casefold(), finding.item.casefold()))
        if place is None:
            return None
        likelihood = self._tables[place].read(finding)
        return None if likelihood is None else (*self._items[place], likelihood)

    def says(self, finding: Finding) -> Evidence:
        """Returns what a finding says of the items that it tells of, in the knowledge's words or in others'.

        Where an item is known by its own name and its text in no words, that speaks a little for "something else", as
        in `finding`.
        """
        place = self._names.get((finding.examination.casefold(), finding.item.casefold()))
        if place is not None and (observed := self._tables[place].observed(finding)) is not None:
            return Evidence((ItemEvidence(place, observed),))
        read = self._results.read(finding)
        known = tuple(self._as_evidence(reading) for reading in read.readings)
        is_unread = read.is_result and not known
        return Evidence(known, is_unread, read.is_strange or (is_unread and place is not None), bool(known))

    def _as_evidence(self, reading: ItemReading) -> ItemEvidence:
        place = reading.examination, reading.item
        return ItemEvidence(place, reading, is_usual=reading.is_usual(self._items[place][1]))

    def examinations_named(self, text: str) -> frozenset[str]:
        """Returns the ids of the examinations that a text names."""
        return self._results.examinations(text)

    @functools.cached_property
    def _results(self) -> ResultReader:
        return ResultReader(self.knowledge)

    def _table(self, examination: Examination, item: Item) -> NumberLikelihoods | WordingLikelihoods:
        distributions = [d.distribution(examination.id, item, severity) for d, severity in self._pairs]
        return NumberLikelihoods(item, distributions) if item.numeric else WordingLikelihoods(item, distributions)

    def read_history(self, record: Record) -> tuple[Vector, PatientReading]:
        """Reads who it is and the history, where what is not written is not there.

        Returns the logarithms of what the person and the duration say, with the prior, and the reading to go on from.
        """
        language = record.presentation.language
        person = record.presentation
        texts = [person.complaint, *(text for _, text in record.history.sections())]
        seen = self.lexicons[language].read_all(texts)
        reading = PatientReading(self.tables, person.age, person.sex)
        for known in self.knowledge.symptoms.values():
            if known.possible(person.age, person.sex) and (known.parent is None or seen.get(known.parent, False)):
                reading.symptom(known.id, seen.get(known.id, False))
        log = self.prior() + self.person(person)
        days = read_days(person.complaint, language)
        if days is not None:
            log += self.duration(days)
        return log, reading

    def read_findings(self, findings: Iterable[Finding], reading: PatientReading) -> None:
        """Takes in findings in the knowledge's words; others say nothing."""
        for finding in findings:
            place = self._names.get((finding.examination.casefold(), finding.item.casefold()))
            observed = None if place is None else self._tables[place].observed(finding)
            if place is not None and observed is not None:
                reading.item(place[1], observed)

    def likeliest(self, log_posterior: Vector) -> int:
        """Returns the number of the most probable disease."""
        return int((self.members[:-1] @ normalise(log_posterior)).argmax())

    @functools.cached_property
    def _outcomes(self) -> npt.NDArray[np.float32]:
        """Likelihood of results drawn under each hypothesis: (drawn under, hypothesis, examination, sample).

        What is picked out for a posterior, and what is summed over, stands first: the rest lies in one piece. An
        examination is drawn by `_draw` under a hypothesis when it is first thought of.
        """
        drawn, hypotheses = len(self._pairs), len(self._pairs) + 1
        return np.empty((drawn, hypotheses, len(self._examination_row), _SAMPLES), dtype=np.float32)

    def _draw(self, examination: str, under: npt.NDArray[np.intp]) -> int:
        """Draws the results of an examination under some hypotheses; returns its row."""
        row = self._examination_row[examination]
        under = under[~self._drawn[row, under]]
        if len(under):
            total = np.zeros((len(under), _SAMPLES, len(self._pairs) + 1))
            for item in self.knowledge.examinations[examination].items:
                total += self._tables[examination, item.id].quantiles(_SAMPLES, under)
            total -= total.max(axis=2, keepdims=True)
            self._outcomes[under, :, row] = np.exp(total, out=total).swapaxes(1, 2)
            self._drawn[row, under] = True
        return row

    def impossible(self, age: float | None, sex: Sex | None) -> frozenset[str]:
        """Returns the symptoms that somebody of this age and sex cannot have, by id."""
        return frozenset(s.id for s in self._not_everybodys if not s.possible(age, sex))

    def with_parent(self, present: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Returns which symptoms have their parent, if they have one, among some that are there."""
        there = np.zeros(len(self._parent_row) + 1, dtype=np.bool_)
        there[-1] = True
        there[[self.symptom_row[symptom] for symptom in present]] = True
        known: npt.NDArray[np.bool_] = there[self._parent_row]
        return known

    def question_information(self, posterior: Vector, asked: npt.NDArray[np.bool_] | None = None) -> Vector:
        """Returns how much the answer on each symptom is expected to say about the disease (parents being there)."""
        known = len(self._pairs)
        by_disease = self._by_disease(posterior)
        rows = np.arange(len(self.shares)) if asked is None else np.flatnonzero(asked)
        joint = np.empty((len(rows), len(by_disease)))
        mild, *others = (
            shares[rows] * posterior[severity : known : len(SEVERITIES)]
            for severity, shares in enumerate(self._by_severity)
        )
        joint[:, :-1] = functools.reduce(np.add, others, mild)
        joint[:, -1] = self.shares[rows, -1] * posterior[-1]
        # All rows stand in the product, so that it is added up alike whichever are asked for.
        left = np.zeros((len(self.shares), len(by_disease)))
        left[rows] = _binary_entropy(np.divide(joint, by_disease, out=np.zeros_like(joint), where=by_disease > 0))
        information = np.zeros(len(self.shares))
        information[rows] = _binary_entropy(joint.sum(axis=1)) - (left @ by_disease)[rows]
        return information

    def _by_disease(self, of_hypotheses: Vector) -> Vector:
        """Returns sums over the severities of each disease, "something else" last: (..., hypothesis) to (..., disease).

        As `members` does by multiplication, which takes long for a thing that is mostly nought; and a sum over an axis
        of three takes longer than three slices.
        """
        last, step = of_hypotheses.shape[-1] - 1, len(SEVERITIES)
        mild, *others = (of_hypotheses[..., severity:last:step] for severity in range(step))
        known = functools.reduce(np.add, others, mild)
        return np.concatenate([known, of_hypotheses[..., last:]], axis=-1)

    def examination_information(self, posterior: Vector, examinations: Iterable[str]) -> dict[str, float]:
        """Returns how much each examination's result is expected to say about the disease.

        An estimate over results drawn under the known diseases; it holds where "something else" is not the likeliest.
        An examination in which none of the plausible diseases has findings says nothing about them.
        """
        kept = np.flatnonzero(posterior > _PLAUSIBLE)
        if len(kept) > _WEIGHED:
            kept = np.sort(np.argpartition(-posterior, _WEIGHED)[:_WEIGHED])
        drawn = kept[kept < len(self._pairs)]
        plausible = np.unique(drawn // len(SEVERITIES))
        information = dict.fromkeys(examinations, 0.0)
        shows = set(np.flatnonzero(self._shows[:, plausible].any(axis=1)).tolist())
        asked = [e for e in information if self._examination_row[e] in shows]
        return information | self._information(posterior, asked, kept, drawn) if asked else information

    def _information(
        self, posterior: Vector, asked: list[str], kept: npt.NDArray[np.intp], drawn: npt.NDArray[np.intp]
    ) -> dict[str, float]:
        weights = posterior[drawn] / posterior[drawn].sum() / _SAMPLES
        members = self.members[:, kept]
        members = members[members.any(axis=1)].astype(np.float32)
        plausible = posterior[kept].astype(np.float32)
        rows = np.array([self._draw(examination, drawn) for examination in asked], dtype=np.intp)
        # OpenBLAS reads beyond the end of small float32 arrays and raises flags for what it does not use there.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            before = _entropy(members @ (plausible / plausible.sum()))
            after = self._outcomes[np.ix_(drawn, kept, rows)] * plausible[:, None, None]
            by_disease = members @ after.reshape(len(drawn), len(kept), -1)
            by_disease /= by_disease.sum(axis=1, keepdims=True)
            left = _entropy(by_disease, axis=1).reshape(len(drawn), len(rows), _SAMPLES).sum(axis=2)
            information = before - weights @ left
        # Sums in single precision differ by the order of adding, which is the machine's; what is equal must stay so.
        return dict(zip(asked, np.round(information, _SAID_ALIKE).tolist(), strict=True))


def _names(examinations: Iterable[Examination]) -> dict[tuple[str, str], tuple[str, str]]:
    return {
        (outer.casefold(), inner.casefold()): (examination.id, item.id)
        for examination in examinations
        for item in examination.items
        for outer in examination.names()
        for inner in item.names()
    }


def normalise(log_posterior: Vector) -> Vector:
    """Returns the probabilities."""
    p = np.exp(log_posterior - log_posterior.max())
    probabilities: Vector = p / p.sum()
    return probabilities


def _lognormal(x: float, median: Vector, spread: Vector) -> Vector:
    sigma = np.log(spread)
    z = (math.log(max(x, 1e-9)) - np.log(median)) / sigma
    return -0.5 * z * z - np.log(sigma)


def _entropy(p: npt.NDArray[np.floating], axis: int = -1) -> npt.NDArray[np.floating]:
    result: npt.NDArray[np.floating] = -(p * np.log(p + 1e-12)).sum(axis=axis)
    return result


def _binary_entropy(p: Vector) -> Vector:
    q: Vector = np.minimum(np.maximum(p, 1e-9), 1 - 1e-9)
    return -(q * np.log(q) + (1 - q) * np.log(1 - q))
