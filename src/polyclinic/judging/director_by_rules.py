"""The medical director by rules: lists and words are compared, so that the benchmark runs without a model.

In each aspect a score from 0 to 1 is a weighted mean of shares, and three cuts make it a grade:

1. symptoms: of the complaint's and the history's points, those that the report's symptoms hold, in these words or as
   one of the symptoms that the knowledge knows.
2. examinations: of the examinations with results in the record, those that the report names.
3. diagnosis: how alike the names are, on average, of the principal one, and the other way round; the same disease and
   a kind of it are wholly alike.
4. rationale, treatment: words of the reference in the report; and the diagnosis, as a wrong one drags both down.

Weights and cuts of diagnosis, rationale and treatment are fitted to recorded letters (`python -m bench judges`). There
are none of symptoms and examinations: there quarters of the share are the grades, by convention. Nothing in common is
D; where the reference says nothing there is no grade. Words are compared, not what they mean: single grades are rough.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
from polyclinic.judging.director import judgement_of, lengths_of
from polyclinic.knowledge.disease_names.relation import known_relation
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.names import names_of
from polyclinic.language.clauses import clauses
from polyclinic.language.content_words import coverage, pieces, resemblance
from polyclinic.metrics.accuracy import RIGHT
from polyclinic.metrics.grades import QUARTERS, Aspect, AspectMatch, Judgement, Link, Scale, analysis, aspects_of

VERSION = 2  # grows when the rules come to mean something else
_NO_REFERENCE = "the reference says nothing of it"

HALF = 0.5  # from which share of its words on a point of the reference counts as said
SCALES: dict[Aspect, Scale] = {
    Aspect.SYMPTOMS: Scale(weights={"said": 1.0}, cuts=QUARTERS),
    Aspect.EXAMINATIONS: Scale(weights={"done": 1.0}, cuts=QUARTERS),
    Aspect.DIAGNOSIS: Scale(weights={"all": 0.9, "principal": 0.1, "spared": 0.0}, cuts=(0.0, 0.266, 0.914)),
    Aspect.RATIONALE: Scale(weights={"words": 0.6, "diagnosis": 0.4}, cuts=(0.0, 0.232, 0.682)),
    Aspect.TREATMENT: Scale(weights={"words": 0.9, "diagnosis": 0.1}, cuts=(0.072, 0.128, 0.374)),
}
"""The fitted scales, which `python -m bench judges` prints; a test fits them again."""


class RulesJudge:
    """Rules as the director; see the module. Two names that share a code by `link` are alike.

    The scales are fitted without a link, with which names score higher.
    """

    name = "rules"
    version = VERSION

    def __init__(
        self, knowledge: Knowledge, *, link: Link | None = None, scales: dict[Aspect, Scale] | None = None
    ) -> None:
        self._knowledge, self._names = knowledge, names_of(knowledge)
        self._link = None if link is None else functools.cache(link)
        self._scales = {**SCALES, **(scales or {})}
        self.prompts = hashlib.sha256(msgspec.json.encode(self._scales, order="deterministic")).hexdigest()[:16]

    async def grade(self, case: Case, report: Report, *, one_step: bool = False) -> Judgement:
        """Grades a report; see `Judge.grade`. Never fails."""
        compared = self.compare(case, report)
        aspects = aspects_of(one_step=one_step)
        language = case.presentation.language
        without = {aspect: _NO_REFERENCE for aspect in aspects if not compared[aspect].shares}
        grades = {
            aspect: None if aspect in without else self._scales[aspect].grade(compared[aspect].shares)
            for aspect in aspects
        }
        analyses = {aspect: analysis(compared[aspect], language) for aspect in aspects}
        said = {"grades": grades, "analyses": analyses, "unreadable": without}
        return judgement_of(self, case, one_step=one_step, lengths=lengths_of(report, one_step=one_step), **said)

    def compare(self, case: Case, report: Report) -> dict[Aspect, AspectMatch]:
        """Returns every aspect of a report beside the reference."""
        truth = case.truth
        diagnosis = self._diagnoses([d.name for d in truth.diagnoses], [d.name for d in report.diagnoses])
        named = diagnosis.shares.get("all", 0.0)
        language, history = case.presentation.language, case.record.history
        symptoms = history.symptoms
        if not symptoms:
            texts = (case.presentation.complaint, history.present)
            symptoms = tuple(dict.fromkeys(c for text in texts for c in clauses(text, language) if pieces(c)))
        whole, lexicon = "\n".join(report.symptoms), lexicon_of(self._knowledge, language)
        known = lexicon.present(*report.symptoms)
        said = [
            1.0 if (meant := lexicon.present(point)) and meant <= known else coverage(point, whole)
            for point in symptoms
        ]
        names = self._names.of(case.record.findings)
        # Of a record in which everything has been examined, a doctor need not order everything.
        told = names.mentioned("\n".join(truth.rationale))
        examinations = tuple(dict.fromkeys(finding.examination for finding in told)) or names.recorded()
        found = {finding.examination for item in report.examinations for finding in names.mentioned(item)}
        extra = tuple(item for item in report.examinations if not names.mentioned(item))
        return {
            Aspect.SYMPTOMS: _points("said", symptoms, said),
            Aspect.EXAMINATIONS: _points("done", examinations, [float(one in found) for one in examinations], extra),
            Aspect.DIAGNOSIS: diagnosis,
            Aspect.RATIONALE: _texts(truth.rationale, report.rationale, named),
            Aspect.TREATMENT: _texts(truth.treatment, report.treatment, named),
        }

    def likeness(self, first: str, second: str) -> float:
        """Returns how alike a reference's name of a disease and a report's are, from 0 to 1.

        1 is the same disease, a kind of it or a shared code, 0 are two known diseases; otherwise words are compared.
        """
        one, other = (self._knowledge.disease_named(name) for name in (first, second))
        if known_relation(second, first, self._knowledge) in RIGHT:
            return 1.0
        if one is not None and other is not None:
            return 0.0
        if self._link is not None and self._link(first) & self._link(second):
            return 1.0
        return resemblance(first, second)

    def _diagnoses(self, reference: Sequence[str], given: Sequence[str]) -> AspectMatch:
        if not reference:
            return AspectMatch({}, extra=tuple(given))
        table = [[self.likeness(wanted, name) for name in given] for wanted in reference]
        best = [max(row, default=0.0) for row in table]
        back = [max((row[j] for row in table), default=0.0) for j in range(len(given))]
        return AspectMatch(
            {"all": _mean(best), "principal": best[0], "spared": _mean(back)},
            *_divided(reference, best),
            extra=tuple(name for name, share in zip(given, back, strict=True) if share < HALF),
        )


def _points(name: str, wanted: Sequence[str], shares: Sequence[float], extra: tuple[str, ...] = ()) -> AspectMatch:
    matched, missed = _divided(wanted, shares)
    return AspectMatch({name: len(matched) / len(wanted)} if wanted else {}, matched, missed, extra)


def _texts(reference: Sequence[str], given: Sequence[str], named: float) -> AspectMatch:
    whole = "\n".join(given)
    all_of_it = "\n".join(reference)
    shares = {"words": coverage(all_of_it, whole), "diagnosis": named} if pieces(all_of_it) else {}
    return AspectMatch(shares, *_divided(reference, [coverage(point, whole) for point in reference]))


def _divided(points: Sequence[str], shares: Sequence[float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    both = list(zip(points, shares, strict=True))
    return tuple(p for p, share in both if share >= HALF), tuple(p for p, share in both if share < HALF)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
