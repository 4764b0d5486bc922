"""A folder with a small run in it, written by hand."""

import msgspec
import pytest

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.account import Account
from polyclinic.hospital.record.happenings import (
    Acuity,
    CalledIn,
    Diagnosed,
    FellIll,
    Happening,
    Queued,
    Triaged,
    Walked,
)
from polyclinic.hospital.record.store import Store
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.application import application
from polyclinic.web.serving import Serving


def happened(n: int = 3):
    """Residents who fall ill, come, wait and are seen, one after the other."""
    for number in range(n):
        who, t = f"r{number + 1:05d}", 30_000 + 600 * number
        yield t, who, FellIll(case=f"{who}-d0000", disease="influenza-a", severity="mild", department="respiratory",
                              name=f"Ada {number}", home=(-800, -100 + number))  # fmt: skip
        yield t + 60, who, Walked(path=("homes", "entrance", "triage"), times=(t + 60, t + 780, t + 790))
        yield t + 790, who, Queued(queue="triage")
        yield t + 800, who, CalledIn(queue="triage", staff="n01", area="triage", waited=10)
        yield t + 900, who, Triaged(nurse="n01", department="respiratory", acuity=Acuity.URGENT,
                                    right_department="respiratory", right_acuity=Acuity.URGENT)  # fmt: skip
        yield t + 1_000, who, Diagnosed(staff="d01", diagnosis="Influenza A", right=number % 2 == 0)


def keep(folder, n=3, *, over=True, about=None):
    """Keeps a run; `n` is how many come."""
    account = Account()
    folder.parent.mkdir(exist_ok=True)
    with Store.create(folder, about or {"seed": 7, "residents": 50}) as store:
        told = sorted(happened(n), key=lambda one: one[0])
        for seq, (t, who, what) in enumerate(told):
            happening = Happening(seq=seq, t=t, who=who, what=what)
            account.add(happening)
            store.add(happening, account)
        store.flush()
        if over:
            store.finish({"visits": n})
    return folder


@pytest.fixture(scope="session")
def hospital():
    """The hospital that comes with the package."""
    return read_hospital(None, read_knowledge())


@pytest.fixture(scope="session")
def runs(tmp_path_factory, hospital):
    """A folder with the runs `one` and `deep/two`, one of another format, and a link out of it."""
    folder = tmp_path_factory.mktemp("runs")
    keep(folder / "one", about={"seed": 7, "residents": 50, "hospital": msgspec.to_builtins(hospital, str_keys=True)})
    keep(folder / "deep" / "two", 200, over=False)
    (folder / "broken").mkdir()
    (folder / "broken" / "run.sqlite").write_bytes(b"no run at all" * 100)
    elsewhere = keep(tmp_path_factory.mktemp("elsewhere") / "secret")
    (folder / "out").symlink_to(elsewhere)
    return folder


@pytest.fixture
def pages(runs):
    """The application over these runs, for this machine alone."""
    serving = Serving([runs])
    yield application(serving)
    serving.close()


def rows_of(answer):
    return msgspec.json.decode(answer.body)["rows"]
