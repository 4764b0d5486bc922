"""Whether a piece of text names options of a question: by key, by text, or by both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from polyclinic.cases.presentation import Question

_OPEN = r"""[(\[{<"'“‘「『【《$]*\s*"""
_CLOSE = r"""\s*[)\]}>"'”’」』】》$]*"""
# A key ends where a word ends: not in "B-cell", "I'm", "2.5", "A+".
_END = r"(?![A-Za-z0-9])(?![-'’+%°/][A-Za-z0-9])(?!\.\d)(?!\+)"
_LEAD = re.compile(
    r"""[\s:=]*(?:(?:(?:most\s+(?:likely|probably)|likely|probably|clearly|definitely|certainly|therefore|thus|indeed|still
        |simply|now|both|option|choice|answer|letter|the\s+(?:option|choice|letter))(?![A-Za-z])
        |选项|选择|选|应该?是|应为|为|是)[\s:]*(?![\s:]*$))+""",
    re.VERBOSE | re.IGNORECASE,
)
_AND = re.compile(r"\s*(?:,\s*and\b|[,;、&+/]|\band\b|和|以及|及|与)\s*|\s+(?=\S)", re.IGNORECASE)
_COMMA = re.compile(r"\s*[,、]\s*")
_LISTED = re.compile(r"\s*(?:,\s*and\b|[,;、&+/\n]|\band\b|和|以及|及|与)\s*", re.IGNORECASE)
_OR = re.compile(r"\s*,?\s*(?:\bor\b|或者?|还是|\bversus\b|\bvs\b\.?)\s*", re.IGNORECASE)
_TRAILING = " \t\n.,;:!。、；，！\"'”’"
_BECAUSE = re.compile(
    r"\s*[,;]?\s*(?:(?:because|since|as|due|rather|not|instead|over|given|based|which|being|here|in\s+this|according"
    r"|and\s+not|but\s+not)\b|因为|是因为|由于|理由|而不是|而非|最符合|最合适|最恰当)",
    re.IGNORECASE,
)
_SUFFIX_ONLY = re.compile(r"(?:选项|项)[\s.。]*$")
_SUFFIX = re.compile(r"\s*(?:选项|项|这一项|这个选项)?")
_STOP = re.compile(r"\s*(?:$|[.,;:!。、()—–|](?!\d)|-\s|-$)")
_SENTENCE = re.compile(r"(?<=[.!?。！？;])(?:\s|$)|(?<=[。！？])|\n")
_MAYBE = (
    r"(?:\bor\b|\bmaybe\b|\bperhaps\b|\bpossibly\b|\b(?:could|might|may)(?:\s+also)?\s+be\b|\balternatively\b"
    r"|\bas\s+well\s+as\b|或者?|还是|也可能是?|也可以?选?)(?:\s|,|also|even|possibly|perhaps|maybe|option|choice|选项|是|选)*"
)
_SET_OFF = re.compile(r"\s*(?:[,.;:!。—–]|-\s|$)")
_AGAINST = re.compile(
    r"\W*(?:this|that|it)?(?:\s+(?:option|choice|answer))?(?:\s+is|'s)?\s*(?:\W*)(?:wrong|incorrect|not|false|unlikely)\b"
    r"|\W*(?:错误?|不)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|no|wrong|incorrect|false|unlikely|less|exclud\w+|ruled?|never|cannot)\b|n't\b|错|不|排除|非|无",
    re.IGNORECASE,
)
_LETTER = re.compile(rf"{_OPEN}([A-Z]){_END}{_CLOSE}\s*(?:$|[.,;:)。、])")


class Said(msgspec.Struct, frozen=True):
    """What a piece of text says: keys, or what keeps it from saying any."""

    keys: frozenset[str] = frozenset()
    problem: str = ""


class Options:
    """The options of a question, ready to be found in text that has been through `plain`."""

    def __init__(self, question: Question) -> None:
        self._several = question.several
        self._order = list(question.options)
        by_exact = {plain(key).strip(): key for key in question.options}
        by_folded = {fold(key): key for key in question.options}
        ignore_case = len(by_folded) == len(by_exact)
        self._by_name = by_folded if ignore_case else by_exact
        self._name = fold if ignore_case else lambda text: plain(text).strip()
        self._glue = by_exact if all(len(name) == 1 and name.isalpha() for name in by_exact) else {}
        self.words = tuple(name for name in by_folded if len(name) > 1 or not name.isascii())
        self._texts: dict[str, list[str]] = {}
        for key, text in question.options.items():
            self._texts.setdefault(fold(text), []).append(key)
        names = sorted(by_exact, key=len, reverse=True)
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        one = "|".join(re.escape(name) + (_END if name[-1:].isascii() else "") for name in names)
        self._mark = re.compile(rf"{_OPEN}(?P<key>{one}){_CLOSE}", flags)
        another = rf"\s*(?:{one})\s*(?:[,、\s.。]|$)"
        self._label = re.compile(rf"(?:^|(?<=[\s.;,。；，]))\(?(?P<key>{one})[.):、](?!{another})", re.MULTILINE)
        self._alternative = re.compile(rf"{_MAYBE}\(?(?P<key>{one})(?!\s+[a-z])", flags)
        self._excluded = re.compile(
            rf"(?:\brather\s+than|\binstead\s+of|\bnot|\bover|\bunlike|而不是|而非|不是)\s*(?:{one})(?:\s*(?:,|\bn?or\b|\band\b|或者?|和|、)\s*(?:{one}))*",
            flags,
        )
        self._set_off = re.compile(
            rf"(?:[,;、]\s*|\b(?:and|or|but)\s+(?:also\s+|perhaps\s+|maybe\s+)?)(?P<key>{one})\s*(?:[,;.!?。]|$)", flags
        )

    def key(self, name: str) -> str | None:
        """Returns the key that a text is, brackets and quotation marks aside."""
        if (key := self._by_name.get(self._name(name))) is not None:
            return key
        match = self._mark.fullmatch(name.strip(_TRAILING))
        return self._by_name[self._name(match["key"])] if match else None

    def is_word(self, key: str) -> bool:
        """Tells whether a key is a word ("yes"), which means itself wherever it stands by itself."""
        return fold(key) in self.words

    def other_key(self, text: str, keys: frozenset[str]) -> bool:
        """Tells whether the first line of a text names another option than these by its key."""
        found = re.finditer(r"[A-Za-z0-9]+|[^\W\d]", text.lstrip(" ,.:;!").split("\n", 1)[0][:300])
        # "a" among words is an article, "A" a key.
        named = (self._by_name.get(self._name(word[0])) for word in found if len(word[0]) > 1 or word[0] in self._order)
        return any(key is not None and key not in keys for key in named)

    def labels(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields where the text labels something with a key ("B. ..."), and the option's place in their order."""
        for match in self._label.finditer(text):
            yield match.start(), self._order.index(self._by_name[self._name(match["key"])])

    def whole(self, text: str) -> Said | None:
        """Reads a text that is nothing but keys or an option's text.

        Returns:
            What it says; None where it says something else.
        """
        text = text.strip()
        for attempt in dict.fromkeys((text, _without_lead(text), _SUFFIX_ONLY.sub("", _without_lead(text)))):
            if (key := self.key(attempt)) is not None:
                same = self._texts.get(fold(attempt), [key])
                if key not in same and plain(key) not in attempt:
                    return Said(problem=f"{attempt!r} is the text of {_row(same)}, and nearly the key {key}")
                return Said(frozenset([key]))
            if not self._several and (said := self._same_text(attempt)):
                return said
            if (said := self._list(attempt)) is not None:
                return said
            if said := self._same_text(attempt):
                return said
            if (said := self._text_and_key(attempt)) is not None:
                return said
            match = self._mark.match(attempt)
            if match and (rest := re.sub(r"^\s*[.,:;)、—–=(-]*\s*", "", attempt[match.end() :])):
                key = self._by_name[self._name(match["key"])]
                rest = rest.strip(_TRAILING).removesuffix(")") if rest.count(")") > rest.count("(") else rest
                if (said := self._same_text(rest)) is not None:
                    return said if said.problem and not self._is_text_of(rest, key) else self._agreed(key, rest)
        return None

    def beginning(self, text: str) -> Said | None:
        """Reads a text that begins with keys or an option's text and goes on in a way that does not touch it.

        Returns:
            What it says; None where it says something else.
        """
        text = text.strip()
        for piece in (text, *_openings(text)):
            # In "B. Metformin" the stop ends no sentence, and "C. difficile" is no C.
            if (piece == text or self.key(_without_lead(piece)) is None) and (said := self.whole(piece)) is not None:
                return said if said.problem else self._unless_open(said, text[len(piece) :])
        text = _without_lead(text)
        if (by_text := self._text_prefix(text)) is not None:
            return by_text
        end, keys, alternatives = self._marks(text)
        if not keys:
            letter = _LETTER.match(text)
            return Said(problem=f"{letter[1]} is none of the options") if letter and not self.words else None
        rest = text[end:]
        rest = rest[_SUFFIX.match(rest).end() :]  # type: ignore[union-attr]  # it matches the empty text too
        if not (_BECAUSE.match(rest) or _STOP.match(rest)) or self._is_abbreviation(rest, keys[-1]):
            return None
        if alternatives:
            return _too_many(keys)
        divider = _AND.match(rest) or _OR.match(rest)
        if divider and divider[0].strip() and not self.words and (letter := _LETTER.match(rest, divider.end())):
            return Said(problem=f"{letter[1]} is none of the options")
        said = self._counted(keys)
        return said if said.problem else self._unless_other_text(said, rest) or self._unless_open(said, rest)

    def leading(self, line: str) -> Said | None:
        """Reads a line that stands by itself and begins with keys: "B", "(B) text", "B because ...", "Yes, ...".

        Returns:
            What it says; None where it says something else, or speaks against the option.
        """
        line = re.sub(r"""^[^\w(\[{"'“‘「『【《<$]+""", "", line.strip())
        if (said := self.whole(line) or self._by_word(line)) is not None:
            return said
        for piece in _openings(line):
            if self.key(_without_lead(piece)) is None and (said := self.whole(piece)) is not None:
                against = _AGAINST.match(line[len(piece) :])
                return None if against else said if said.problem else self._unless_open(said, line[len(piece) :])
        match = self._mark.match(line)
        rest = line[match.end() :] if match else ""
        if match and (_BECAUSE.match(rest) or (re.match(r"\s*[.:)—–-]|(?<=\))\s", rest) and not _DOUBT.search(line))):
            return self.beginning(line)
        folded = [known for known in self._texts if known and fold(line).startswith(known)]
        return self.beginning(line) if folded and _BECAUSE.match(fold(line)[len(max(folded, key=len)) :]) else None

    def starts_with_key(self, text: str) -> bool:
        """Tells whether a text begins with a key, whatever follows."""
        return self._mark.match(_without_lead(text)) is not None

    def _by_word(self, text: str) -> Said | None:
        """Reads a text that begins with a key that is a word, set off: "Yes, ..." and "No. ..."."""
        match = self._mark.match(text)
        if match is None or fold(match["key"]) not in self.words or not _SET_OFF.match(text, match.end()):
            return None
        key = self._by_name[self._name(match["key"])]
        sentence = _SENTENCE.split(text[match.end() :].lstrip(",.;:!。 "), maxsplit=1)[0]
        if re.match(r"\s*\d", sentence):
            return None
        for other in self._set_off.finditer(", " + sentence):
            if self._by_name[self._name(other["key"])] != key:
                return _too_many([key, self._by_name[self._name(other["key"])]])
        return Said(frozenset([key]))

    def _same_text(self, text: str) -> Said | None:
        keys = self._texts.get(fold(text)) if fold(text) else None
        if keys is None:
            return None
        return Said(frozenset(keys)) if len(keys) == 1 else Said(problem=f"options {_row(keys)} have the same text")

    def _text_and_key(self, text: str) -> Said | None:
        """Reads an option's text with a key behind it: "Metformin (B)"."""
        match = re.fullmatch(
            r"(.+?)\s*\((?:option\s+|选项)?([^()]+)\)", text.strip(_TRAILING), re.IGNORECASE | re.DOTALL
        )
        key = self.key(match[2]) if match else None
        if match is None or key is None or fold(match[1]) not in self._texts or self.key(match[1]) is not None:
            return None
        return self._agreed(key, match[1])

    def _is_text_of(self, text: str, key: str) -> bool:
        return key in self._texts.get(fold(text), ())

    def _agreed(self, key: str, text: str) -> Said:
        if self._is_text_of(text, key):
            return Said(frozenset([key]))
        other = self._texts[fold(text)]
        return Said(problem=f"it says {key}, and the text of {_row(other)}")

    def _text_prefix(self, text: str) -> Said | None:
        folded = fold(text)
        fits = [known for known in self._texts if known and folded.startswith(known)]
        if not fits:
            return None
        longest = max(fits, key=len)
        rest = folded[len(longest) :]
        if self.key(longest) or not (_BECAUSE.match(rest) or _STOP.match(rest)):
            return None
        said = self._same_text(longest)
        return said if said is None or said.problem else self._unless_open(said, rest)

    def _marks(self, text: str) -> tuple[int, list[str], bool]:
        """Returns where a row of keys at the beginning ends, the keys, and whether they are alternatives."""
        either = re.match(r"\s*either\s+", text, re.IGNORECASE)
        at, keys, alternatives = either.end() if either else 0, list[str](), either is not None
        if glued := self._glued(text):
            return len(glued[0]), glued[1], False
        while True:
            match = self._mark.match(text, at)
            if match is None:
                return 0, [], False
            keys.append(self._by_name[self._name(match["key"])])
            end = match.end()
            divider = _OR.match(text, end)
            alternatives |= bool(divider and self._mark.match(text, divider.end()))
            divider = divider or _AND.match(text, end)
            if divider is None or not (following := self._mark.match(text, divider.end())):
                return end, keys, alternatives
            # "B, a beta blocker": a letter in the wrong case among words is an article.
            if following["key"] not in self._order and len(following["key"]) == 1:
                return end, keys, alternatives
            at = divider.end()

    def _glued(self, text: str) -> tuple[str, list[str]] | None:
        match = re.match(r"\s*\(?([A-Za-z]{2,})\)?(?![A-Za-z0-9])", text)
        if (
            not self._glue
            or match is None
            or not set(match[1]) <= self._glue.keys()
            or len(set(match[1])) < len(match[1])
        ):
            return None
        return match[0], [self._glue[letter] for letter in match[1]]

    def _list(self, text: str) -> Said | None:
        bare = text.strip("()[]{} .。")
        # By its signs first: "and" may be a key itself.
        for divider in (_COMMA, _LISTED):
            parts = divider.split(bare)
            if len(parts) > 1 and all(parts) and all(found := [self._part(part) for part in parts]):
                return self._counted([key for key in found if key])
        starts = [start for start, _ in self.labels(text)]
        if len(starts) > 1 and not text[: starts[0]].strip():
            pieces = [text[start:end] for start, end in pairwise([*starts, len(text)])]
            labelled = [self._part(piece.strip(_TRAILING)) for piece in pieces]
            if all(labelled):
                return self._counted([key for key in labelled if key])
        spaced = bare.split()
        if len(spaced) > 1 and all(self.key(part) for part in spaced):
            return self._counted([key for part in spaced if (key := self.key(part))])
        glued = self._glued(text.strip(_TRAILING + "()[]{}"))
        return self._counted(glued[1]) if glued and glued[0] == text.strip(_TRAILING + "()[]{}") else None

    def _part(self, part: str) -> str | None:
        """Returns the key of one part of a list: a key, or a key and its own text."""
        if (key := self.key(part)) is not None:
            return key
        match = self._mark.match(part)
        key = self._by_name[self._name(match["key"])] if match else None
        own = bool(match and key and self._is_text_of(re.sub(r"^[.,:;)、\s—–-]*", "", part[match.end() :]), key))
        if own:
            return key
        same = self._texts.get(fold(part), [])
        return same[0] if self._several and len(same) == 1 else None

    def _counted(self, keys: list[str]) -> Said:
        if len(set(keys)) > 1 and not self._several:
            return _too_many(keys)
        return Said(frozenset(keys))

    def _is_abbreviation(self, rest: str, key: str) -> bool:
        """Tells "E. coli" and "B. burgdorferi" from a key with its text."""
        match = re.match(r"\.\s*([a-z][\w-]*)", rest)
        if match is None or _BECAUSE.match(rest[1:]):
            return False
        return not any(key in keys and fold(rest[1:]).startswith(known) for known, keys in self._texts.items())

    def _unless_other_text(self, said: Said, rest: str) -> Said | None:
        """Returns what is wrong where another option's key or text follows a key: "B. Aspirin", "A: B"."""
        for start, order in self.labels(rest):
            label = self._mark.match(rest, start)
            text = fold(re.sub(r"^[\s.,:;)、—–-]+", "", rest[label.end() :])) if label else ""
            own = self._order[order]
            if own not in said.keys and any(
                own in keys and text.startswith(known) for known, keys in self._texts.items()
            ):
                return Said(problem=f"it names {_row(sorted(said.keys))} and lists {own} behind")
        rest = re.sub(r"^[\s.,:;()、—–-]+", "", rest)
        if rest and self.key(rest):
            return _too_many([*sorted(said.keys), self.key(rest) or ""])
        folded = fold(rest)
        longest = max((known for known in self._texts if known and folded.startswith(known)), key=len, default="")
        if not longest or said.keys & set(self._texts[longest]):
            return None
        goes_on = _STOP.match(folded, len(longest)) or _BECAUSE.match(folded, len(longest))
        return (
            Said(problem=f"it says {_row(said.keys)}, and the text of {_row(self._texts[longest])}")
            if goes_on
            else None
        )

    def _unless_open(self, said: Said, rest: str) -> Said | None:
        """Returns what was said; None where the sentence asks or sets a condition; a problem where it offers more."""
        if rest.lstrip(" )\"'").startswith("?"):
            return None
        sentence = _SENTENCE.split(rest.lstrip(" .,:;)、"), maxsplit=1)[0]
        if sentence.rstrip().endswith("?") or re.match(r"\W*(?:if|unless|when)\b|\W*(?:如果|除非)", sentence, re.I):
            return None
        for match in self._alternative.finditer(self._excluded.sub("", sentence)):
            if (other := self._by_name[self._name(match["key"])]) not in said.keys:
                return _too_many([*sorted(said.keys), other])
        return said


def plain(text: str) -> str:
    """Returns a text with full-width letters and signs made narrow and without emphasis."""
    text = unicodedata.normalize("NFKC", text).replace("\r\n", "\n")
    return re.sub(
        r"\*+|`+|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])|^[ \t]*(?:#+|>+|[-•])[ \t]+", "", text, flags=re.MULTILINE
    )


def fold(text: str) -> str:
    """Returns a text for comparing: plain, in lower case, single spaces, no signs around it."""
    return " ".join(plain(text).casefold().split()).strip(" .,;:!。、；，！\"'“”‘’")


def _openings(text: str) -> Iterable[str]:
    """Returns the beginnings of a text that end where a line or a sentence does, the longest first."""
    ends = {match.start() for match in _SENTENCE.finditer(text)} | {match.start() for match in re.finditer(r"\n", text)}
    return [text[:end].strip() for end in sorted(ends, reverse=True) if text[:end].strip()]


def _without_lead(text: str) -> str:
    match = _LEAD.match(text)
    return text[match.end() :].strip() if match else text.strip(" \t\n:")


def _row(keys: Iterable[str]) -> str:
    return ", ".join(keys)


def _too_many(keys: Iterable[str]) -> Said:
    return Said(problem=f"it names {_row(dict.fromkeys(keys))}, and one was asked for")
