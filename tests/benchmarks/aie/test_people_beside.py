"""People's votes on pairs of doctors stand beside the judge's, with how far the two agree."""

import io

from rich.console import Console

from polyclinic.evaluations.people import show_judgements, views_by_people
from polyclinic.judging.pairs import CRITERIA, Preference, judgements_of
from polyclinic.judging.verdicts import PersonsVerdict


def judged(winners):
    """A judge who says by every criterion that this doctor wins a case, in both orders."""
    calls = []
    for case, winner in winners.items():
        for view, criteria in CRITERIA.items():
            for first, second in (("a", "b"), ("b", "a")):
                better = dict.fromkeys(criteria, "tie" if winner is None else "first" if winner == first else "second")
                calls.append(Preference(case=case, view=view, first=first, second=second, better=better))
    return judgements_of("direct/judge", "0", tuple(calls), without=0, seed=0)


def said(case, who, **answers):
    return PersonsVerdict(form="pairs doctor", item=(case, "a", "b"), who=who, answers=answers)


VERDICTS = [
    said("c1", "anna", total="first", logic="tie"),
    said("c1", "bea", total="first", logic="tie"),
    said("c2", "anna", total="second"),
    said("c3", "anna", total="first"),
    said("c3", "bea", total="second"),  # as many say the one as the other: a tie
    said("c4", "anna", total="first"),  # the judge never saw it
]


def test_people_by_view_and_how_far_the_judge_says_the_same():
    judgements = judged({"c1": "a", "c2": "a", "c3": None})
    found = views_by_people(VERDICTS, judgements)
    assert set(found) == {"doctor"} and set(found["doctor"].criteria) == {"total", "logic"}
    total, alike = found["doctor"].criteria["total"], found["doctor"].with_judge["total"]
    assert (total.n, total.ties, total.win_rates["a"].wins) == (4, 1, 2)
    assert (alike.n, round(alike.percent)) == (3, 67)
    assert found["doctor"].with_judge["logic"].percent == 0
    assert views_by_people(VERDICTS)["doctor"].with_judge == {}
    assert views_by_people([]) == {}


def test_the_table_has_both():
    def shown(judgements):
        screen = Console(file=io.StringIO(), width=200)
        show_judgements(screen, judgements, views_by_people(VERDICTS, judgements))
        return screen.file.getvalue()

    both = shown(judged({"c1": "a", "c2": "a", "c3": None}))
    assert "judged by direct/judge and by people as a doctor" in both and "judged by direct/judge as a patient" in both
    assert both.count(", people") == 2 and "67 % of 3" in both
    alone = shown(None)
    assert "judged by people as a doctor" in alone and "as a patient" not in alone and "direct/judge" not in alone
