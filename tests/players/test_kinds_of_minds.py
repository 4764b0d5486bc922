"""The table of kinds of minds: every entry makes what it says, and a further entry is all that a kind needs."""

import json

import pytest

from polyclinic.errors import UnknownMind
from polyclinic.events import Role
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.language_model.saps import Saps
from polyclinic.players.mind_names import KINDS, MODEL, OWN, KindOfMind, kind_of, model_of
from polyclinic.players.minds import Minds, check_mind


def minds(role, name, models=()):
    return Minds(**{role: name}, knowledge=read_knowledge(), seed=1, models={one: Scripted([]) for one in models})


def named(kind, tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([]), "utf-8")
    return {"": kind.name, "FILE": f"{kind.name}:{script}", "MODEL": f"{kind.name}:direct/m"}[kind.needs]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_kind_plays_its_roles_and_no_other(kind, tmp_path):
    name = named(kind, tmp_path)
    assert kind_of(name) == kind
    for role in Role:
        models = ["direct/m"] if kind.needs == "MODEL" else []
        if role not in kind.roles:
            with pytest.raises(UnknownMind, match=f"can play the {role}") as raised:
                minds(role, name, models)
            assert f" {kind.pattern}," not in str(raised.value)
        else:
            minds(role, name, models)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if Role.DOCTOR in kind.roles], ids=lambda k: k.name)
def test_the_table_says_of_doctors_what_their_minds_say(kind, tmp_path):
    doctor = minds("doctor", named(kind, tmp_path)).doctor("a")
    assert (getattr(doctor, "reads", True), getattr(doctor, "sees", False)) == (kind.reads, kind.sees)


@pytest.mark.parametrize(
    ("name", "kind", "model"),
    [
        ("direct/m", MODEL, "direct/m"),
        ("local", MODEL, "local"),
        ("saps:direct/m", KINDS["saps"], "direct/m"),
        ("saps:m", OWN, None),
        ("saps", OWN, None),
        ("nobody", OWN, None),
        ("rules", KINDS["rules"], None),
    ],
)
def test_a_name_has_its_kind(name, kind, model):
    assert (kind_of(name), model_of(name)) == (kind, model)


def test_a_further_kind_on_a_model_is_one_entry(monkeypatch):
    kind = KindOfMind(name="xyz", needs="MODEL", roles=(Role.PATIENT,), made="language_model.saps:Saps")
    monkeypatch.setitem(KINDS, "xyz", kind)
    assert (model_of("xyz:direct/m"), kind_of("xyz:direct/m").name) == ("direct/m", "xyz")
    assert isinstance(minds("patient", "xyz:direct/m", ["direct/m"]).patient("a"), Saps)
    with pytest.raises(UnknownMind, match="'direct/m' is not open"):
        check_mind(Role.PATIENT, "xyz:direct/m")
    with pytest.raises(UnknownMind, match=r"did you mean xyz:direct/m\?.*saps-parallel:MODEL, xyz:MODEL, or a model"):
        check_mind(Role.PATIENT, "xyzz:direct/m")
