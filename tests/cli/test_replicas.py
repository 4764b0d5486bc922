"""How many runs `--replicas` makes, and what several say together."""

import io
import random

from polyclinic.cli.replicas import MEASURES, USUAL, ReplicaOptions, replicated, show_precision
from polyclinic.terminal.screen import console


def document(seed, visits, doctor=50.0):
    shares = dict.fromkeys(("triage", "examination", "diagnosis", "treatment"), 80.0)
    return {"seed": seed, "visits": visits, "accuracy": shares, "utilisation": {"doctor": doctor}, "waiting": {}}


def made(replicas, draw):
    """Runs as `polyclinic run` would; what came of each is drawn."""
    held = []
    for seed in replicas.seeds(7, held, quiet=True):
        held.append((document(seed, draw(seed)), ""))
    return [one for one, _ in held]


def test_so_many_as_are_asked_for():
    assert [d["seed"] for d in made(ReplicaOptions(replicas="3"), lambda seed: seed)] == [7, 8, 9]
    assert len(made(ReplicaOptions(), lambda seed: seed)) == 1


def test_auto_goes_on_until_all_measures_are_known_and_five_more():
    steady = ReplicaOptions(replicas="auto", measure=["visits", "utilisation.doctor"])
    documents = made(steady, lambda seed: 100)
    assert len(documents) == 8  # the fewest that say something, and five more
    told = replicated(documents, steady)["precision"]
    assert (told["needed"], told["not_reached"], told["look_ahead"], told["within"]) == (3, [], 5, 5.0)
    rough = ReplicaOptions(replicas="auto", measure=["visits"], most_replicas=400)
    documents = made(rough, lambda seed: 100 + random.Random(seed).gauss(0, 15))
    told = replicated(documents, rough)["precision"]
    assert 20 < told["needed"] < 70
    assert len(documents) == told["needed"] + 5
    assert told["measures"]["visits"].percent <= 5


def test_auto_says_what_it_did_not_reach():
    options = ReplicaOptions(replicas="auto", measure=["visits", "died", "utilisation.doctor"], most_replicas=10)
    documents = made(options, lambda seed: 100 * (seed % 2))
    assert len(documents) == 10
    told = replicated(documents, options)["precision"]
    assert (told["needed"], told["not_reached"]) == (None, ["visits", "died"])
    assert told["measures"]["died"].n == 0
    assert told["measures"]["utilisation.doctor"].needed == 3


def test_the_usual_measures_are_measures():
    assert set(USUAL) <= set(MEASURES)
    known = ReplicaOptions(replicas="auto").precisions([document(1, 5)])
    assert list(known) == list(USUAL)


def test_few_runs_have_students_interval_and_one_has_none():
    means = replicated([document(1, 90), document(2, 110)], ReplicaOptions(replicas="2"))["means"]["visits"]
    assert (round(means.low), round(means.high), means.stderr, means.n) == (-27, 227, 10.0, 2)
    alone = replicated([document(1, 90)], ReplicaOptions())["means"]["visits"]
    assert (alone.mean, alone.low, alone.high, alone.stderr) == (90, None, None, None)


def test_what_is_narrow_but_not_looked_ahead_is_told_apart():
    options = ReplicaOptions(replicas="auto", measure=["visits", "utilisation.doctor"], most_replicas=4)
    known = replicated([document(n, 100 * (n % 2)) for n in range(4)], options)
    out = io.StringIO()
    show_precision(console(out), known)
    told = out.getvalue()
    assert (
        "narrow enough after 4 runs, but not yet over 5 more: utilisation.doctor; raise replicas.most-replicas" in told
    )
    assert "not known within 5 % after 4 runs: visits;" in told
