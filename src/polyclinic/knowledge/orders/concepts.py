"""What an order or a recorded finding means, and whether the one asks for the other.

The words of orders are found in text first: what each says of an examination, or how it joins its neighbours.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.knowledge.name_table import is_generic, key_of, words
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.yaml_files import read_yaml

GENERIC, HAND, NEUTRAL, EVERYDAY = "generic", "hand", "neutral", "everyday"
"""What a word may be: "examination"; what a doctor does by hand; what says no more; a concept's word of every day."""


class Term(NamedTuple):
    """A word of the lexicon as it stands in a text, from `start` to `end`: its concepts, and what else it is."""

    text: str
    start: int
    end: int
    concepts: frozenset[str]
    roles: frozenset[str]
    hand: str = ""


class _Meant(NamedTuple):
    concepts: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    hand: str = ""
    capitals: bool = False


class _Others(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    neutral: tuple[str, ...]
    generic: tuple[str, ...]
    everyday: frozenset[str]
    capitals: frozenset[str]


_Texts = dict[str, tuple[str, ...]]

_words = WordLists(Path(__file__).with_name("words"))
_concepts, _compounds, _hands = (_words.section(name, _Texts) for name in ("concepts", "compounds", "hands"))
_others = _words.section("others", _Others)

patterns = _words.section("patterns", dict[str, Pattern])
"""Returns what stands between and around the words of orders in a language; words.en.yaml says of each what it is."""


def name_of(concept: str, language: Language) -> str:
    """Returns the first of a concept's names in a language."""
    return _concepts(language)[concept][0]


class _Table(NamedTuple):
    entries: Mapping[str, _Meant]
    lengths: Mapping[str, tuple[int, ...]]


@functools.cache
def _table() -> _Table:
    """Reads the words of both languages: a request may mix them."""
    entries: dict[str, _Meant] = {}
    for language in LANGUAGES:
        _add_words(entries, language)
    for language in LANGUAGES:
        capitals = _others(language).capitals
        for text, concepts in _compounds(language).items():
            entries[key_of(text)] = _Meant(frozenset(concepts), capitals=text.casefold() in capitals)
    lengths: dict[str, set[int]] = {}
    for key in entries:
        parts = key.split(" ")
        lengths.setdefault(parts[0], set()).add(len(parts))
    return _Table(entries, {first: tuple(sorted(of, reverse=True)) for first, of in lengths.items()})


def _plural(text: str) -> str:
    """Returns the plural of an English word that takes more than an s; else the word."""
    if not text.isascii() or not text[-1:].islower():
        return text
    if text.endswith(("x", "ch", "sh", "s")):
        return f"{text}es"
    return f"{text[:-1]}ies" if text.endswith("y") and text[-2:-1] not in "aeiou" else text


def _add_words(entries: dict[str, _Meant], language: Language) -> None:
    others = _others(language)
    for concept, texts in _concepts(language).items():
        for text in texts:
            plain = text.casefold()
            roles = frozenset((EVERYDAY,)) if plain in others.everyday else frozenset[str]()
            for key in (key_of(text), key_of(_plural(text))):
                known = entries[key].concepts if key in entries else frozenset[str]()
                entries[key] = _Meant(known | {concept}, roles, capitals=plain in others.capitals)
    for role, texts in ((NEUTRAL, others.neutral), (GENERIC, others.generic)):
        for text in texts:
            entries.setdefault(key_of(text), _Meant(roles=frozenset((role,))))
    for hand, texts in _hands(language).items():
        for text in texts:
            known_as = entries.get(key_of(text), _Meant())
            if not known_as.concepts:
                entries[key_of(text)] = _Meant(roles=known_as.roles - {NEUTRAL} | {HAND}, hand=hand)


def find_words(text: str, *, title: bool = False) -> Sequence[Term]:
    """Returns the words of the lexicon that stand in a text, in order; longer ones win over shorter ones."""
    table = _table()
    tokens = words(text)
    found: list[Term] = []
    at = 0
    while at < len(tokens):
        length = _longest(tokens, at, text, title=title)
        if length == 2 and _drawn(tokens, at) and _longest(tokens, at + 1, text, title=title) > 1:
            # What is done to blood stands before it: a blood group is looked at, and no blood is "drawn group".
            length = 0
        if length:
            start, end = tokens[at][1], tokens[at + length - 1][2]
            entry = table.entries[_key(tokens, at, length)]
            found.append(Term(text[start:end], start, end, entry.concepts, entry.roles, entry.hand))
        at += length or 1
    return found


_Tokens = Sequence[tuple[str, int, int]]


def _longest(tokens: _Tokens, at: int, text: str, *, title: bool) -> int:
    """Returns how many tokens the longest word has that begins here; 0 where none does."""
    if at >= len(tokens):
        return 0
    table = _table()
    for length in table.lengths.get(tokens[at][0], ()):
        if at + length > len(tokens):
            continue
        entry = table.entries.get(_key(tokens, at, length))
        if entry is None:
            continue
        said = text[tokens[at][1] : tokens[at + length - 1][2]]
        if title or not entry.capitals or any(letter.isupper() for letter in said):
            return length
    return 0


def _key(tokens: _Tokens, at: int, length: int) -> str:
    return " ".join([word for word, _, _ in tokens[at : at + length]])


def _drawn(tokens: _Tokens, at: int) -> bool:
    return "laboratory" in _table().entries[_key(tokens, at, 2)].concepts


PROCEDURE, REGION, MATERIAL, ANALYTE, PANEL = "procedure", "region", "material", "analyte", "panel"

ANYWHERE, BODY = "any", "body"
"""What is looked at in no certain material (a germ), and on the body itself (its temperature)."""

_Parents = Mapping[str, tuple[str, ...]]


class _Concepts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    procedures: dict[str, tuple[str, ...]]
    regions: dict[str, tuple[str, ...]]
    materials: dict[str, tuple[str, ...]]
    analytes: dict[str, dict[str, tuple[str, ...]]]
    panels: dict[str, tuple[str, ...]]
    at: dict[str, tuple[str, ...]]
    signs: dict[str, tuple[str, ...]]


_read = read_yaml(Path(__file__).with_name("concepts.yaml"), _Concepts)
_analytes: _Parents = {name: up for within in _read.analytes.values() for name, up in within.items()}
_parents: _Parents = {**_read.procedures, **_read.regions, **_read.materials, **_analytes}

KINDS: Mapping[str, str] = {
    **dict.fromkeys(_read.procedures, PROCEDURE),
    **dict.fromkeys(_read.regions, REGION),
    **dict.fromkeys(_read.materials, MATERIAL),
    **dict.fromkeys(_analytes, ANALYTE),
    **dict.fromkeys(_read.panels, PANEL),
}
"""Of which kind each concept is."""

AT: _Parents = _read.at
"""Where a procedure is done where nothing else is said."""

SIGNS: _Parents = _read.signs
"""How and where a sign on the body is looked for."""

_MATERIAL_OF = {name: material for material, within in _read.analytes.items() for name in within}


@functools.cache
def above(concept: str) -> frozenset[str]:
    """Returns a concept and all that it is a kind or a part of."""
    return frozenset((concept,)).union(*map(above, _parents.get(concept, ())))


@functools.cache
def parts(panel: str) -> frozenset[str]:
    """Returns a panel with all panels and analytes that belong to it."""
    return frozenset((panel,)).union(*map(parts, _read.panels.get(panel, ())))


@functools.cache
def material_of(concept: str) -> str:
    """Returns the material in which an analyte or a panel is looked at where nothing else is said."""
    if concept in _read.panels:
        return material_of(_read.panels[concept][0])
    return _MATERIAL_OF.get(concept, ANYWHERE)


def related(one: str, other: str) -> bool:
    """Whether two concepts are the same, or one is a kind or a part of the other."""
    return one in above(other) or other in above(one)


def any_related(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a concept of some is related to one of others."""
    others = tuple(others)
    return any(related(one, other) for one in some for other in others)


def siblings(one: str, other: str) -> bool:
    """Whether two concepts are kinds of the same."""
    return bool(above(one) & above(other))


def is_a(concept: str, *kinds: str) -> bool:
    """Whether a concept is one of these or a kind of one."""
    return not above(concept).isdisjoint(kinds)


_METHODS = ("microbiology", "serology", "pathology", "flow_cytometry", "genetic_test", "electrophoresis", "skin_test")
_NOT_ROUTINE = ("culture", "serology", "pathology", "genetic_test", "flow_cytometry", "detection", "skin_test")
_SAMPLED = (*_METHODS, "puncture", "laboratory")
_UNFRAMED = frozenset(("laboratory", "physical"))

_none: frozenset[str] = frozenset()


class OrderMeaning(NamedTuple):
    """How something is examined, where, in what material, and what is looked at: concepts by their kinds."""

    procedures: frozenset[str] = _none
    regions: frozenset[str] = _none
    materials: frozenset[str] = _none
    analytes: frozenset[str] = _none
    panels: frozenset[str] = _none

    def __or__(self, other: OrderMeaning) -> OrderMeaning:
        """Returns what is said by both together."""
        return OrderMeaning(*(mine | theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return not any(self)

    @property
    def in_material(self) -> frozenset[str]:
        """The materials that are named, else those in which what is named is looked at."""
        looked_at = (material_of(name) for name in self.analytes | self.panels)
        return self.materials or frozenset(looked_at) - {ANYWHERE}


class FindingTitle(NamedTuple):
    """What a recorded finding is called: its examination, its item, both together, and in what material it is."""

    examination: OrderMeaning
    item: OrderMeaning
    whole: OrderMeaning
    materials: frozenset[str]
    in_full: bool  # it tells of the whole panel that it names, and not of one part ("Neurological examination, gait")
    unread: bool  # what was done or looked at is not understood, so that it may be anything


_KIND = {PROCEDURE: 0, REGION: 1, MATERIAL: 2, ANALYTE: 3, PANEL: 4}


def meaning_of(concepts: Iterable[str]) -> OrderMeaning:
    """Returns concepts by their kinds."""
    fields: list[set[str]] = [set(), set(), set(), set(), set()]
    for concept in concepts:
        fields[_KIND[KINDS[concept]]].add(concept)
    return _settled(OrderMeaning(*map(frozenset, fields)))


@functools.lru_cache(maxsize=1 << 14)
def title_of(examination: str, item: str) -> FindingTitle:
    """Returns what the names of a finding mean; nothing where no word of them is known."""
    outer, inner = _called(examination), _called(item)
    # Glucose is looked at in blood, but in a urinalysis in urine.
    materials = inner.materials or (inner.in_material - {"blood"}) or outer.in_material or inner.in_material
    last = re.split("[,，]", item)[-1]
    in_full = not item or bool(_called(last).panels) or is_generic(key_of(last)) or (is_place(last) and last != item)
    told = outer | inner if inner.regions or inner.materials or not item else inner
    unread = not (told.procedures or told.analytes or told.panels)
    outer, inner, whole = (_settled(means) for means in (outer, inner, outer | inner))
    return FindingTitle(outer, inner, whole, materials, in_full, unread)


def _settled(means: OrderMeaning) -> OrderMeaning:
    """Says of a pulse that is felt at a limb that it is no heart rate."""
    if "pulse" in means.analytes and any(is_a(place, "limbs") for place in means.regions):
        return means._replace(analytes=means.analytes - {"pulse"} | {"peripheral_pulses"})
    return means


def _called(name: str) -> OrderMeaning:
    words = find_words(name, title=True)
    means = meaning_of(concept for word in words for concept in word.concepts)
    if not (means.procedures or means.analytes or means.panels) and any(GENERIC in word.roles for word in words):
        done = "physical" if means.regions else "laboratory" if means.materials else ""
        means = means._replace(procedures=frozenset((done,) if done else ()))
    places = frozenset(place for procedure in means.procedures for place in AT.get(procedure, ()))
    return means._replace(regions=means.regions | places)


@functools.lru_cache(maxsize=1 << 12)
def is_place(name: str) -> bool:
    """Whether a name is that of a part of the body or a material, and of nothing that is done there."""
    words = find_words(name, title=True)
    concepts = [concept for word in words for concept in word.concepts]
    known = sum(word.end - word.start for word in words if not word.roles)
    whole = known >= sum(letter.isalnum() for letter in name)
    return bool(concepts) and whole and all(KINDS[concept] in (REGION, MATERIAL) for concept in concepts)


@functools.lru_cache(maxsize=1 << 12)
def is_unspecific(name: str) -> bool:
    """Whether a name says that blood is examined, or something in a laboratory, and not for what: "blood work"."""
    means = _called(name)
    if means.analytes or means.panels or means.regions or not means.procedures | means.materials:
        return False
    return means.procedures <= {"laboratory"} and means.materials <= {"blood"}


# How close what is recorded is to what is ordered.
NOT, HOLDS_IT, A_PART, SAME = range(4)


@functools.lru_cache(maxsize=1 << 15)
def closeness(order: OrderMeaning, title: FindingTitle) -> int:
    """Returns how close a recorded finding is to an order.

    `SAME`: the same procedure and region, or the same thing looked at; `A_PART`: one of the things that the ordered
    panel looks at; `HOLDS_IT`: a text about a panel to which belongs what was ordered; `NOT`: something else.
    """
    if order.analytes:
        return _looks_at(order, title)
    if order.panels:
        return _is_panel(order, title)
    if _is_done(order, title):
        # "An examination of the sputum" is rather that than a count of one kind of its cells.
        certain = title.examination.analytes and "laboratory" in order.procedures and "blood" not in order.materials
        return A_PART if certain else SAME
    return HOLDS_IT if _looks_inside(order, title) or _is_of_sample(order, title) else NOT


def is_near(order: OrderMeaning, title: FindingTitle) -> bool:
    """Whether a finding is so near to an order that this cannot be called normal: a random for a fasting glucose."""
    if closeness(order, title):
        return True
    whole = title.whole
    if not _in_same_material(order, title):
        return False
    sampled = [[name for name in of.procedures if is_a(name, *_METHODS)] for of in (order, whole)]
    pairs = (*product(order.analytes, whole.analytes), *product(*sampled))
    return any(siblings(one, other) for one, other in pairs)


def may_hide(order: OrderMeaning, title: FindingTitle) -> bool:
    """Whether a finding may tell of what is ordered, for all that is understood of both."""
    if not (order.procedures or order.analytes or order.panels) or is_near(order, title):
        return True
    whole = title.whole
    if is_bodily(order):
        # What is said of the body is told in prose, under whatever heading.
        measured = title.item.analytes or (title.examination.analytes if title.item.is_empty else _none)
        vital = bool(measured) and measured <= parts("vital_signs") | parts("body_size")
        return (_is_bodily_title(title) and not vital) or whole.is_empty
    if _shows(order):
        images = any(is_a(name, "imaging", "endoscopy") for name in whole.procedures)
        alike = any_related(order.procedures, whole.procedures)
        unknown = not order.regions or not whole.regions
        hidden = title.unread and not (images or title.materials or _is_bodily_title(title))
        return (alike and unknown) or (hidden and _at_same_place(order, whole))
    if order.analytes and any(order.analytes & parts(panel) for panel in title.examination.panels):
        # Under "cardiac markers" the enzymes may be all that was told, and the troponin not.
        return True
    if title.unread and not _is_bodily_title(title):
        return not _shows(whole) and _in_same_material(order, title) and _at_same_place(order, whole)
    prose = whole.procedures <= {"laboratory"} and not (whole.analytes or whole.panels)
    return prose and bool(order.analytes | order.panels | order.materials) and _in_same_material(order, title)


def is_bodily(means: OrderMeaning) -> bool:
    """Whether something is examined on the body itself, by hands and eyes."""
    return any(is_a(name, "physical") for name in means.procedures) or any(
        material_of(name) == BODY for name in means.analytes | means.panels
    )


def _is_bodily_title(title: FindingTitle) -> bool:
    return is_bodily(title.whole) and not _shows(title.whole)


def _shows(means: OrderMeaning) -> bool:
    return any(is_a(name, "imaging", "endoscopy") for name in means.procedures)


def _is_sign(order: OrderMeaning, title: FindingTitle) -> bool:
    """Whether a finding tells of the part of the body on which a sign is looked for, examined as the sign is."""
    item, examination = title.item, title.examination
    looked_at = item.analytes or examination.analytes
    if looked_at or not _is_bodily_title(title) or not all(material_of(name) == BODY for name in order.analytes):
        return False
    seen = frozenset[str]().union(*(SIGNS.get(name, ()) for name in order.analytes))
    by = frozenset(name for name in item.procedures - _UNFRAMED if is_a(name, "physical"))
    how = frozenset(name for name in seen if KINDS[name] == PROCEDURE) | (order.procedures - _UNFRAMED)
    if by and not any_related(how, by):
        return False
    places = order.regions or (seen - how)
    return any_related(places, item.regions or examination.regions)


def _looks_at(order: OrderMeaning, title: FindingTitle) -> int:
    whole = title.whole
    if not order.panels and _is_sign(order, title):
        return HOLDS_IT
    if not (_in_same_material(order, title) and _by_same_method(order, whole) and _at_same_place(order, whole)):
        return NOT
    examination, item = title.examination, title.item
    looked_at = item.analytes or (_none if item.panels else examination.analytes)
    if any_related(order.analytes, looked_at):
        return SAME
    if not looked_at and "culture" in order.procedures & whole.procedures:
        # In a culture grows whatever is there.
        return HOLDS_IT if all(is_a(name, "organisms") for name in order.analytes) else NOT
    if looked_at or (order.procedures - _UNFRAMED and not whole.panels):
        return NOT
    here = any_related(order.regions, item.regions)
    if not (title.in_full or here) or item.procedures - _UNFRAMED:
        return NOT
    panels = item.panels or (examination.panels if item.is_empty else _none)
    return HOLDS_IT if any(order.analytes & parts(panel) for panel in panels) else NOT


def _is_panel(order: OrderMeaning, title: FindingTitle) -> int:
    examination, item = title.examination, title.item
    if not _in_same_material(order, title):
        return NOT
    ordered = frozenset[str]().union(*map(parts, order.panels))
    if item.panels & order.panels or examination.panels & order.panels:
        return SAME
    if (item.panels | examination.panels) & ordered or any_related(ordered, item.analytes or examination.analytes):
        return A_PART
    holding = item.panels or (examination.panels if not item.analytes else _none)
    return HOLDS_IT if any(order.panels & parts(panel) for panel in holding) else NOT


def _is_done(order: OrderMeaning, title: FindingTitle) -> bool:
    whole = title.whole
    if "laboratory" in order.procedures and order.procedures == {"laboratory"}:
        return bool(order.materials) and _is_laboratory(order, title)
    if any(is_a(name, "physical") for name in order.procedures):
        return _is_physical(order, title)
    ordered = _most_special(order.procedures - {"laboratory"})
    for sampled in (True, False):
        some = [name for name in ordered if is_a(name, *_SAMPLED) == sampled]
        if some and not any_related(some, whole.procedures):
            return False
    if not ordered or _is_another_part(ordered, title):
        return False
    if order.materials and not _materials_meet(order.materials, title.materials):
        # What is taken from a place may be recorded by the place alone.
        return False
    return _at_same_place(order, whole)


def _is_laboratory(order: OrderMeaning, title: FindingTitle) -> bool:
    whole = title.whole
    done = {name for name in whole.procedures if is_a(name, *_SAMPLED)}
    if not (whole.analytes or whole.panels or done):
        return False
    if "blood" in order.materials:
        # "A blood test" is what is done routinely.
        return "blood" in title.materials and not any(is_a(name, *_NOT_ROUTINE) for name in done)
    return _materials_meet(order.materials, title.materials)


def _is_physical(order: OrderMeaning, title: FindingTitle) -> bool:
    examination, item = title.examination, title.item
    whole = title.whole
    signs = any(material_of(name) == BODY for name in whole.analytes | whole.panels)
    done = [name for name in whole.procedures if is_a(name, "physical")]
    if not (done or signs) or any(is_a(name, "imaging", "endoscopy") for name in whole.procedures):
        return False
    certain = order.procedures - _UNFRAMED
    by = [name for name in done if name != "physical"]
    if certain and by and not any_related(certain, by) and not (certain <= {"inspection"}):
        return False
    if not order.regions:
        return not certain or bool(by)
    seen = {place for name in item.analytes for place in SIGNS.get(name, ()) if KINDS[place] == REGION}
    return any_related(order.regions, item.regions or seen or examination.regions)


def _is_of_sample(order: OrderMeaning, title: FindingTitle) -> bool:
    """Whether germs are ordered of a sample, and what is recorded is an examination of that sample."""
    germs = bool(order.procedures) and all(is_a(name, "microbiology") for name in order.procedures)
    other = title.item.analytes and not any(is_a(name, "organisms") for name in title.item.analytes)
    routine = title.whole.procedures == {"laboratory"} or (title.in_full and "stool_routine" in title.whole.panels)
    routine = routine and "blood" not in order.materials and not other
    return germs and routine and _materials_meet(order.materials, title.materials)


def _looks_inside(order: OrderMeaning, title: FindingTitle) -> bool:
    """Whether a doctor who looks into nose or throat sees what the finding says of an endoscopy there."""
    looks = bool(order.procedures & {"physical", "inspection"}) and any(is_a(name, "ent") for name in order.regions)
    seen = any(is_a(name, "endoscopy") for name in title.whole.procedures)
    return looks and seen and any_related(order.regions, title.whole.regions)


def _is_another_part(ordered: Iterable[str], title: FindingTitle) -> bool:
    """Whether an item is another part of an examination of which only a part is ordered: a peak flow, no blood gas."""
    part = title.item.procedures | title.item.analytes
    whole = all(any(is_a(done, name) for done in title.whole.procedures) for name in ordered)
    return bool(part) and not whole and not any_related(ordered, part)


def _most_special(procedures: Iterable[str]) -> list[str]:
    """Leaves out the procedures of which others are kinds: a swab that is looked at by PCR is so in no other way."""
    every = list(procedures)
    return [name for name in every if not any(name != other and is_a(other, name) for other in every)]


def is_the_very(order: OrderMeaning, title: FindingTitle) -> bool:
    """Whether a finding that is the same as an ordered image is of the very region, and not of a part or a whole."""
    return _shows(order) and not order.regions.isdisjoint(title.whole.regions)


def any_at(regions: frozenset[str], title: FindingTitle) -> bool:
    """Whether a finding is of one of these regions, or of a part of one."""
    return any_related(regions, title.whole.regions)


def _at_same_place(order: OrderMeaning, whole: OrderMeaning) -> bool:
    return not order.regions or not whole.regions or any_related(order.regions, whole.regions)


def _by_same_method(order: OrderMeaning, whole: OrderMeaning) -> bool:
    ordered, by = (_most_special(name for name in of.procedures if is_a(name, *_METHODS)) for of in (order, whole))
    if not ordered or any_related(ordered, by):
        return True
    # A germ, or what one is allergic to, may be recorded without how it was looked for.
    if not by and "allergens" in order.analytes & whole.analytes:
        return True
    return not by and any(is_a(name, "organisms") for name in order.analytes)


def _in_same_material(order: OrderMeaning, title: FindingTitle) -> bool:
    ordered, recorded = order.in_material, title.materials
    return not ordered or not recorded or _materials_meet(ordered, recorded)


def _materials_meet(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(related(one, other) for one in some for other in others)


def may_be_about(name: str, title: FindingTitle) -> bool:
    """Whether a name says anything of how, where or in what a finding was made: far less than that it asks for it."""
    said, whole = title_of(name, "").whole, title.whole
    groups = zip(said[:4], whole[:4], strict=True)
    looked_at = (frozenset[str]().union(*map(parts, of.panels | of.analytes)) for of in (said, whole))
    return any(any_related(some, others) for some, others in groups) or any_related(*looked_at)
