"""What the options of AIE's questions tell by themselves, to who has seen those of many other cases.

Guessers see options alone: who is right how often among those beside it, in pairs, in the same set, and by department.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.evaluations.aie.distractors import WRONG_OPTIONS, with_questions
from polyclinic.generation.draw import draw_sex_and_age
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.seeds import derive

Asked = tuple[str, tuple[str, ...]]
"""The right option, and all of them."""

CHANCE = 1 / (1 + WRONG_OPTIONS)
ALLOWED = 0.04
"""Over chance."""


def run() -> None:
    knowledge = read_knowledge()
    for diseases in ("all", "respiratory"):
        for language in LANGUAGES:
            learnt, asked = (questions(knowledge, diseases, 6_000, language, seed=seed) for seed in (1, 2))
            right = guessed(learnt, asked, knowledge, language)
            shown = ", ".join(f"{how} {share:.1%}" for how, share in right.items())
            worst = max(right.values())
            print(f"{diseases}, {language}: {shown} (chance {CHANCE:.0%}, allowed {CHANCE + ALLOWED:.0%})")
            assert worst <= CHANCE + ALLOWED


def questions(knowledge: Knowledge, diseases: str, n: int, language: Language, *, seed: int) -> list[Asked]:
    """Returns the options of n cases whose diseases are balanced, with who has them as the knowledge says."""
    some = list(knowledge.select(diseases).diseases.values())
    cases = []
    for number in range(n):
        rng = derive(seed, "options alone", number)
        disease = rng.choice(some)
        sex, age = draw_sex_and_age(disease, rng)
        presentation = Presentation(complaint="?", sex=sex, age=age, language=language)
        truth = Truth(diagnoses=(Diagnosis(name=disease.name.get(language)),))
        cases.append(Case(id=f"o{seed}-{number}", record=Record(presentation=presentation), truth=truth))
    made = with_questions(cases, knowledge, seed=0)
    return [(c.truth.diagnoses[0].name, tuple(c.question.options.values())) for c in made if c.question is not None]


def guessed(
    learnt: Sequence[Asked], asked: Sequence[Asked], knowledge: Knowledge, language: Language
) -> dict[str, float]:
    """Returns how often each guesser is right that has learnt from some questions, asked others."""
    department = {d.name.get(language): d.department for d in knowledge.diseases.values()}
    seen, right, before, sets = Counter[str](), Counter[str](), Counter[tuple[str, str]](), Counter[Asked]()
    for answer, options in learnt:
        seen.update(options)
        right[answer] += 1
        before.update((answer, other) for other in options if other != answer)
        sets[answer, tuple(sorted(options))] += 1

    def by_share(option: str, _: tuple[str, ...]) -> float:
        return (right[option] + 1) / (seen[option] + len(_))

    def by_pairs(option: str, options: tuple[str, ...]) -> float:
        return sum(
            math.log((before[option, other] + 1) / (before[option, other] + before[other, option] + 2))
            for other in options
            if other != option
        )

    def by_set(option: str, options: tuple[str, ...]) -> float:
        return sets[option, tuple(sorted(options))] + by_share(option, options)

    def by_department(option: str, options: tuple[str, ...]) -> float:
        return sum(department[other] == department[option] for other in options)

    guessers: dict[str, Callable[[str, tuple[str, ...]], float]] = {
        "share": by_share,
        "pairs": by_pairs,
        "set": by_set,
        "department": by_department,
        "odd one out": lambda option, options: -by_department(option, options),
    }
    return {
        how: sum(answer == max(options, key=lambda o: score(o, options)) for answer, options in asked) / len(asked)
        for how, score in guessers.items()
    }
