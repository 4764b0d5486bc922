"""Names of examinations and of what they look at, found in text.

`Names` holds those of the knowledge and is built once; `Names.of(findings)` lays a record's own names over them, which
is cheap. A name is found by its words (longest first, plurals and punctuation aside), or, where nothing is found by its
words, by likeness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from polyclinic.cases.record import Finding
from polyclinic.knowledge.knowledge import Knowledge

LIKENESS = 88.0
"""The least likeness, of 100, at which a name that is not spelled rightly counts as named."""

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+|[%#]")
_BRACKETS = re.compile(r"[(（\[]([^()（）\[\]]*)[)）\]]")
_SUFFIX_ZH = re.compile(r"(?:检查|检测|测定|试验|化验|扫描)$")
_SUFFIX_EN = re.compile(r"\s(?:tests?|levels?|assays?|measurements?)$", re.IGNORECASE)
_SAME = {
    "exam": "examination", "labs": "laboratory", "lab": "laboratory", "radiograph": "xray", "haemoglobin": "hemoglobin",
    "leucocyte": "leukocyte", "oesophagus": "esophagus", "tumour": "tumor", "count": "count",
}  # fmt: skip
_GENERIC_EN = (
    "finding result inspection palpation percussion auscultation appearance observation other comment note general"
    " test level value examination laboratory imaging study report interpretation impression description status type"
    " color and of the in for assessment evaluation conclusion summary detail normal physical blood data scan"
    " investigation"
)
_GENERIC_ZH = "检查结果描述其他它所见意诊断提示印象论外观一般情况项目辅助报告化验实室影像学"
_GENERIC = frozenset((*_GENERIC_EN.split(), *_GENERIC_ZH))
_WHOLE_BODY = frozenset(("physical examination", "physical", "体 格 检 查", "查 体", "体 检", "全 身 检 查"))
_PHYSICAL = re.compile(
    r"physical|vital sign|体格|查体|专科检查|生命体征|体征"
    r"|^(?!.*(?:ultraso|imag|x-?ray|radio|laborat|urine|blood|stool|micro|fluid|csf|pathol|histo|slit|fundosc|mri|ct\b))"
    r".*\bexam(?:ination)?s?$",
    re.IGNORECASE,
)
FISHING = re.compile(
    r"\b(?:all|any|every|everything|anything|whatever|latest|recent|available|complete results|full results|whole"
    r"|abnormal\w*|significant|relevant|entire|rest of|remaining|other)\b"
    r"|所有|全部|一切|任何|最近|最新|有什么|有没有|哪些|什么|异常|都|整个|完整|其他|其它|剩下|各项|相关",
    re.IGNORECASE,
)
"""Words that ask for more than is named."""

EXAMINATION = re.compile(
    r"\b(?:x-?rays?|ct|cta|mri|mra|pet|ecg|ekg|eeg|emg|cbc|bmp|cmp|esr|crp|bnp|tsh|hba1c|ultraso\w+|sonogra\w+|doppler"
    r"|\w*(?:scop(?:y|ic|ies)|gra(?:ms?|ph(?:y|ies|s))|metry|centesis)|biops\w+|cultures?|smear|swab|stain|scans?|imaging"
    r"|blood (?:tests?|work|counts?|gas\w*|glucose|cultures?)|urinalys[ie]s|labs?|laborator\w+|panels?|serolog\w+"
    r"|antibod\w+|tomograph\w+|spirometry|lumbar puncture|(?:physical|neurologic(?:al)?|pelvic|rectal) exam\w*"
    r"|vital signs|histolog\w+|patholog\w+ (?:report|result|exam)\w*|white (?:blood )?cell count|h(?:a)?emoglobin"
    r"|creatinine|troponin\w*|electrolytes)\b"
    r"|(?<![A-Za-z])(?:CTA?|MRI?|MRA|PET|ECG|EKG|DR|B超|X线|X光|SPECT|DSA|PTA|BNP|CRP|TCT|HPV)(?![A-Za-z])"
    r"|[Bb]\s*超|[Xx]\s*[线光]|彩超|超声|心电图|脑电图|肌电图|血常规|尿常规|便常规|大便常规|粪便常规|血生化|生化|化验|血气|胸片|平片"
    r"|摄片|内镜|胃镜|肠镜|喉镜|支气管镜|膀胱镜|腹腔镜|鼻镜|宫腔镜|病理|活检|活组织|穿刺|造影|核磁|磁共振|显像|扫描|涂片|培养|镜检"
    r"|免疫组化|肿瘤标志|凝血功能|肝功能?|肾功能?|心肌酶|甲功|抗体|隐血|查体|体格检查|辅助检查|专科检查|实验室检查|肺功能"
    r"|血红蛋白|白细胞|红细胞|血小板|中性粒|淋巴细胞计数|肌酐|胆红素|降钙素原|试验阳性|试验阴性|试纸|检测|测序",
    re.IGNORECASE,
)
"""Words by which a text speaks of an examination, whether or not the knowledge has it."""

LABORATORY_VALUE = re.compile(
    r"\d\s*(?:[x×*]\s*10\s*\^?\s*\d+\s*/\s*[Ll]|(?:m?g|[µμu]g|ng|pg|k?U|m?I?U|[mµμu]?mol|mEq|Eq|cells|g)\s*/\s*(?:d?[Ll]|m[Ll]|mm|h)"
    r"|/\s*(?:mm3|mm³|[µμu]L|HPF|LPF)|mm\s*Hg|fL\b|[Bb]pm|次/分|mOsm|dBHL|HU\b)"
    r"|\d+\s*/\s*\d+\s*mm\s*Hg|/(?:mm3|mm³|[µμu][Ll])\b|(?:体温|T)[:：]?\s*3[5-9]\.\d",
)
"""Numbers that only a measurement can give."""


class Named(NamedTuple):
    """A name as it stands in a text: from `start` to `end`, and what it is a name of."""

    text: str
    start: int
    end: int
    keys: frozenset[str]


def words(text: str) -> list[tuple[str, int, int]]:
    """Returns the words of a text in the form in which names are compared, each Chinese character a word."""
    return [(_word(m[0]), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def _word(token: str) -> str:
    word = token.casefold()
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word.isascii():
        word = word[:-1]
    return _SAME.get(word, word)


def _key(name: str) -> str:
    return " ".join(_word(token) for token in _TOKEN.findall(name))


def is_generic(key: str) -> bool:
    """Whether a name, as `_key` gives it, says nothing by itself."""
    return all(word in _GENERIC for word in key.split(" "))


def _variants(name: str) -> Iterator[str]:
    yield name
    inside = [m[1] for m in _BRACKETS.finditer(name)]
    outside = _BRACKETS.sub(" ", name).strip()
    short = [v for text in (outside, name) for v in (_SUFFIX_ZH.sub("", text), _SUFFIX_EN.sub("", text)) if v != text]
    for variant in (outside, *short, *(i for i in inside if 1 < len(i) <= 12)):
        if len(variant) > 1 and not is_generic(_key(variant)):
            yield variant


class _Table:
    """Names by their words."""

    def __init__(self, under: _Table | None = None) -> None:
        self.owners: dict[str, frozenset[str]] = {}
        self.lengths: dict[str, frozenset[int]] = {}
        self.under = under

    def add(self, name: str, owner: str, *, as_it_is: bool = False) -> None:
        for variant in (name,) if as_it_is else _variants(name):
            key = _key(variant)
            if not key:
                continue
            self.owners[key] = self.get(key) | {owner}
            first, _, rest = key.partition(" ")
            length = 1 + (rest.count(" ") + 1 if rest else 0)
            self.lengths[first] = self.starts(first) | {length}

    def get(self, key: str) -> frozenset[str]:
        found = self.owners.get(key)
        if found is None:
            found = self.under.get(key) if self.under is not None else frozenset()
        return found

    def starts(self, first: str) -> frozenset[int]:
        found = self.lengths.get(first)
        if found is None:
            found = self.under.starts(first) if self.under is not None else frozenset()
        return found

    def find(self, text: str) -> list[Named]:
        tokens = words(text)
        found, at = [], 0
        while at < len(tokens):
            for length in sorted(self.starts(tokens[at][0]), reverse=True):
                window = tokens[at : at + length]
                if len(window) < length:
                    continue
                owners = self.get(" ".join(word for word, _, _ in window))
                # A name does not run over the end of a sentence or of a list.
                if owners and not re.search(r"[;；。\n]", text[window[0][1] : window[-1][2]]):
                    start, end = window[0][1], window[-1][2]
                    found.append(Named(text[start:end], start, end, owners))
                    at += length
                    break
            else:
                at += 1
        return found


class Names:
    """The names of all examinations and items of the knowledge, in both languages, with their LOINC codes.

    Keys of what is named are `examination:ID` and `item:ID`.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._table = _Table()
        self.kinds: dict[str, str] = {}
        self.items: dict[str, frozenset[str]] = {}
        for examination in knowledge.examinations.values():
            owner = f"examination:{examination.id}"
            self.kinds[owner] = examination.kind
            self.items[owner] = frozenset(f"item:{item.id}" for item in examination.items)
            texts = (examination.name.en, examination.name.zh, *examination.synonyms.en, *examination.synonyms.zh)
            for name in (*texts, examination.id.replace("_", " ")):
                # Without its last word a test would go by the name of what it measures.
                self._table.add(name, owner, as_it_is=True)
            for item in examination.items:
                names = (item.name.en, item.name.zh, *item.synonyms.en, *item.synonyms.zh)
                for name in (*names, *((item.loinc,) if item.loinc else ())):
                    self._table.add(name, f"item:{item.id}")
        self._known = [key for key in self._table.owners if len(key) >= 5]

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order; longer ones win over shorter ones that they hold."""
        return self._table.find(text)

    def keys(self, name: str) -> frozenset[str]:
        """Returns what a name is a name of, as a whole; empty where it is none."""
        return self._table.get(_key(name))

    def like(self, text: str, others: Sequence[str] = ()) -> str | None:
        """Returns the name that is nearly the text, in its compared form, or None."""
        key = _key(text)
        if len(key) < 5 or is_generic(key):
            return None
        for choices in (others, self._known):
            for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
                best = process.extractOne(key, choices, scorer=scorer, score_cutoff=LIKENESS)
                if best is not None and not is_generic(best[0]):
                    return best[0]
        return None

    def of(self, findings: Iterable[Finding]) -> RecordNames:
        """Returns the names for one record: these and the record's own."""
        return RecordNames(self, self._table, tuple(findings))


class RecordNames:
    """The names of one record's findings, over those of the knowledge."""

    def __init__(self, names: Names, table: _Table, findings: tuple[Finding, ...]) -> None:
        self._names, self._findings = names, findings
        self._table = _Table(table)
        self._examinations: list[frozenset[str]] = []
        self._items: list[frozenset[str]] = []
        seen: dict[tuple[str, str], frozenset[str]] = {}
        for number, finding in enumerate(findings):
            for kind, name, kept in (
                ("examination", finding.examination, self._examinations),
                ("item", finding.item, self._items),
            ):
                keys = seen.get((kind, name))
                if keys is None:
                    known = frozenset(k for k in names.keys(name) if k.startswith(kind)) if name else frozenset[str]()
                    own = f"{kind}:={name}"
                    if name:
                        self._table.add(name, own)
                    keys = seen[kind, name] = known | {own}
                kept.append(keys)
            whole = f"finding:{number}"
            key = _key(f"{finding.examination} {finding.item}")
            self._table.owners[key] = self._table.get(key) | {whole} if finding.item else self._table.get(key)
            first = key.partition(" ")[0]
            self._table.lengths[first] = self._table.starts(first) | {key.count(" ") + 1}
            if finding.code is not None:
                self._table.add(finding.code.code, whole)
        for name in _WHOLE_BODY:
            self._table.owners[name] = self._table.get(name) | {"physical"}
            first = name.partition(" ")[0]
            self._table.lengths[first] = self._table.starts(first) | {name.count(" ") + 1}

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order."""
        return self._table.find(text)

    def recorded(self) -> tuple[str, ...]:
        """Returns the names of the examinations that have been done."""
        return tuple(dict.fromkeys(f.examination for f in self._findings))

    def look_up(self, request: str) -> tuple[list[Finding], list[str]]:
        """Returns the findings that a request names, in the record's order, and the names of which there is none.

        An examination brings all its findings, an item that item only; an item beside its examination narrows it.
        Names that say nothing by themselves ("findings") count only beside their examination.
        """
        mentions = self.find(request)
        if not any(self._says_something(m, request) for m in mentions):
            near = self._names.like(request, list(self._table.owners))
            mentions = [] if near is None else [Named(request, 0, len(request), self._table.get(near))]
        wanted: set[int] = set()
        missing: list[str] = []
        narrowed: Named | None = None
        for position, mention in enumerate(mentions):
            if not self._says_something(mention, request):
                continue
            exact = {int(k.removeprefix("finding:")) for k in mention.keys if k.startswith("finding:")}
            if exact:
                same = {(self._findings[i].examination, self._findings[i].item) for i in exact}
                wanted |= {i for i, f in enumerate(self._findings) if (f.examination, f.item) in same}
                # What follows in the same list may be further items of the same examination.
                narrowed = mention._replace(keys=frozenset().union(*(self._examinations[i] for i in exact)))
                continue
            if narrowed is not None:
                further = self._within(narrowed, mention)
                if further and _joined(request[mentions[position - 1].end : mention.start], ("and", "和", "及", "、")):
                    wanted |= further
                    continue
            narrowed = None
            following = mentions[position + 1] if position + 1 < len(mentions) else None
            if following is not None and _joined(request[mention.end : following.start]):
                inside = self._within(mention, following) or self._within(following, mention)
                if inside:
                    narrowed = mention if self._within(mention, following) else following
                    wanted |= inside
                    continue
            previous = mentions[position - 1] if position else None
            if previous is not None and _joined(request[previous.end : mention.start]):
                # The examination after its item ("hemoglobin in the complete blood count") brings nothing more.
                if self._within(mention, previous):
                    continue
            found = self._owned(mention)
            wanted |= found
            if not found:
                missing.append(mention.text)
        return [self._findings[i] for i in sorted(wanted)], list(dict.fromkeys(missing))

    def _says_something(self, mention: Named, request: str) -> bool:
        if "physical" in mention.keys or not is_generic(_key(mention.text)):
            return True
        if FISHING.search(request[: mention.start] + request[mention.end :]):
            return False
        return any(k.startswith("finding") for k in mention.keys) or (
            any(k.startswith("examination") for k in mention.keys) and self._owned(mention) != set()
        )

    def _owned(self, mention: Named) -> set[int]:
        # The record's own name is that examination and no other that the knowledge knows by it too.
        keys = frozenset(k for k in mention.keys if k.startswith("examination:=")) or mention.keys
        found = {i for i, own in enumerate(self._examinations) if own & keys}
        if "physical" in keys:
            found |= {i for i, f in enumerate(self._findings) if self._is_physical(i, f)}
        if not found and not is_generic(_key(mention.text)):
            found = {i for i, own in enumerate(self._items) if own & keys}
        return found

    def _is_physical(self, index: int, finding: Finding) -> bool:
        kinds = {self._names.kinds.get(key) for key in self._examinations[index]} - {None}
        return kinds == {"physical"} if kinds else _PHYSICAL.search(finding.examination) is not None

    def _within(self, examination: Named, item: Named) -> set[int]:
        if not any(key.startswith("examination") or key == "physical" for key in examination.keys):
            return set()
        return {i for i in self._owned(examination) if self._items[i] & item.keys}


def _joined(gap: str, also: tuple[str, ...] = ()) -> bool:
    """Whether the text between two names reads as one request ("complete blood count: hemoglobin")."""
    rest = gap.casefold().strip(" ,:：，()（）-\u2013'")
    return rest in ("", "of", "of the", "in", "in the", "on", "on the", "的", "里的", "中的", "之", *also)
