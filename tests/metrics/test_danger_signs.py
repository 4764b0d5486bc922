"""Danger signs of who is pregnant, wherever the child is: bleeding and pain count with them."""

import pytest

from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.safety import read_red_flags
from polyclinic.metrics.points import danger_signs


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_ectopic_pregnancy_is_not_without_danger_signs(language):
    knowledge = read_knowledge().select("ectopic-pregnancy")
    lexicon = Lexicon(read_knowledge().symptoms.values(), language)
    cases = list(generate(knowledge, n=45, seed=6, language=language))
    found = [danger_signs(case, (), None, lexicon, read_red_flags()).has for case in cases]
    assert all(
        has
        for case, has in zip(cases, found, strict=True)
        if {"abdominal_pain", "vaginal_bleeding"} & set(lexicon.read_all((case.presentation.complaint,)))
    )
    assert sum(map(bool, found)) >= 42
