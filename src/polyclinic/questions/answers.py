r"""Reading a model's free-text reply as options of a question, without ever guessing.

A reply is read from its *statements*: places where it says which option it takes. In the order of their weight:

1. **final**: `\boxed{B}`, `{"answer": "B"}`, `<answer>B</answer>`, "Final answer: B", and a line that begins with
   "Answer:" or "答案：";
2. **answer**: "the answer is B", "I choose B", "故选 B", "B is the best option";
3. **remark**: "the most likely diagnosis is gout", "B is correct", "it is B", "so, B", and a first or last line that is
   an answer by itself.

A statement names keys, an option's text in full, or a key with its own text; a key wins over an equal text, a longer
text over one inside it, and a key with another option's text says nothing. Thoughts (`<think>`), negations ("not B"),
conditions ("if ..., B"), questions and what others might say are no statements; nor is a letter that is part of a word,
of a name ("E. coli") or of a list of the options, such as the question said again.

The last statement is the answer if every earlier one says the same, weighs less, or is taken back in between ("wait",
"不对"). It is unreadable if it names several options where one is asked for, or none that there is; so is a reply
without a statement, and one that ends before its answer.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.language.thoughts import apart

MOST_OBJECTS = 64
"""Braces at which an object may begin: a reply of nothing but braces must not take long."""

_SCAN = json.JSONDecoder(object_pairs_hook=list)  # A name that stands twice must not be silently one.
_ANSWER_NAMES = frozenset({"answer", "answers", "finalanswer", "choice", "option", "答案", "最终答案"})
_CUT_OFF = re.compile(r"\A\s*(?:```\w*\s*)?\{\s*(?:\"|\Z)")


def json_answers(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yields where in a text an object with an answer stands, and the answer's parts: `{"answer": ["A", "C"]}`."""
    found, at = False, 0
    for _ in range(MOST_OBJECTS):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            pairs, end = _SCAN.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at += 1
            continue
        found = True
        answers = [value for name, value in pairs if re.sub(r"[\s_-]", "", name.casefold()) in _ANSWER_NAMES]
        if len(answers) > 1:
            raise UnreadableReply("its JSON holds more than one answer")
        for answer in answers:
            parts = answer if isinstance(answer, list) else [answer]
            if not parts or not all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts):
                came = json.dumps(answer, ensure_ascii=False)[:80]
                raise UnreadableReply(f"its JSON answers {came}, which names no option")
            yield at, end, [str(part) for part in parts]
        at = end
    if not found and _CUT_OFF.match(text):
        raise CutOff("its JSON does not end")


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


LONGEST_STATEMENT = 2_000
"""Characters in which an answer is looked for behind the words that announce it."""

MOST_STATEMENTS = 200
"""What says more often which option it takes goes round in a loop."""

_MARKED_BY_SIGNS = re.compile(
    r"\$*\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}\$*|(?i:<(?P<tag>answer|final_answer)>(.*?)</(?P=tag)>)", re.DOTALL
)
_TYPESET = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}")

_ADJECTIVES = (
    r"(?:(?:single|one|most|correct|right|best|final|likely|appropriate|suitable|accurate|overall|probable)\s+)"
)
_IS = r"(?:\s+(?:is|are|(?:would|should|must|has\s+to)\s+be)\b\s*:?)"
_ANNOUNCED = re.compile(
    rf"""\b(?:(?P<adjectives>{_ADJECTIVES}+)(?:answer|option|choice|response)|answer|ans|choice|option|vote|decision|verdict|selection
        |conclusion|final(?=\s*:))s?(?:\s+(?:to|for|here|in)\b[^.:;?!\n]{{0,60}}?)?(?:\s*(?::|=|->|→|\s-(?=\s))|{_IS})
        |(?:(?P<zh>最终|正确|最佳|最后)的?)?(?:答案|答)】?(?:应该?|就)?(?:(?:是|为|选|包括)?[:]|是|为|选|包括)
        |答案】?[ ]*(?=[A-Z(])|(?<!不)正确选项(?:是|为|有|[:])+|(?<!不)(?P<true>正确的(?:选项)?(?:是|为|有|[:])+)
        |(?<![不能选])(?:^|(?<=[\s,。;:!(、])|故|应该?|因此|所以|则|我|本题|此题|综上|最后|最终|直接|首|宜|当|据此|由此|认为|觉得|改|改为)+
         选(?![项用出取修手中定])择?[:]?
        |(?P<headline>^[ \t]*(?:(?:the\s+)?(?:final\s+)?answer|(?:最终)?答案)[ \t]*$)""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_CHOSEN = re.compile(
    rf"""\b(?:i|we)(?:'d|'ll|\s+would|\s+will|\s+shall)?(?:\s+(?:therefore|thus|still|finally|now|then))?
        \s+(?:choose|pick|select|go\s+with|opt\s+for|answer|say|vote(?:\s+for)?|meant?)\b(?:\s+with)?
        |\bi(?:'m|\s+am)\s+going\s+with\b|\bcorrection\s*:|\bshould\s+be\b|而是|改为|改选|更正为?:?|应该?是|应为
        |(?P<opinion>\b(?:i|we)\s+(?:think|believe)(?:\s+that)?(?:\s+it(?:'s|\s+is))?
        |\b(?:it|this)(?:'s|\s+is|\s+must\s+be|\s+has\s+to\s+be)(?=\s))
        |(?P<so>\b(?:therefore|thus|hence|so|in\s+conclusion|in\s+summary)\b\s*[,:]?|(?:因此|所以|综上)[,:]?)
        |(?P<named>\bthe\s+(?:single\s+)?{_ADJECTIVES}+(?:diagnosis|treatment|management|therapy|drug|cause)
        (?:\s+(?:here|(?:for|in)\s+th(?:is|e)\s+(?:patient|case|question)))?{_IS})""",
    re.VERBOSE | re.IGNORECASE,
)
_VERDICT = re.compile(
    rf"""\s+(?:is|are|would\s+be|must\s+be)\s+(?:(?:thus|therefore|clearly|indeed|still)\s+)*(?:the\s+|my\s+|our\s+)?
        (?:{_ADJECTIVES}*(?P<noun>answer|option|choice|response)s?|correct|right)\b
        (?!\s*(?:if|only|when|in\s+that|unless|about|for|statement|in\s+saying|\?))
        |(?:均|都|是|为|最)*(?:正确|最佳|最合适|最恰当)的?(?P<zh>答案|选项)?(?=\s*(?:[。.,;!\n]|$))""",
    re.VERBOSE | re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?;:,。、]\s*|\b(?:that|so|and|but)\s+|故|因此|所以")
# Where the question asks for what is wrong, a right option is not the answer.
_ASKS_WRONG = re.compile(r"\b(?:not|except|incorrect|false|wrong|least)\b|不|错误|除|非", re.IGNORECASE)
_OPTIONS = re.compile(r"\W*(?:answer\s+)?(?:option|choice)s", re.IGNORECASE)

_UNBELIEVED = re.compile(
    r"""(?:\bnot|n't|\bdoubt|\bnever|\bwhy|\bwhether|\bif|\bunsure|\buncertain|不|不认为|并非|不能|不应该?|难以|是否|别|勿|没)
        (?:\s+(?:think|believe|say|sure|certain|mean|that|the|if|whether|agree|be|convinced|quite|really|is|imply|so))*\s*$
        |\b(?:wrong|incorrect|worst|other|previous|alternative|first|second|initial|tempting|common|false|usual|least
        |every|each|an|any|another|his|her|their|your|\w+['’]s)\s*$|(?:错误|其他|常见|干扰)的?$
        |^\W*(?:even\s+)?(?:if|suppose|supposing|were|had|unless|assuming|in\s+case)\b(?!.*\b(?:since|so|therefore|thus|but)\b)
        |^\W*(?:如果|假如|倘若|若是?|假设)(?!.*(?:因此|所以|但|故))
        |\b(?:some|many|others?|students?|people|one|you|they|candidates?|colleagues?|examiners?|doctors)\b[^,.;]*
        \b(?:say|think|argue|choose|claim|believe|pick|select|answer)\b[^,;.]*$
        |\b(?:initially|at\s+first|first\s+thought|i\s+thought|tempting|tempted|might|could|may)\b[^,;.]*(?:,\s*(?:that\s+)?)?$
        |(?:有人|考生|学生|容易|可能|起初|一开始|乍看)[^,。;]*$""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_TAKEN_BACK = re.compile(
    r"""(?:^|[.!?。\n,;:…—–-]\s*)(?:but\s+|oh,?\s+|hmm,?\s+|no,?\s+)*
        (?:wait|actually|correction|on\s+second\s+thoughts?|on\s+reflection|sorry|scratch\s+that|hold\s+on|no\s*[,.;!:—–-]
        |i\s+(?:was|am)\s+(?:wrong|mistaken)|i\s+made\s+(?:a|an)\s+(?:mistake|error)|let\s+me\s+(?:re\w+|correct|revise)
        |i\s+(?:must\s+|should\s+|have\s+to\s+|need\s+to\s+)?(?:correct|revise|retract|reconsider|take\s+(?:that|it)\s+back)
        |that(?:\s+is|\s+was|'s)\s+(?:wrong|incorrect|not\s+right)|i\s+apologi[sz]e|my\s+mistake|reconsidering)
        |changed?\s+my\s+mind|等等|等一下|不对|更正|修正|纠正|重新|错了|有误|改为|改选|抱歉""",
    re.VERBOSE | re.IGNORECASE,
)
_COLON = re.compile(r"\A[^\n:]{1,80}:\s*(\S+)\s*\Z")
_SENTENCE_ENDS = ".!?。！？\n;"


class _Weight(IntEnum):
    REMARK = 1
    ANSWER = 2
    FINAL = 3


class _Statement(msgspec.Struct, frozen=True):
    """One place where a reply says which option it takes, or announces that it will and does not (`vague`)."""

    start: int
    end: int
    weight: _Weight
    said: Mention
    vague: bool = False


def read_answer(text: str, question: Question) -> frozenset[str]:
    """Returns the keys of the options that a reply takes: one, or more where the question asks for several.

    Raises:
        UnreadableReply: it takes none, more than were asked for, or now one and then another.
        CutOff: it ends inside a thought.
    """
    reply, _, is_open = apart(text)
    if is_open:
        raise CutOff("it ends inside its thoughts", text=text)
    reply = _without_question(reply, question)
    if not reply.strip():
        raise UnreadableReply("the answer is empty", text=text)
    mentions = Mentions(question)
    try:
        said = _conclusion(_written_out(reply, mentions), mentions, question)
    except UnreadableReply as failure:
        raise type(failure)(failure.problem, text=text) from None
    if said.problem:
        raise UnreadableReply(said.problem, text=text)
    return said.keys


def _without_question(reply: str, question: Question) -> str:
    """Returns a reply without the options said again: small models do that, and what they quote is no answer."""
    if len(question.options) < 2:
        return reply
    rows = (rf"[^\n]{{0,8}}{re.escape(text.strip())}[^\S\n]*" for text in question.options.values())
    listed = r"\n\s*".join(rows)
    return re.sub(f"^{listed}$", "\n", reply, flags=re.MULTILINE)


def _written_out(reply: str, mentions: Mentions) -> str:
    """Returns a reply in plain text, with the answers that it marks by signs as lines "Final answer: ..."."""
    pieces, at = list[str](), 0
    for start, end, parts in json_answers(reply):
        keys: dict[str, None] = {}
        for part in parts:
            said = mentions.said(plain(part))
            if said is None or said.problem:
                raise UnreadableReply(said.problem if said else f"{part[:80]!r} is none of the options")
            keys.update(dict.fromkeys(sorted(said.keys)))
        pieces += [reply[at:start], f"\nFinal answer: {', '.join(keys)}\n"]
        at = end
    reply = "".join([*pieces, reply[at:]])
    if pieces:
        reply = re.sub(r"^[ \t]*```\w*[ \t]*$", "", reply, flags=re.MULTILINE)
    reply = _TYPESET.sub(r"\1", reply)
    return plain(_MARKED_BY_SIGNS.sub(lambda match: f"\nFinal answer: {(match[1] or match[3] or '').strip()}\n", reply))


def _conclusion(text: str, mentions: Mentions, question: Question) -> Mention:
    """Returns what the statements of a reply come to; see the rules above."""
    statements = sorted(_statements(text, mentions, question), key=lambda statement: (statement.start, statement.end))
    # A line by itself that holds a heavier statement says nothing of its own.
    heavy = [statement.start for statement in statements if statement.weight > _Weight.REMARK]
    statements = [
        statement
        for statement in statements
        if statement.weight > _Weight.REMARK or not any(statement.start <= at < statement.end for at in heavy)
    ]
    if not statements:
        return Mention(problem="it names no option as its answer")
    last = statements[-1]
    for earlier in statements[:-1]:
        if earlier.vague or earlier.weight < last.weight or earlier.said.keys == last.said.keys or last.said.problem:
            continue
        if _TAKEN_BACK.search(text, earlier.end, last.start) is None:
            first, then = (", ".join(sorted(one.said.keys)) for one in (earlier, last))
            return Mention(problem=f"it says {first or 'something else'} and then {then}, and takes neither back")
    if (doubt := _TAKEN_BACK.search(text, last.end)) and mentions.others(text[doubt.end() :], last.said.keys):
        return Mention(problem="it takes its answer back, and does not say clearly what it is instead")
    return last.said


def _statements(text: str, mentions: Mentions, question: Question) -> Iterator[_Statement]:
    announced = list(itertools.islice(_ANNOUNCED.finditer(text), MOST_STATEMENTS + 1))
    if len(announced) > MOST_STATEMENTS:
        raise UnreadableReply(f"it announces an answer more than {MOST_STATEMENTS} times, in a loop")
    for match in announced:
        if _means_it(text, match.start()) and not (match["true"] and _ASKS_WRONG.search(question.stem)):
            yield from _announced(match, text, mentions, question)
    for match in _CHOSEN.finditer(text):
        tail = _line(text, match.end())
        if match["so"]:
            said = mentions.said(tail, "sentence")
        else:
            said = mentions.said(tail, "beginning") if _means_it(text, match.start()) else None
            said = said if said and (said.by != "text" or match["named"]) else None
        if said:
            weight = _Weight.REMARK if match.lastgroup else _Weight.ANSWER
            yield _Statement(match.start(), match.end(), weight, said)
    yield from _verdicts(text, mentions, question)
    yield from _by_themselves(text, mentions, question)


def _announced(match: re.Match[str], text: str, mentions: Mentions, question: Question) -> Iterator[_Statement]:
    """Reads what follows "the answer is" or "Answer:", in its line or, where that is empty, in the next."""
    line_start = text.rfind("\n", 0, match.start()) + 1
    opens_line = not text[line_start : match.start()].strip() and match[0].rstrip().endswith(":")
    says_final = "final" in (match["adjectives"] or "").lower() or match["zh"] in {"最终", "最后"}
    final = match["headline"] or opens_line or says_final
    weight = _Weight.FINAL if final else _Weight.ANSWER
    tail = _line(text, match.end())
    if not tail.strip():
        rows = [row for row in text[match.end() :][:LONGEST_STATEMENT].split("\n") if row.strip()]
        listed = list(itertools.takewhile(mentions.said, rows))
        if len(listed) == len(question.options) > 1 or (len(listed) > 1 and _OPTIONS.match(match[0])):
            return  # A list of the options is no answer.
        tail = "\n".join(listed) if len(listed) > 1 else "".join(rows[:1])
    said = mentions.said(tail, "beginning")
    # "Answer: let us think ... so the answer is B" announces what another statement says.
    if said is None and (not final or _ANNOUNCED.search(tail)):
        return
    problem = f"its answer, {tail.strip()[:80]!r}, names no option" if tail.strip() else "it ends before its answer"
    yield _Statement(match.start(), match.end(), weight, said or Mention(problem=problem), said is None)


def _verdicts(text: str, mentions: Mentions, question: Question) -> Iterator[_Statement]:
    """Yields what "B is correct" and "B 正确" say; the option stands before the verdict."""
    asks_wrong = _ASKS_WRONG.search(question.stem) is not None
    for match in _VERDICT.finditer(text):
        is_answer = bool(match["noun"] or match["zh"])
        if asks_wrong and not is_answer:
            continue
        line_start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - LONGEST_STATEMENT)
        before = text[line_start : match.start()]
        starts = [0, *(found.end() for found in _CLAUSE.finditer(before))]
        said = next((said for start in starts if (said := mentions.said(before[start:]))), None)
        if said and _means_it(text, line_start + starts[-1]):
            yield _Statement(match.start(), match.end(), _Weight.ANSWER if is_answer else _Weight.REMARK, said)


def _by_themselves(text: str, mentions: Mentions, question: Question) -> Iterator[_Statement]:
    """Yields what the first and the last line say where they are answers by themselves."""
    whole = mentions.said(text) if len(text) <= LONGEST_STATEMENT else None
    if whole and not ("\n" in text.strip() and len(whole.keys) == len(question.options)):
        yield _Statement(0, len(text), _Weight.REMARK, whole)
        return
    if (colon := _COLON.match(text.strip())) and (said := mentions.said(colon[1])) and said.by == "word":
        yield _Statement(0, len(text), _Weight.REMARK, said)
    lines = [(found.start(), found.end()) for found in re.finditer(r"[^\n]*\S[^\n]*", text)]
    labels = list(mentions.labels(text))
    for start, end in dict.fromkeys((lines[0], lines[-1])) if lines else ():
        line, number = text[start:end][:LONGEST_STATEMENT], text.count("\n", 0, start)
        said = mentions.said(re.sub(r"""^[^\w(\[{"'“‘「『【《<$]+""", "", line.strip()), "line")
        # "A. ...", "B. ...", and so on is a walk through the options.
        own = next((place for at, place in labels if at == number), None)
        before = next((place for at, place in reversed(labels) if at < number), None)
        after = next((place for at, place in labels if at >= number and place != own), None)
        walk = own is not None and ((before is not None and before < own) or (after is not None and after > own))
        if said and not walk:
            yield _Statement(start, end, _Weight.REMARK, said)


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end][:LONGEST_STATEMENT]


def _means_it(text: str, start: int) -> bool:
    """Tells whether what stands before a statement in its sentence leaves it one."""
    begin = max(text.rfind(sign, 0, start) for sign in _SENTENCE_ENDS) + 1
    return _UNBELIEVED.search(text[max(begin, start - LONGEST_STATEMENT) : start]) is None
