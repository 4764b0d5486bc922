"""People as judges: grades as a director's judgements, and categories as words that go before a judge's."""

from __future__ import annotations

from collections.abc import Sequence

from polyclinic.judges.sorting import Category, Word
from polyclinic.metrics.grades import ONE_STEP, Aspect, Grade, Judgement
from polyclinic.verdicts.forms import forms
from polyclinic.verdicts.people import accepted
from polyclinic.verdicts.verdict import PersonsVerdict

PEOPLE = "people"
"""The judge of what most people say."""


def people_judgements(verdicts: Sequence[PersonsVerdict]) -> list[Judgement]:
    """Returns what most people grade of each report; an aspect that is undecided has no grade."""
    judgements = []
    for (case, doctor), answers in accepted(verdicts, "grades").items():
        grades = {aspect: Grade[str(answers[aspect])] for aspect in Aspect if aspect in answers}
        one_step = not set(grades) - set(ONE_STEP)
        asked = ONE_STEP if one_step else tuple(Aspect)
        judgements.append(
            Judgement(
                case=case,
                doctor=doctor,
                judge=PEOPLE,
                version=1,
                one_step=one_step,
                grades={aspect: grades.get(aspect) for aspect in asked},
            )
        )
    return judgements


def people_words(
    verdicts: Sequence[PersonsVerdict], form: str, categories: type[Category]
) -> dict[tuple[str, str], Word[Category]]:
    """Returns the category that most people name, by item, of a form that asks for nothing else."""
    (question,) = forms()[form].questions
    return {
        (item[0], item[1]): Word(categories(str(answers[question])), PEOPLE)
        for item, answers in accepted(verdicts, form).items()
        if question in answers
    }
