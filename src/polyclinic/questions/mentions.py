"""Which options of a question a piece of text names, and whether it goes on in a way that leaves that standing.

Every mention is first written as one sign, however it looks: a key ("B", "(b)"), an option's text, or both. What is
left to read is a row of signs, and the words around them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Question

Extent = Literal["whole", "sentence", "beginning", "line"]
"""What the options must make up of a text: all of it; its first sentence; its beginning, where what follows does not
touch them; or the beginning of a line that stands by itself, about which less is known."""

# Signs lie where no text has letters: a key by its place, a letter that is no key by itself, a text by its place.
_FIRST_KEY, _NO_KEY, _FIRST_TEXT = 0xE000, 0xF800, 0xF0000
_K, _T, _CLASH = "[\ue000-\uf7ff]", "[\U000f0000-\U000ffffd]", "\uf8ff"
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")
_OPEN, _CLOSE = r"""[(\[{<"'“‘「『【《$]{0,4}""", r"""[)\]}>"'”’」』】》$]{0,4}"""

_BECAUSE = re.compile(
    r"\s*[,;]?\s*(?:(?:because|since|as|due|rather|not|instead|over|given|based|which|being|here|in\s+this|according"
    r"|(?:and|but)\s+not)\b|是?因为|由于|理由|而不是|而非|最符合|最合适|最恰当)",
    re.IGNORECASE,
)
_STOP = re.compile(r"\s*(?:选项|这个选项|这一项|项)?\s*(?:$|[.,;:!?。、()—–|](?!\d)|-\s|-$)")
_END = re.compile(r"""(?:选项|项)?[\s.,:;!。、；，！)\]}"'”’¦]*""")
_SENTENCE = re.compile(r"(?<=[.!?;。！？])(?:\s|$)|(?<=[。！？])|\n")
_LEAD = r"""(?:(?:most\s+(?:likely|probably)|likely|probably|clearly|definitely|certainly|therefore|thus|indeed
    |still|simply|now|both|either|answer|(?:the\s+)?(?:option|choice|letter)s?)(?![A-Za-z])|选项|选择|选|应该?是|应为|为|是)[\s:]*"""
_OR = r"\bor\b|或者?|还是|\bversus\b|\bvs\b\.?"
# Behind a key's sign stands ")" where it was in brackets, "¦" where its text followed, "(" where that was in brackets.
_BY_KEY = "[\ue000-\uf8ff][)¦(]?"
_ITEM = f"(?:{_BY_KEY}|{_T})"
_ITEMS = re.compile(
    rf"""(?P<lead>(?:[\s:=(\[{{<"'“‘「『【《]|{_LEAD})*)
    (?P<items>{_ITEM}(?:\s*(?:,\s*and\b|[,;、&+/]|\band\b|和|以及|及|与|,?\s*(?:{_OR}))?\s*{_OPEN}(?:{_LEAD})?
        (?:{_BY_KEY}|{_T}(?=[\s)]*(?:$|[.,;:!?。、]|and\b|or\b|和|或))))*)""",
    re.VERBOSE | re.IGNORECASE,
)
_EITHER = re.compile(rf"{_OR}|\beither\b", re.IGNORECASE)
_OWN_TEXT = re.compile(rf"""({_K})\)?[ .,:;、—–="'“‘-]*(\(?)({_T}|{_K})[)"'”’]*|({_T})[ .,]*({_K})\)""")
_LABEL = re.compile(
    rf"(?:^|(?<=[\s.;,。；，]))({_K})(?:[.):、](?=[ \t]*\S)|¦)(?!\s*{_K}\s*(?:[,、\s.。]|$))", re.MULTILINE
)
_MAYBE = (
    r"(?:\bor\b|\bmaybe\b|\bperhaps\b|\bpossibly\b|\b(?:could|might|may)(?:\s+also)?\s+be\b|\balternatively\b"
    r"|\bas\s+well\s+as\b|或者?|还是|也可能是?|也可以?选?)(?:\s|,|also|even|possibly|perhaps|maybe|option|choice|选项|是|选)*"
)
_OTHER = re.compile(
    rf"{_MAYBE}({_K}|{_T})(?!\s+[a-z])"
    rf"|(?:^|[,;、]|\b(?:and|or|but)\b(?:\s+(?:also|perhaps|maybe))?)\s*({_K})\)?(?=\s*(?:[,.;!?。(]|$))",
    re.IGNORECASE,
)
_ANOTHER_LABEL = re.compile(rf"({_K})¦")
_EXCLUDED = re.compile(
    rf"(?:\brather\s+than|\binstead\s+of|\bnot|\bover|\bunlike|而不是|而非|不是)\s*{_ITEM}"
    rf"(?:\s*(?:,|\bn?or\b|\band\b|或者?|和|、)\s*{_ITEM})*",
    re.IGNORECASE,
)
# A text ends where a word ends; a key moreover not in "B-cell", "I'm", "2.5", "A+", nor in "E. coli".
_TEXT_ENDS = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])(?![-'’][A-Za-z0-9])")
_KEY_ENDS = (
    r"(?<![A-Za-z0-9])(?<![A-Za-z0-9][-'’.])(?<!\d,)",
    rf"(?![A-Za-z0-9])(?![-'’+%°][A-Za-z0-9])(?!/[a-z0-9])(?![.,]\d)(?!\+)(?-i:(?<=[A-Za-z]{{2}})|(?!\.\s*(?!{_BECAUSE.pattern})[a-z]))",
)
_IS_SET_OFF = rf"(?=$|[.,;:!?。、—–|]|\s*{_T}|\s+(?:and|or)\b|{_BECAUSE.pattern}|\W{{1,4}}(?P=unsure)\b)"
_AROUND = " \t\n.,;:!。、；，！\"'“”‘’"
_CONDITION = re.compile(r"\W*(?:if|unless|when)\b|\W*(?:如果|除非)", re.IGNORECASE)
_SET_OFF = re.compile(r"\s*(?:[,.;:!。—–]|-\s|$)\s*(?!\d)")
_SENTENCE_END = re.compile(r"\s*(?:[.!?。;]|\n|$)")
_AGAINST = re.compile(
    r"\W*(?:this|that|it)?(?:\s+(?:option|choice|answer))?(?:\s+is|'s)?\s*\W*(?:wrong|incorrect|not|false|unlikely)\b"
    r"|\W*(?:错误?|不)",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|no|wrong|incorrect|false|unlikely|less|exclud\w+|ruled?|never|cannot)\b|n't\b|错|不|排除|非|无",
    re.IGNORECASE,
)


class Mention(msgspec.Struct, frozen=True):
    """What a piece of text says: keys, or what keeps it from saying any."""

    keys: frozenset[str] = frozenset()
    problem: str = ""
    by: Literal["key", "word", "text"] = "text"


class Mentions:
    """The options of a question, ready to be found in text that has been through `plain`."""

    def __init__(self, question: Question) -> None:
        self._keys, self._several = list(question.options), question.several
        self._exact = exact = {_bare(key): place for place, key in enumerate(self._keys)}
        folded = {name.casefold(): place for name, place in exact.items()}
        any_case = len(folded) == len(exact)
        self._places = {**folded, **exact} if any_case else exact
        texts: dict[str, list[int]] = {}
        for place, text in enumerate(question.options.values()):
            texts.setdefault(fold(text), []).append(place)
        # A key goes before an equal text.
        self._signs = {text: chr(_FIRST_TEXT + number) for number, text in enumerate(texts)}
        self._named_by = {chr(_FIRST_KEY + place): [place] for place in exact.values()}
        for text, places in texts.items():
            key = self._places.get(text)
            self._named_by.setdefault(self._signs[text] if key is None else chr(_FIRST_KEY + key), []).extend(places)
        self._text = re.compile(_any_of(texts, _TEXT_ENDS), re.IGNORECASE)
        # "a" among words is an article where the key is "A", and "no" is a word: they must be set off.
        sure = [name for name in exact if not _is_word(name) or not name.isascii()]
        unsure = [name for name in exact if any_case or _is_word(name)]
        case = "i" if any_case else ""
        kinds = [_any_of(sure, _KEY_ENDS), f"(?{case}:(?P<unsure>{_any_of(unsure, _KEY_ENDS)}){_CLOSE}{_IS_SET_OFF})"]
        letters = "".join(name for name in exact if len(name) == 1 and name.isascii() and name.isalpha())
        if len(letters) == len(exact):
            kinds.append(rf"(?<![A-Za-z0-9])(?P<glued>[{letters}]{{2,}})(?![A-Za-z0-9])")
        if not any(map(_is_word, exact)):
            kinds.append(rf"\b(?P<none>[A-Z])(?={_CLOSE}\s*(?:$|[.,;:)。、]))(?!\.\s*[a-z])")
        self._key = re.compile(rf"{_OPEN}(?:{'|'.join(kinds)}){_CLOSE}")

    def mark(self, text: str) -> str:
        """Returns a text with a sign in place of every mention of an option."""
        text = self._text.sub(self._text_sign, _PRIVATE.sub(" ", text))
        return _OWN_TEXT.sub(self._paired, self._key.sub(self._key_sign, text))

    def _text_sign(self, match: re.Match[str]) -> str:
        text = fold(match[0])
        key = self._places.get(text)
        if key is None:
            return self._signs.get(text, match[0])
        # "a" is the text of one option, and nearly the key "A" of another.
        own = match[0] in self._exact or key in self._named_by[chr(_FIRST_KEY + key)][1:]
        return match[0] if own else _CLASH

    def _key_sign(self, match: re.Match[str]) -> str:
        groups = match.groupdict()
        bracket = ")" if re.search(r"[)\]}】]", match[0]) else ""
        if groups.get("none"):
            return chr(_NO_KEY + ord(match["none"])) + bracket
        name, glued = _bare(match[0]), groups.get("glued")
        names = glued or [name if name in self._exact else name.casefold()]
        # Regular expressions take "ı" for "i", and no key is called so.
        if len(set(names)) < len(names) or not self._places.keys() >= set(names):
            return match[0]
        return "".join(chr(_FIRST_KEY + self._places[one]) for one in names) + bracket

    def _paired(self, match: re.Match[str]) -> str:
        """Writes a key with a text behind it, or a text with a key in brackets, as one mention, or as a clash."""
        key, bracket, text, text_before, key_behind = match.groups()
        named_by = self._named_by[text or text_before]
        if ord(key or key_behind) - _FIRST_KEY in named_by:
            return f"{key}{'(' if bracket else '¦'}" if key else key_behind
        if re.match(_K, text or ""):
            return match[0]
        rest = match.string[match.end() :]
        return _CLASH if key is None or _STOP.match(rest) or _BECAUSE.match(rest) else match[0]

    def labels(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields the lines in which a text labels something with a key ("B. ..."), and the option's place."""
        for number, line in enumerate(self.mark(text).split("\n")):
            for match in _LABEL.finditer(line):
                yield number, ord(match[1]) - _FIRST_KEY

    def others(self, text: str, keys: frozenset[str]) -> bool:
        """Tells whether the first line of a text names another option than these by its key."""
        return any(key not in keys for key in self._named(re.findall(_K, self.mark(text.lstrip().split("\n", 1)[0]))))

    def said(self, text: str, extent: Extent = "whole") -> Mention | None:
        """Reads the options that a text begins with.

        Returns:
            What it says; None where it begins otherwise, goes on in a way that touches them, asks, or sets a condition.
        """
        marked = self.mark(text.strip())
        match = _ITEMS.match(marked)
        if match is None or not self._stands(marked[match.end() :], match["items"], extent):
            return None
        items, rest = match["items"], marked[match.end() :].lstrip(" .,:;)、¦\"'")
        either, unknown = _EITHER.search(match[0]) is not None, re.search("[\uf800-\uf8fe]", items)
        sentence = _SENTENCE.split(rest, maxsplit=1)[0]
        if sentence.rstrip().endswith("?") or _CONDITION.match(sentence):
            return None
        if extent != "beginning" and (either or unknown):
            return None
        keys = self._named(re.findall(f"{_K}|{_T}", items))
        others = _OTHER.findall(_EXCLUDED.sub("", sentence)) + [(key, "") for key in _ANOTHER_LABEL.findall(rest)]
        offered = dict.fromkeys([*keys, *self._named(one or other for one, other in others)])
        same = next((places for sign in re.findall(_T, items) if len(places := self._named_by[sign]) > 1), ())
        problem = ""
        if _CLASH in items:
            problem = f"{text.strip()[:80]!r} names an option by its key, and another by its text"
        elif unknown:
            problem = f"{chr(ord(unknown[0]) - _NO_KEY)} is none of the options"
        elif same:
            problem = f"options {', '.join(self._keys[place] for place in same)} have the same text"
        elif len(offered) > 1 and (not self._several or either or len(offered) > len(set(keys))):
            problem = f"it names {', '.join(offered)}, and one was asked for"
        by: Literal["key", "word", "text"] = "key" if re.match(_K, items) else "text"
        if by == "key" and all(map(_is_word, keys)) and not re.search(_T, items):
            by = "word"
        return Mention(frozenset(() if problem else keys), problem, by)

    def _named(self, signs: Iterable[str]) -> list[str]:
        return [self._keys[self._named_by[sign][0]] for sign in signs]

    def _stands(self, rest: str, items: str, extent: Extent) -> bool:
        """Tells whether what follows the options leaves them what the text says."""
        if _END.fullmatch(rest):
            return True
        if extent == "beginning":
            return items[-1] in "¦(" or bool(_STOP.match(rest) or _BECAUSE.match(rest))
        if extent in ("whole", "sentence") or rest.startswith("?"):
            return extent == "sentence" and bool(_SENTENCE_END.match(rest))
        if all(_is_word(key) for key in self._named(re.findall(_K, items))) and not re.search(_T, items):
            return bool(_SET_OFF.match(rest) or _BECAUSE.match(rest))
        by_text = items[-1] == "¦" or re.fullmatch(_T, items[-1])
        if _BECAUSE.match(rest) or (by_text and _SENTENCE_END.match(rest)):
            return not _AGAINST.match(rest)
        label = items[-1] in ")¦" or re.match(r"\s*[.:)—–-]", rest)
        return bool(label and not re.fullmatch(_T, items[-1]) and not _DOUBT.search(rest))


def plain(text: str) -> str:
    """Returns a text with full-width letters and signs made narrow and without emphasis."""
    text = unicodedata.normalize("NFKC", text).replace("\r\n", "\n")
    return re.sub(
        r"\*+|`+|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])|^[ \t]*(?:#+|>+|[-•])[ \t]+(?!\d)", "", text, flags=re.MULTILINE
    )


def fold(text: str) -> str:
    """Returns a text for comparing: plain, in lower case, single spaces, no signs around it."""
    return " ".join(plain(text).casefold().split()).strip(_AROUND)


def _bare(key: str) -> str:
    name = plain(key).strip()
    return name.strip("()[]{}<>\"'“”‘’「」『』【】《》$ ") or name


def _is_word(name: str) -> bool:
    return name.isalpha() and (len(name) > 1 or not name.isascii())


def _any_of(names: Iterable[str], ends: tuple[str, str]) -> str:
    """Returns what finds any of some names, the longest first; one in Latin letters is no part of a word."""
    patterns = []
    for name in sorted(filter(None, names), key=len, reverse=True):
        before = ends[0] if name[0].isascii() and name[0].isalnum() else ""
        behind = ends[1] if name[-1].isascii() and name[-1].isalnum() else ""
        patterns.append(before + r"\s+".join(map(re.escape, name.split())) + behind)
    return f"(?:{'|'.join(patterns)})" if patterns else r"(?!)"
