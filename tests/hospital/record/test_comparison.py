"""Two runs with one seed are held against one another onset by onset; runs that share no patients are refused."""

import msgspec
import pytest

from polyclinic.errors import BadInput, UserError
from polyclinic.hospital.record.comparison import compare_runs
from polyclinic.hospital.record.happenings import DAY, FellIll
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.store import Store

TOWN = {"seed": 11, "residents": 2000, "hospital": {"illness": {"per_day": 0.01}, "staff": {}}}


@pytest.fixture(scope="module")
def kept(live, drawn, tmp_path_factory):
    """Keeps a run of the same town under a name; `change` is what its doctor does to an episode."""
    above = tmp_path_factory.mktemp("runs")

    def keep(name, change=None, *, configuration=None, finished=True, seed=11, visits=80):
        async def compute(request):
            episode = await drawn(request)
            return episode if change is None else msgspec.structs.replace(episode, **change(episode))

        folder = above / name
        with Store.create(folder, {**TOWN, "setup": {"doctor": name}, **(configuration or {})}) as store:
            live(store, compute=compute, visits=visits, seed=seed)
            if finished:
                store.finish({})
        return folder

    return keep


@pytest.fixture(scope="module")
def first(kept):
    return kept("first")


@pytest.fixture(scope="module")
def always_right(kept):
    return kept(
        "second", lambda episode: {"right_diagnosis": not episode.failed, "right_treatment": not episode.failed}
    )


def onsets(folder):
    with RecordedRun(folder) as run:
        return {(h.who, h.t // DAY): h for h in run.happenings() if isinstance(h.what, FellIll)}


@pytest.mark.slow
def test_two_doctors_see_the_same_patients_onset_by_onset(first, always_right):
    compared = compare_runs(first, always_right)
    one, other = onsets(first), onsets(always_right)
    both = one.keys() & other.keys()
    assert len(both) == compared["onsets"] > 50
    assert all((one[key].t, one[key].what) == (other[key].t, other[key].what) for key in both)
    assert (compared["only_first"], compared["only_second"]) == (len(one.keys() - both), len(other.keys() - both))
    assert compared["seeds"] == (11,)
    assert compared["differs"] == {"setup.doctor": ("first", "second")}


@pytest.mark.slow
def test_differences_are_of_the_second_less_the_first_with_holm_over_the_measures(first, always_right):
    compared = compare_runs(first, always_right)
    measures = {(one["by"], one["name"]): one for one in compared["measures"]}
    right = measures["patients", "right diagnosis, first visit, %"]
    assert right["second"] == 100.0 > right["first"]
    assert right["difference"].mean == pytest.approx(right["second"] - right["first"])
    assert 0 < right["difference"].low < right["difference"].mean < right["difference"].high
    assert right["difference"].p <= right["p_holm"] < 0.05
    door = measures["patients", "sent to the right department, first visit, %"]
    assert (door["difference"].mean, door["p_holm"]) == (0.0, 1.0)
    tested = [one for one in compared["measures"] if one["by"] == "patients"]
    assert right["p_holm"] >= right["difference"].p * (len(tested) - 2)
    assert {one["by"] for one in compared["measures"]} == {"patients"}
    # The other way round every difference has the other sign.
    turned = {(one["by"], one["name"]): one for one in compare_runs(always_right, first)["measures"]}
    assert turned["patients", "right diagnosis, first visit, %"]["difference"].mean == -right["difference"].mean


@pytest.mark.slow
def test_runs_of_several_seeds_are_paired_seed_by_seed(first, always_right, kept, tmp_path):
    other = [kept(name, configuration={"seed": 12}, seed=12) for name in ("third", "fourth")]
    for name, runs in (("a", (first, other[0])), ("b", (always_right, other[1]))):
        (tmp_path / name).mkdir()
        for seed, run in zip((11, 12), runs, strict=True):
            (tmp_path / name / f"seed-{seed}").symlink_to(run)
    compared = compare_runs(tmp_path / "a", tmp_path / "b")
    assert compared["seeds"] == (11, 12)
    alone = compare_runs(first, always_right)
    assert compared["onsets"] > alone["onsets"]
    runs = {one["name"]: one for one in compared["measures"] if one["by"] == "runs"}
    assert (
        runs["right diagnosis, first visit, %"]["difference"].n,
        runs["right diagnosis, first visit, %"]["difference"].p,
    ) == (2, 1.0)
    (tmp_path / "b" / "seed-12").unlink()
    with pytest.raises(UserError, match="different seeds; only one has seed-12"):
        compare_runs(tmp_path / "a", tmp_path / "b")


@pytest.mark.slow
def test_runs_without_common_patients_are_refused_with_what_differs(first, kept, tmp_path):
    other_seed = kept("other-seed", configuration={"seed": 12}, visits=3)
    with pytest.raises(UserError, match=r"different patients and cannot be paired: seed 11 and 12$"):
        compare_runs(first, other_seed)
    other_town = kept(
        "other-town", configuration={"residents": 9, "hospital": {"illness": {"per_day": 0.02}}}, visits=3
    )
    with pytest.raises(UserError, match=r"residents 2000 and 9; hospital.illness.per_day 0.01 and 0.02$"):
        compare_runs(first, other_town)
    pretends = kept("pretends", seed=12, visits=300)  # the configuration says one thing, and the log another
    with pytest.raises(UserError, match=r"different patients: resident r.* falls ill otherwise on day"):
        compare_runs(first, pretends)
    with pytest.raises(BadInput, match="has not come to its end"):
        compare_runs(first, kept("open", finished=False, visits=3))
    with pytest.raises(BadInput, match="there is no run here"):
        compare_runs(tmp_path, first)
    with pytest.raises(BadInput, match="no such folder"):
        compare_runs(first, tmp_path / "nowhere")
    with pytest.raises(UserError, match="are the same run"):
        compare_runs(first, first)


@pytest.mark.slow
def test_what_adds_patients_pairs_those_that_both_have(first, kept):
    fewer = kept("fewer", configuration={"load": 0.5}, seed=12, visits=3)  # nobody of these fell ill in the first
    compared = compare_runs(first, fewer)
    assert (compared["onsets"], compared["only_second"]) == (0, len(onsets(fewer)))
    assert compared["differs"]["load"] == ("null", "0.5")
    assert all(one["difference"].mean is None for one in compared["measures"] if one["by"] == "patients")
