"""Numbers with units as people write them, turned into the unit that an item of the knowledge has.

Units are read by what they are made of (a prefix, what is counted, by which volume or time), so that no table of pairs
is needed; masses and amounts of substance go into one another by the molar mass of what is measured.
"""

from __future__ import annotations

import functools
import re
from math import inf
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.knowledge.entries import Item
from polyclinic.yaml_files import read_yaml

Kind = Literal["count", "mass", "amount", "activity", "pressure", "temperature", "share", "rate", "field", "titre", ""]

_WIDER = 8.0  # A measured value may lie so many times beyond what is ever drawn; what lies further is in another unit.

_PREFIX = {"": 1.0, "k": 1e3, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}
_NUMBER = r"\d{1,3}(?:[,，]\d{3})+(?!\d)|\d+(?:\.\d+)?"
_QUANTITY = re.compile(
    rf"(?P<sign>[<>≤≥＜＞]|less than|below|under|greater than|more than|above|over|小于|低于|大于|高于|超过)?\s*=?\s*"
    rf"(?<![\w.^])(?P<number>1\s*[:：]\s*(?P<titre>\d+)|{_NUMBER})"
    rf"(?:\s*(?:-|–|—|~|～|to|至)\s*(?P<upper>{_NUMBER}))?(?P<rest>[^;；,，。()（）\n]*)",
    re.IGNORECASE,
)
_BELOW = ("<", "≤", "＜", "less than", "below", "under", "小于", "低于")
_PER_VOLUME = re.compile(
    r"(?:\*?10[*^]*(?P<power>\d+))?(?P<prefix>(?:[kdcmunpf](?=g|mol|eq|u))?)(?P<what>g|mol|eq|u)?/(?P<by>[dcmunp]?)l$"
)


class _Unit(NamedTuple):
    kind: Kind
    factor: float  # into the kind's own: per litre, gram per litre, mole per litre, unit per litre, mmHg, °C, 1


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    units: dict[str, _Unit]
    unsaid: dict[Kind, tuple[float, ...]]
    molar_mass: dict[str, float]
    cuts: dict[str, dict[Kind, dict[str, float]]]
    spelled: tuple[tuple[str, str], ...]


@functools.cache
def _tables() -> _Tables:
    return read_yaml(Path(__file__).with_name("quantities.yaml"), _Tables)


@functools.cache
def _spelled() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(found, re.IGNORECASE), instead) for found, instead in _tables().spelled)


class Quantity(NamedTuple):
    """A number, or from which to which number, and the unit as it was written; one side is infinite for "> 5"."""

    low: float
    high: float
    unit: str
    is_titre: bool = False


def quantities(text: str) -> list[Quantity]:
    """Returns the numbers of a text, in order, each with what follows it up to the next mark."""
    found = []
    for match in _QUANTITY.finditer(text):
        titre = match["titre"]
        low = _float(titre or match["number"])
        high = _float(match["upper"]) if match["upper"] and not titre else low
        sign = (match["sign"] or "").casefold()
        if sign:
            low, high = (-inf, low) if sign in _BELOW else (low, inf)
        found.append(Quantity(low, high, match["rest"].strip(), bool(titre)))
    return found


def _float(number: str) -> float:
    return float(number.replace(",", "").replace("，", ""))


@functools.lru_cache(maxsize=4096)
def _unit(text: str) -> _Unit | None:
    """Returns the unit that a text begins with; None where it is not known, of kind "" where there is none."""
    for found, instead in _spelled():
        text = found.sub(instead, text)
    words = text.split()
    for length in range(len(words), 0, -1):
        unit = _simple("".join(words[:length]).casefold().strip(".: "))
        if unit is not None:
            return unit
    return _Unit("", 1.0) if not words or words[0].isalpha() else None


def _simple(text: str) -> _Unit | None:
    if text in (units := _tables().units):
        return units[text]
    match = _PER_VOLUME.match(text)
    if match is None:
        return None
    kinds: dict[str | None, Kind] = {None: "count", "g": "mass", "mol": "amount", "eq": "amount", "u": "activity"}
    factor = 10.0 ** int(match["power"] or 0) * _PREFIX[match["prefix"]] / _PREFIX[match["by"]]
    return _Unit(kinds[match["what"]], factor)


def in_unit_of(quantity: Quantity, item: Item) -> tuple[float, float] | None:
    """Returns a quantity in the item's unit, low and high; None where it cannot be that item's.

    A number without a unit is taken in the item's own where that is possible, else in the one common other unit in
    which it is.
    """
    unit = _unit(quantity.unit) if quantity.unit else _Unit("", 1.0)
    if unit is None:
        # A unit that is none of the measured kinds ("fL", "mm/h") is right only where it is the item's very own.
        same = _letters(quantity.unit).startswith(_letters(item.unit))
        return _possible(quantity.low, quantity.high, item, _WIDER) if same else None
    if not unit.kind:
        return _without_unit(quantity, item)
    own = _unit(item.unit)
    if own is None:
        return None
    low, high = (_converted(end, unit, own, item.id) for end in (quantity.low, quantity.high))
    return None if low is None or high is None else _possible(low, high, item, _WIDER)


def converted(number: float, unit: str, own: str, item: str = "") -> float | None:
    """Returns a number in one unit as a number in another; None where nothing is measured in both.

    Masses and amounts of substance go into one another where the item of the knowledge has a molar mass. A unit that is
    not read is the other one only where it is written alike, and a number without a unit is in the other.
    """
    given, wanted = unit.strip(), re.sub(r"\{(?!\(?FEU)[^}]*\}", "", own).strip()
    if not given or not wanted or _letters(given) == _letters(wanted):
        return number
    one, other = _unit(given), _unit(wanted)
    if one is None or other is None or not one.kind or not other.kind:
        return None
    return _converted(number, one, other, item)


def _letters(text: str) -> str:
    return re.sub(r"[\s\[\]{}^*]", "", text).casefold()


def _converted(value: float, unit: _Unit, own: _Unit, item: str) -> float | None:
    if unit.kind == own.kind == "temperature":
        return value if unit.factor else (value - 32) / 1.8
    if unit.kind == own.kind:
        return value * unit.factor / own.factor
    mass = _tables().molar_mass.get(item)
    if mass is None or {unit.kind, own.kind} != {"mass", "amount"}:
        return None
    amount = value * unit.factor / mass if unit.kind == "mass" else value * unit.factor * mass
    return amount / own.factor


def _without_unit(quantity: Quantity, item: Item) -> tuple[float, float] | None:
    as_it_is = _possible(quantity.low, quantity.high, item, 1.0)
    if as_it_is is not None:
        return as_it_is
    own = _unit(item.unit)
    if own is None or not own.kind:
        return None
    fitting = []
    for factor in _tables().unsaid.get(own.kind, ()):
        low, high = (_converted(end, _Unit(own.kind, factor), own, item.id) for end in (quantity.low, quantity.high))
        if low is not None and high is not None and (found := _possible(low, high, item, 1.0)) is not None:
            fitting.append(found)
    return fitting[0] if len(fitting) == 1 else None


def _possible(low: float, high: float, item: Item, wider: float) -> tuple[float, float] | None:
    """Returns an interval where an item can have it."""
    least, most = item.limits or (-inf, inf)
    inside = [end for end in (low, high) if abs(end) != inf]
    allowed = (least / wider if least > 0 else least, most * wider if item.lognormal or wider == 1.0 else most * 2)
    return (low, high) if all(allowed[0] <= end <= allowed[1] for end in inside) else None


def word_for(quantity: Quantity, item: Item) -> str | None:
    """Returns which of an item's words for results a number means ("1:64", "12/hpf"), or None."""
    cuts = _tables().cuts.get(item.id)
    unit = _Unit("titre", 1.0) if quantity.is_titre else _unit(quantity.unit)
    if not cuts or unit is None or unit.kind not in cuts:
        return None
    value = (quantity.low if quantity.low > -inf else 0.0) * unit.factor
    return [word for word, least in cuts[unit.kind].items() if value >= least][-1]
