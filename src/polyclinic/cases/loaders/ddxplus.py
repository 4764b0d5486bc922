"""DDXPlus's patients, a row each (Fansi Tchango et al., arXiv:2205.09148).

The rows have codes; what they mean stands in `release_evidences.json` and `release_conditions.json`, which the data set
puts beside them. Where these do not lie in the same folder, the codes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fields import WORDS, age_in_years, as_text, literal, sex_of
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON
from polyclinic.language.word_lists import Pattern, Rule, rewritten
from polyclinic.opened_files import read_at_once

_patterns = WORDS.section("ddxplus", dict[str, Pattern])("en")
_verbs = WORDS.section("ddxplus_verbs", dict[str, dict[str, str]])("en")
_turns = WORDS.section("ddxplus_turns", dict[str, tuple[Rule, ...]])("en")
_SIDES = {"R": "right", "L": "left"}
_PLACED = ("in ", "under ", "above ", "on ", "at ", "over ", "behind ", "below ", "around ")
_NOWHERE = "nowhere"
_YES, _NO, _UNKNOWN = "Y", "N", "NA"


def told(question: str, values: Sequence[str] = (), scale: int | None = None) -> str:
    """Returns a question and its answers as the patient's statement; without answers, the answer is yes.

    `scale`: the highest number that can be answered, where the answer is a number.
    """
    asked = _patterns["person"].sub("you", _patterns["explained"].sub("", " ".join(question.split())))
    asked = re.sub(r"(?i)\bdoes you\b", "do you", _patterns["consulted"].sub("", asked)).rstrip(" ?:.")
    if (both := _patterns["both_times"].fullmatch(asked)) is not None:
        return _sentence(_of_both_times(both), values)
    if (ordered := _patterns["ordered"].fullmatch(asked)) is not None and not _patterns["asked"].fullmatch(asked):
        what = ordered["what"]
        known = [value for value in values if value != _UNKNOWN]
        if not known:
            return _sentence(f"I cannot say what {_in_turn(what)} is like")
        said = [f"like {value}" if re.match(r"(?:an?|the) ", value) else value for value in known]
        return _sentence(f"{_in_turn(what)} is {_listed(said)}")
    if (open_ := _patterns["open"].fullmatch(asked)) is not None and values:
        return _open(open_, values, scale)
    return _polar(asked, values, scale)


def _polar(asked: str, values: Sequence[str], scale: int | None) -> str:
    """Returns whether something is so; a value that is no yes or no says where, or which."""
    first = values[0] if values else _YES
    no = first in (_NO, _NOWHERE) or (scale is not None and first == "0")
    statements = [_inverted(clause, denied=no) for clause in _patterns["again"].split(asked)]
    if not all(statements):
        return ": ".join(filter(None, [_in_turn(asked), ", ".join(values) or "yes"]))
    text = " or ".join(statements)
    if not no:
        text = _patterns["any"].sub(r"some\1", text)
    rest = [value for value in values if value not in (_YES, _NO, _NOWHERE, _UNKNOWN)]
    if first == _UNKNOWN:
        return _sentence(f"I cannot say whether {_lowered(text)}")
    if no:
        return _sentence(re.sub(r"\bsomewhere\b", "anywhere", text))
    if rest and _patterns["somewhere"].search(text):
        where = _listed([_place(value) for value in rest])
        return _sentence(
            _patterns["somewhere"].sub(lambda m: f"to the {where}" if m[1] == "to" else _at(where), text, count=1)
        )
    if scale is not None and rest:
        rest = [f"{rest[0]} of {scale}"]
    return _sentence(text, rest)


def _open(asked: re.Match[str], values: Sequence[str], scale: int | None) -> str:
    aux, rest = asked["aux"].casefold(), asked["rest"]
    of_quality = asked["how"] and not asked["how"].endswith("ly") and aux in ("is", "are", "was", "were")
    # "How bad is the pain that you have": all of it is what is bad.
    statement = f"{_in_turn(rest)} {aux}" if of_quality else _inverted(f"{aux} {rest}", denied=False)
    if not statement:
        return f"{_in_turn(asked[0])}: {', '.join(values)}"
    if list(values) == [_UNKNOWN]:
        return _sentence(f"I cannot say {asked['word'].casefold()} {_lowered(statement)}")
    if asked["how"]:
        number = f"{values[0]} of {scale}" if scale is not None else _listed(values)
        return _sentence(f"I would put {asked['word'].casefold()} {_lowered(statement)} at {number}")
    if asked["noun"]:
        return _sentence(f"the {asked['noun']} of {_in_turn(rest)} {aux} {_listed(values)}")
    if list(values) == [_NOWHERE]:
        return _sentence(f"{statement} {_NOWHERE}")
    return _sentence(f"{statement} {_at(_listed([_place(value) for value in values if value != _NOWHERE]))}")


def _of_both_times(asked: re.Match[str]) -> str:
    """Returns "I previously did, or currently do, have weakness"."""
    times = [
        _patterns["filler"].sub("", f"{asked[when] or ''} ") + asked[aux]
        for when, aux in (("when", "aux"), ("then", "other"))
    ]
    what = _patterns["any"].sub(r"some\1", _in_turn(asked["what"]))
    first, second = (" ".join(one.casefold().split()) for one in times)
    return f"I {first}, or {second}, {what}"


def _inverted(clause: str, *, denied: bool) -> str:
    """Returns a yes-no question as a statement, or as its denial; "" where it is none."""
    found = _patterns["asked"].fullmatch(clause.strip())
    if found is None or (subject := _patterns["subject"].match(found["rest"])) is None:
        return ""
    aux, who = found["aux"].casefold(), subject[0]
    rest = _patterns["filler"].sub("", found["rest"][subject.end() :].strip() + " ").strip()
    if aux in ("do", "does", "did"):
        said = f"{aux} not {rest}" if denied else _verb_in(aux, rest)
    else:
        # The form of an auxiliary that goes with the subject once it speaks for itself.
        agreeing = _verbs["agreeing"].get(aux, aux) if who.casefold() == "you" else aux
        said = f"{agreeing}{' not' if denied else ''} {rest}"
    return f"{found['lead'] or ''}{_in_turn(f'{who} {said}')}".strip()


def _verb_in(aux: str, rest: str) -> str:
    """Returns a verb phrase in the time and person that "do" had."""
    adverbs = _patterns["adverbs"].match(rest)
    begin = adverbs.end() if adverbs else 0
    verb = _patterns["verb"].match(rest, begin)
    if aux == "do" or verb is None:
        return rest
    word = verb[0]
    if aux == "does":
        form = _verbs["third"].get(word) or word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
    else:
        form = _verbs["past"].get(word) or (f"{word}d" if word.endswith("e") else f"{word}ed")
    return f"{rest[:begin]}{form}{rest[verb.end() :]}"


def _place(value: str) -> str:
    """Returns a part of the body as it is said: "shoulder(L)" as "left shoulder"."""
    sided = _patterns["place"].fullmatch(value)
    return f"{_SIDES[sided[2]]} {sided[1]}" if sided else value


def _at(where: str) -> str:
    return where if where.startswith(_PLACED) else f"in the {where}"


def _listed(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _in_turn(text: str) -> str:
    """Returns what was said to the patient as the patient says it."""
    return rewritten(text, _turns["mine"])


def _lowered(text: str) -> str:
    return text if text.startswith("I ") else text[:1].lower() + text[1:]


def _sentence(text: str, values: Sequence[str] = ()) -> str:
    """Returns a text with a capital, and with what is answered besides."""
    said = ": ".join(filter(None, [text, ", ".join(values)]))
    return said[:1].upper() + said[1:]


_EVIDENCES, _CONDITIONS = "release_evidences.json", "release_conditions.json"
_VALUE = "_@_"
_KIN_DDXPLUS = re.compile(r"\b(?:family|mother|father|parents?|brothers?|sisters?)\b")
_OWN = re.compile(r"I (?:have had|or)\b")


class _PatientEvidence(msgspec.Struct, frozen=True):
    question_en: str = ""
    is_antecedent: bool = False
    value_meaning: dict[str, dict[str, Any]] = {}
    possible_values: list[Any] = msgspec.field(name="possible-values", default_factory=list)


class _PatientCondition(msgspec.Struct, frozen=True):
    icd10: str = msgspec.field(name="icd10-id", default="")
    english: str = msgspec.field(name="cond-name-eng", default="")


def load(record: dict[str, Any], order: int, beside: Path = Path()) -> Case:
    """Reads a DDXPlus row; the id is its number in the file. The files of names lie in the folder `beside`."""
    evidences = _read(beside / _EVIDENCES, _PatientEvidence)
    conditions = _read(beside / _CONDITIONS, _PatientCondition)
    pathology = as_text(record.get("PATHOLOGY"))
    if not pathology:
        raise BadInput("a case needs its diagnosis", field="$.PATHOLOGY")
    held = literal(record.get("EVIDENCES"))
    if not isinstance(held, list) or not held:
        raise BadInput(
            "a case needs its evidences, a list of codes such as ['E_91', 'E_55_@_V_29']", field="$.EVIDENCES"
        )
    codes = [as_text(code) for code in held]
    initial = as_text(record.get("INITIAL_EVIDENCE")) or codes[0]
    by_code: dict[str, list[str]] = {}
    for code in codes:
        name, _, value = code.partition(_VALUE)
        by_code.setdefault(name, []).extend([value] if value else [])
    said = {name: _told(name, values, evidences.get(name)) for name, values in by_code.items()}
    begin = initial.partition(_VALUE)[0]
    before = [text for name, text in said.items() if name in evidences and evidences[name].is_antecedent]
    family = [text for text in before if _KIN_DDXPLUS.search(text) and not _OWN.match(text)]  # of the family alone
    symptoms = [text for name, text in said.items() if text not in before and name != begin]
    listed: list[tuple[str, float | None]] = []
    differential = literal(record.get("DIFFERENTIAL_DIAGNOSIS"))
    for one in differential if isinstance(differential, list) else ():
        pair: list[Any] = [*(one if isinstance(one, list | tuple) else [one]), None, None]
        named, share = pair[:2]
        is_share = isinstance(share, float) or (isinstance(share, int) and not isinstance(share, bool))
        if name := as_text(named):
            listed.append((name, float(share) if is_share and 0 <= share <= 1 else None))
    about = conditions.get(pathology, _PatientCondition())
    # Some conditions have several codes, and each is one of them.
    icd10 = re.split(r"[,;\s]+", about.icd10.strip().upper())[0]
    return Case(
        id=as_text(record.get("id")) or str(order),
        record=Record(
            presentation=Presentation(
                complaint=said.get(begin) or _told(begin, (), evidences.get(begin)),
                age=age_in_years(as_text(record.get("AGE"))),
                sex=sex_of(as_text(record.get("SEX"))),
            ),
            history=History(
                symptoms=tuple(symptoms),
                past="; ".join(text for text in before if text not in family),
                family="; ".join(family),
            ),
        ),
        truth=Truth(
            diagnoses=(Diagnosis(about.english or pathology, icd10=icd10 or None),),
            differential=tuple(name for name, _ in listed if name != pathology),
            probabilities=tuple((name, share) for name, share in listed if share is not None) or msgspec.UNSET,
        ),
        setting="online",
        source="DDXPlus (arXiv:2205.09148)",
    )


def _told(code: str, values: Sequence[str], evidence: _PatientEvidence | None) -> str:
    """Returns how a patient says that it has something: "I have a fever", "The swelling is located in the nose"."""
    if evidence is None or not evidence.question_en:
        return ": ".join(part for part in (code, ", ".join(values)) if part)
    meant = [as_text(evidence.value_meaning.get(value, {}).get("en")) or value for value in values]
    numbers = [one for one in evidence.possible_values if isinstance(one, int)]
    return told(evidence.question_en, meant, max(numbers, default=None))


def _read(path: Path, kind: Any) -> Mapping[str, Any]:
    """Returns a file of names by code; nothing where there is none."""
    try:
        about = path.stat()
    except OSError:
        return {}
    return _decoded(path, kind, about.st_mtime_ns)


@lru_cache(maxsize=8)
def _decoded(path: Path, kind: Any, _changed: int) -> Mapping[str, Any]:
    try:
        read: Mapping[str, Any] = msgspec.json.decode(read_at_once(path), type=dict[str, kind])
    except (BadInput, *NO_JSON) as error:
        raise BadInput(f"{path.name}, which has the names of the codes, cannot be read ({error})") from None
    return read


LAYOUTS = (Layout("ddxplus", frozenset({"EVIDENCES", "PATHOLOGY"}), load, needs_folder=True),)
