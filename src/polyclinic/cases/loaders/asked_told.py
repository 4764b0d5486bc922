"""What was asked of a patient, told by the patient: "Has your skin turned yellow?" as "My skin has turned yellow".

By English grammar, whatever is asked: the auxiliary goes behind its subject, or into the verb where it is "do"; you
become I; what is asked for as "any" is "some". "Where", "what" and "how" with their answers, and "Characterize your
pain", become statements with the answer in its place. A question that is built otherwise keeps its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_AUX = r"(?:do|does|did|have|has|are|is|were|was|can|could)"
_DET = r"(?:your|the|any|some|a|an|one|both|these|those|this|that)"
_KIN = r"(?:(?:close |immediate )*family(?: members?)?|members?)"
_NOUN = rf"(?:(?:{_DET}) )?(?:{_KIN}|[\w-]+)"
_PERSON = re.compile(r"\bthe (?:person|patient)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"(?:you(?: or (?:any|a) {_KIN} of {_NOUN})?|there|(?:(?:any|some|every)(?:one|body)|"
    rf"{_DET} (?:of {_NOUN}|{_KIN}|(?:\w+ed )?[\w-]+))(?: (?:of|or|in) {_NOUN})*)(?= |$)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    rf"(?P<lead>(?:in|within|over|during|since) [^,]+, )?(?P<aux>{_AUX}) (?P<rest>.+)", re.IGNORECASE | re.DOTALL
)
_AGAIN = re.compile(rf",? or (?={_AUX} (?:you|your|the)\b|(?:is|are|was|were) (?:a|an|any|one)\b)", re.IGNORECASE)
_BOTH_TIMES = re.compile(
    rf"(?P<aux>{_AUX}) you(?P<when> \w+)?, or (?P<other>{_AUX}) you(?P<then> \w+)?, (?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_OPEN = re.compile(
    rf"(?P<word>where|what (?P<noun>\w+)|how (?P<how>\w+)) (?P<aux>{_AUX}) (?P<rest>.+)", re.IGNORECASE | re.DOTALL
)
_ORDERED = re.compile(
    r"(?!what|where|how|when|who|which|why)[A-Z]\w+ (?P<what>(?:your|the) .+)", re.IGNORECASE | re.DOTALL
)
# What is only explained to the asked goes; an abbreviation stays ("(COPD)").
_EXPLAINED = re.compile(r"\s*\(+(?![A-Z]{2,6}\))[^()]*\)+")
_CONSULTED = re.compile(
    r",? (?:that you believe (?:is|are) )?related to (?:your|the) [^,?]*\bconsult\w*[^,?]*", re.IGNORECASE
)
_FILLER = re.compile(r"\b(?:ever|also) ", re.IGNORECASE)
_ADVERBS = re.compile(r"(?:(?:\w+ly|often|always|never) )*", re.IGNORECASE)
_VERB = re.compile(r"[A-Za-z]+")
_ANY = re.compile(r"\bany((?:one|body|thing|where)?)\b")
_IRREGULAR = {
    "be": "was", "become": "became", "begin": "began", "bleed": "bled", "break": "broke", "bring": "brought",
    "catch": "caught", "come": "came", "cut": "cut", "do": "did", "drink": "drank", "eat": "ate", "fall": "fell",
    "feel": "felt", "find": "found", "get": "got", "give": "gave", "go": "went", "grow": "grew", "have": "had",
    "hear": "heard", "hit": "hit", "hurt": "hurt", "keep": "kept", "know": "knew", "leave": "left", "lie": "lay",
    "lose": "lost", "make": "made", "put": "put", "run": "ran", "see": "saw", "sleep": "slept", "spread": "spread",
    "stop": "stopped", "swell": "swelled", "take": "took", "tell": "told", "think": "thought", "throw": "threw",
    "wake": "woke",
}  # fmt: skip
_AGREES = {"are": "am", "were": "was"}
_SIDES = {"R": "right", "L": "left"}
_PLACE = re.compile(r"\s*(.*?)\s*\((R|L)\)\s*")
_SOMEWHERE = re.compile(
    r"\b(?:(to|in) )?(?:somewhere|another (?:location|place|area)|one or more areas of (?:my|the) body)\b"
)
_PLACED = ("in ", "under ", "above ", "on ", "at ", "over ", "behind ", "below ", "around ")
_NOWHERE = "nowhere"
_YES, _NO, _UNKNOWN = "Y", "N", "NA"
_ME_BEFORE = r"(?=$|[.,;]| (?:up|from|to|at|in|on|for|with|and|or|by|as)\b)"
_IN_TURN = (
    (r"\byou(?: are|['’]re)\b", "I am"),
    (r"\byou were\b", "I was"),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\byour\b", "my"),
    (rf"(?<=\w )you{_ME_BEFORE}", "me"),
    (r"\byou\b", "I"),
)  # fmt: skip


def told(question: str, values: Sequence[str] = (), scale: int | None = None) -> str:
    """Returns a question and its answers as the patient's statement; without answers, the answer is yes.

    `scale`: the highest number that can be answered, where the answer is a number.
    """
    asked = _PERSON.sub("you", _EXPLAINED.sub("", " ".join(question.split())))
    asked = re.sub(r"(?i)\bdoes you\b", "do you", _CONSULTED.sub("", asked)).rstrip(" ?:.")
    if (both := _BOTH_TIMES.fullmatch(asked)) is not None:
        return _sentence(_of_both_times(both), values)
    if (ordered := _ORDERED.fullmatch(asked)) is not None and not _ASKED.fullmatch(asked):
        return _is(ordered["what"], values)
    if (open_ := _OPEN.fullmatch(asked)) is not None and values:
        return _open(open_, values, scale)
    return _polar(asked, values, scale)


def _polar(asked: str, values: Sequence[str], scale: int | None) -> str:
    """Returns whether something is so; a value that is no yes or no says where, or which."""
    first = values[0] if values else _YES
    no = first in (_NO, _NOWHERE) or (scale is not None and first == "0")
    statements = [_inverted(clause, denied=no) for clause in _AGAIN.split(asked)]
    if not all(statements):
        return ": ".join(filter(None, [_in_turn(asked), ", ".join(values) or "yes"]))
    text = " or ".join(statements)
    if not no:
        text = _ANY.sub(r"some\1", text)
    rest = [value for value in values if value not in (_YES, _NO, _NOWHERE, _UNKNOWN)]
    if first == _UNKNOWN:
        return _sentence(f"I cannot say whether {_lowered(text)}")
    if no:
        return _sentence(re.sub(r"\bsomewhere\b", "anywhere", text))
    if rest and _SOMEWHERE.search(text):
        where = _listed([_place(value) for value in rest])
        return _sentence(_SOMEWHERE.sub(lambda m: f"to the {where}" if m[1] == "to" else _at(where), text, count=1))
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


def _is(what: str, values: Sequence[str]) -> str:
    """Returns what something is like; what is called by a thing is like that thing ("a cramp")."""
    known = [value for value in values if value != _UNKNOWN]
    if not known:
        return _sentence(f"I cannot say what {_in_turn(what)} is like")
    said = [f"like {value}" if re.match(r"(?:an?|the) ", value) else value for value in known]
    return _sentence(f"{_in_turn(what)} is {_listed(said)}")


def _of_both_times(asked: re.Match[str]) -> str:
    """Returns "I previously did, or currently do, have weakness"."""
    times = [
        _FILLER.sub("", f"{asked[when] or ''} ") + asked[aux] for when, aux in (("when", "aux"), ("then", "other"))
    ]
    what = _ANY.sub(r"some\1", _in_turn(asked["what"]))
    first, second = (" ".join(one.casefold().split()) for one in times)
    return f"I {first}, or {second}, {what}"


def _inverted(clause: str, *, denied: bool) -> str:
    """Returns a yes-no question as a statement, or as its denial; "" where it is none."""
    found = _ASKED.fullmatch(clause.strip())
    if found is None or (subject := _SUBJECT.match(found["rest"])) is None:
        return ""
    aux, who = found["aux"].casefold(), subject[0]
    rest = _FILLER.sub("", found["rest"][subject.end() :].strip() + " ").strip()
    if aux in ("do", "does", "did"):
        said = f"{aux} not {rest}" if denied else _verb_in(aux, rest)
    else:
        said = f"{_agreeing(aux, who)}{' not' if denied else ''} {rest}"
    return f"{found['lead'] or ''}{_in_turn(f'{who} {said}')}".strip()


def _agreeing(aux: str, who: str) -> str:
    """Returns the form of an auxiliary that goes with the subject once it speaks for itself."""
    return _AGREES.get(aux, aux) if who.casefold() == "you" else aux


def _verb_in(aux: str, rest: str) -> str:
    """Returns a verb phrase in the time and person that "do" had."""
    adverbs = _ADVERBS.match(rest)
    begin = adverbs.end() if adverbs else 0
    verb = _VERB.match(rest, begin)
    if aux == "do" or verb is None:
        return rest
    word = verb[0]
    if aux == "does":
        irregular = {"have": "has", "do": "does", "go": "goes", "be": "is"}
        form = irregular.get(word) or word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
    else:
        form = _IRREGULAR.get(word) or (f"{word}d" if word.endswith("e") else f"{word}ed")
    return f"{rest[:begin]}{form}{rest[verb.end() :]}"


def _place(value: str) -> str:
    """Returns a part of the body as it is said: "shoulder(L)" as "left shoulder"."""
    sided = _PLACE.fullmatch(value)
    return f"{_SIDES[sided[2]]} {sided[1]}" if sided else value


def _at(where: str) -> str:
    return where if where.startswith(_PLACED) else f"in the {where}"


def _listed(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _in_turn(text: str) -> str:
    """Returns what was said to the patient as the patient says it."""
    for pattern, mine in _IN_TURN:
        text = re.sub(pattern, mine, text, flags=re.IGNORECASE)
    return text


def _lowered(text: str) -> str:
    return text if text.startswith("I ") else text[:1].lower() + text[1:]


def _sentence(text: str, values: Sequence[str] = ()) -> str:
    """Returns a text with a capital, and with what is answered besides."""
    said = ": ".join(filter(None, [text, ", ".join(values)]))
    return said[:1].upper() + said[1:]
