r"""Reading a model's free-text reply as options of a question, without ever guessing.

A reply is read from its *statements*: places where it says which option it takes. In the order of their weight:

1. **final**: `\boxed{B}`, `{"answer": "B"}`, `<answer>B</answer>`, "Final answer: B", and a line that begins with
   "Answer:" or "答案：";
2. **answer**: "the answer is B", "I choose B", "故选 B";
3. **remark**: "B is correct", "it is B", "so, B", and a first or last line that is an answer by itself.

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
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.questions.formats import FINAL_LINE, AnswerFormat, show_form, write_answer
from polyclinic.questions.json_answers import json_answers
from polyclinic.questions.options import Options, Said, plain
from polyclinic.questions.shown import option_lines

__all__ = ["FINAL_LINE", "AnswerFormat", "read_answer", "show_form", "write_answer"]

LONGEST_STATEMENT = 2_000
"""Characters in which an answer is looked for behind the words that announce it."""

MOST_STATEMENTS = 200
"""What says more often which option it takes goes round in a loop."""

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL)
# Some chat templates open the block in the prompt, so that the reply holds only its end.
_THOUGHT_END = re.compile(r"\A.*</(?:think|thinking|thought)>", re.DOTALL)
_THOUGHT_OPEN = re.compile(r"<(?:think|thinking|thought)>")
_BOXED = re.compile(r"\$*\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}\$*")
_TAGGED = re.compile(r"<(answer|final_answer)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TYPESET = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}")

_ADJECTIVES = r"(?:(?:single|one|most|correct|right|best|final|likely|appropriate|suitable|accurate|overall)\s+)"
_ANSWER = re.compile(
    rf"""\b(?:(?P<adjectives>{_ADJECTIVES}+)(?:answer|option|choice|response)|answer|ans|choice|option|vote|decision|verdict|selection|conclusion|final(?=\s*:))s?
        (?:\s+(?:to|for|here|in)\b[^.:;?!\n]{{0,60}}?)?
        (?:\s*(?::|=|->|→|\s-(?=\s))|\s+(?:is|are|(?:would|should|must|has\s+to)\s+be)\b\s*:?)
        |(?:(?P<zh>最终|正确|最佳|最后)的?)?(?:答案|答)】?(?:应该?|就)?(?:(?:是|为|选|包括)?[:]|是|为|选|包括)
        |答案】?[ ]*(?=[A-Z(])|(?<!不)正确选项(?:是|为|有|[:])+|(?<!不)(?P<true>正确的(?:选项)?(?:是|为|有|[:])+)
        |(?<![不能选])(?:^|(?<=[\s,。;:!(、])|故|应该?|因此|所以|则|我|本题|此题|综上|最后|最终|直接|首|宜|当|据此|由此|认为|觉得|改|改为)+
         选(?![项用出取修手中定])择?[:]?""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_OPTIONS = re.compile(r"\W*(?:answer\s+)?(?:option|choice)s", re.IGNORECASE)
_HEADLINE = re.compile(
    r"^[ \t]*(?:the\s+)?(?:final\s+)?answer[ \t]*$|^[ \t]*(?:最终)?答案[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_CHOICE = re.compile(
    r"""\b(?:i|we)(?:'d|'ll|\s+would|\s+will|\s+shall)?(?:\s+(?:therefore|thus|still|finally|now|then))?
        \s+(?:choose|pick|select|go\s+with|opt\s+for|answer|say|vote(?:\s+for)?|meant?)\b(?:\s+with)?
        |\bi(?:'m|\s+am)\s+going\s+with\b|\bcorrection\s*:|\bshould\s+be\b|而是|改为|改选|更正为?:?|应该?是|应为""",
    re.VERBOSE | re.IGNORECASE,
)
_OPINION = re.compile(
    r"""\b(?:i|we)\s+(?:think|believe)(?:\s+that)?(?:\s+it(?:'s|\s+is))?
        |\b(?:it|this)(?:'s|\s+is|\s+must\s+be|\s+has\s+to\s+be)(?=\s)""",
    re.VERBOSE | re.IGNORECASE,
)
_SO = re.compile(
    r"\b(?:therefore|thus|hence|so|in\s+conclusion|in\s+summary)\b\s*[,:]?|(?:因此|所以|综上)[,:]?", re.IGNORECASE
)
_VERDICT = re.compile(
    rf"""\s+(?:is|are|would\s+be|must\s+be)\s+(?:(?:thus|therefore|clearly|indeed|still)\s+)*(?:the\s+|my\s+|our\s+)?
        (?:{_ADJECTIVES}*(?P<noun>answer|option|choice|response)s?|correct|right)\b
        (?!\s*(?:if|only|when|in\s+that|unless|about|for|statement|in\s+saying|\?))
        |(?:均|都|是|为|最)*(?:正确|最佳|最合适|最恰当)的?(?P<zh>答案|选项)?(?=\s*(?:[。.,;!\n]|$))""",
    re.VERBOSE | re.IGNORECASE,
)
# Where the question asks for what is wrong, a right option is not the answer.
_ASKS_WRONG = re.compile(r"\b(?:not|except|incorrect|false|wrong|least)\b|不|错误|除|非", re.IGNORECASE)

_UNBELIEVED = re.compile(
    r"""(?:\bnot|n't|\bdoubt|\bnever|\bwhy|\bwhether|\bif|\bunsure|\buncertain|不|不认为|并非|不能|不应该?|难以|是否|别|勿|没)
        (?:\s+(?:think|believe|say|sure|certain|mean|that|the|if|whether|agree|be|convinced|quite|really|is|imply|so))*\s*$
        |\b(?:wrong|incorrect|worst|other|previous|alternative|first|second|initial|tempting|common|false|usual|least
        |every|each|an|any|another|his|her|their|your|\w+['’]s)\s*$|(?:错误|其他|常见|干扰)的?$""",
    re.VERBOSE | re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"""^\W*(?:even\s+)?(?:if|suppose|supposing|were|had|unless|assuming|in\s+case)\b(?!.*\b(?:since|so|therefore|thus|but)\b)
        |^\W*(?:如果|假如|倘若|若是?|假设)(?!.*(?:因此|所以|但|故))
        |\b(?:some|many|others?|students?|people|one|you|they|candidates?|colleagues?|examiners?|doctors)\b[^,.;]*\b(?:say|think|argue|choose|claim|believe|pick
        |select|answer)\b[^,;.]*$
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
    """One place where a reply says which option it takes, or announces that it will and does not."""

    start: int
    end: int
    weight: _Weight
    said: Said = msgspec.field(default=Said())
    vague: bool = False


def read_answer(text: str, question: Question) -> frozenset[str]:
    """Returns the keys of the options that a reply takes.

    Args:
        text: what the model said.
        question: what it was asked.

    Returns:
        One key; one or more where the question asks for several.

    Raises:
        UnreadableReply: it takes none, more than were asked for, or now one and then another.
        CutOff: it ends inside a thought.
    """
    options = Options(question)
    reply = _without_thoughts(text)
    if len(question.options) > 1:
        # Small models say the question again; what it quotes is no answer.
        reply = reply.replace("\n".join(option_lines(question)), "\n")
    if not reply.strip():
        raise UnreadableReply("the answer is empty", text=text)
    try:
        body = _written_out(reply, options)
    except UnreadableReply as failure:
        raise type(failure)(failure.problem, text=text) from None
    if sum(1 for _ in _ANSWER.finditer(body)) > MOST_STATEMENTS:
        raise UnreadableReply(f"it announces an answer more than {MOST_STATEMENTS} times, in a loop", text=text)
    said = _conclusion(_outermost(_statements(body, options, question)), body, options)
    if said.problem:
        raise UnreadableReply(said.problem, text=text)
    return said.keys


def _without_thoughts(text: str) -> str:
    # Without an end there is nothing to take out, and a search from every beginning would take long.
    said = _THOUGHT_END.sub("", _THOUGHT.sub("\n", text)) if "</th" in text else text
    if _THOUGHT_OPEN.search(said):
        raise CutOff("it ends inside its thoughts", text=text)
    return said


def _written_out(reply: str, options: Options) -> str:
    """Returns a reply in plain text, with the answers that it marks by signs as lines "Final answer: ..."."""
    pieces, at = list[str](), 0
    for start, end, parts in json_answers(reply):
        read = [options.whole(plain(part)) or Said(problem=f"{part[:80]!r} is none of the options") for part in parts]
        if problem := next((said.problem for said in read if said.problem), ""):
            raise UnreadableReply(problem)
        keys = dict.fromkeys(key for said in read for key in sorted(said.keys))
        pieces += [reply[at:start], f"\nFinal answer: {', '.join(keys)}\n"]
        at = end
    reply = "".join([*pieces, reply[at:]])
    if pieces:
        reply = re.sub(r"^[ \t]*```\w*[ \t]*$", "", reply, flags=re.MULTILINE)
    reply = _TYPESET.sub(r"\1", reply)
    reply = _BOXED.sub(r"\nFinal answer: \1\n", reply)
    return plain(_TAGGED.sub(lambda match: f"\nFinal answer: {match[2].strip()}\n", reply))


def _statements(text: str, options: Options, question: Question) -> Iterator[_Statement]:
    for match in [*_ANSWER.finditer(text), *_HEADLINE.finditer(text)]:
        if (statement := _announced(match, text, options, question)) is not None:
            yield statement
    for pattern, weight in ((_CHOICE, _Weight.ANSWER), (_OPINION, _Weight.REMARK)):
        for match in pattern.finditer(text):
            tail = _line(text, match.end())
            if _means_it(text, match.start()) and options.starts_with_key(tail) and (said := options.beginning(tail)):
                yield _Statement(match.start(), match.end(), weight, said)
    for match in _SO.finditer(text):
        if said := options.whole(re.split(r"(?<=[.。!！])\s", _line(text, match.end()).strip(), maxsplit=1)[0]):
            yield _Statement(match.start(), match.end(), _Weight.REMARK, said)
    yield from _verdicts(text, options, question)
    yield from _by_themselves(text, options, question)


def _outermost(statements: Iterable[_Statement]) -> list[_Statement]:
    """Returns the statements in order, without lines that only hold what a heavier statement in them says."""
    ordered = sorted(statements, key=lambda statement: (statement.start, statement.end))
    heavy = [statement.start for statement in ordered if statement.weight > _Weight.REMARK]
    return [
        statement
        for statement in ordered
        if statement.weight > _Weight.REMARK or not any(statement.start <= at < statement.end for at in heavy)
    ]


def _announced(match: re.Match[str], text: str, options: Options, question: Question) -> _Statement | None:
    """Reads what follows "the answer is" or "Answer:", in its line or, where that is empty, in the next."""
    if not _means_it(text, match.start()) or (match.groupdict().get("true") and _ASKS_WRONG.search(question.stem)):
        return None
    headline = match.re is _HEADLINE
    groups = match.groupdict()
    line_start = text.rfind("\n", 0, match.start()) + 1
    opens_line = not text[line_start : match.start()].strip() and match[0].rstrip().endswith((":", "："))
    says_final = "final" in (groups.get("adjectives") or "").lower() or groups.get("zh") in {"最终", "最后"}
    weight = _Weight.FINAL if headline or opens_line or says_final else _Weight.ANSWER
    tail = _line(text, match.end())
    if not tail.strip():
        rest = text[match.end() :].strip("\n \t")[:LONGEST_STATEMENT]
        rows = [row for row in rest.split("\n") if row.strip()]
        listed = list(itertools.takewhile(options.whole, rows))
        if len(listed) > 1 and (not question.several or len(listed) == len(question.options)):
            # A list of the options is no answer, and neither are several where one is asked for.
            if _OPTIONS.match(match[0]) or len(listed) == len(question.options):
                return None
            problem = f"it lists {len(listed)} options, and one was asked for"
            return _Statement(match.start(), match.end(), weight, Said(problem=problem), True)
        tail = "\n".join(listed) if len(listed) > 1 else "".join(rows[:1])
    if (said := options.beginning(tail)) is not None:
        return _Statement(match.start(), match.end(), weight, said)
    # "Answer: let us think ... so the answer is B" announces what another statement says.
    if weight < _Weight.FINAL or _ANSWER.search(tail):
        return None
    problem = f"its answer, {tail.strip()[:80]!r}, names no option" if tail.strip() else "it ends before its answer"
    return _Statement(match.start(), match.end(), weight, Said(problem=problem), True)


def _verdicts(text: str, options: Options, question: Question) -> Iterator[_Statement]:
    """Yields what "B is correct" and "B 正确" say; the option stands before the verdict."""
    asks_wrong = _ASKS_WRONG.search(question.stem) is not None
    for match in _VERDICT.finditer(text):
        if asks_wrong and not (match["noun"] or match["zh"]):
            continue
        line_start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - LONGEST_STATEMENT)
        before = text[line_start : match.start()]
        starts = [
            0,
            *(found.end() for found in re.finditer(r"[.!?;:,。、]\s*|\b(?:that|so|and|but)\s+|故|因此|所以", before)),
        ]
        said = next((said for start in starts if (said := options.whole(before[start:]))), None)
        if said and _means_it(text, line_start + len(before.rstrip()) - len(before[starts[-1] :].rstrip())):
            weight = _Weight.ANSWER if match["noun"] or match["zh"] else _Weight.REMARK
            yield _Statement(match.start(), match.end(), weight, said)


def _by_themselves(text: str, options: Options, question: Question) -> Iterator[_Statement]:
    """Yields what the first and the last line say where they are answers by themselves."""
    whole = options.whole(text) if len(text) <= LONGEST_STATEMENT else None
    if whole is not None and "\n" in text.strip() and len(whole.keys) == len(question.options):
        whole = None
    if whole is not None:
        yield _Statement(0, len(text), _Weight.REMARK, whole)
        return
    if (colon := _COLON.match(text.strip())) and (key := options.key(colon[1])) and options.is_word(key):
        yield _Statement(0, len(text), _Weight.REMARK, Said(frozenset([key])))
    lines = [(found.start(), found.end()) for found in re.finditer(r"[^\n]*\S[^\n]*", text)]
    labels = list(options.labels(text))
    for start, end in dict.fromkeys((lines[0], lines[-1])) if lines else ():
        said = options.leading(text[start:end][:LONGEST_STATEMENT])
        # "A. ...", "B. ...", and so on is a walk through the options.
        own = next((order for at, order in labels if start <= at < end), None)
        before = next((order for at, order in reversed(labels) if at < start), None)
        after = next((order for at, order in labels if at >= start and order != own), None)
        alone = options.key(text[start:end]) is not None
        walk = (
            own is not None
            and not alone
            and ((before is not None and before < own) or (after is not None and after > own))
        )
        if said is not None and not walk:
            yield _Statement(start, end, _Weight.REMARK, said)


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end][:LONGEST_STATEMENT]


def _means_it(text: str, start: int) -> bool:
    """Tells whether what stands before a statement in its sentence leaves it one."""
    begin = max(text.rfind(sign, 0, start) for sign in _SENTENCE_ENDS) + 1
    before = text[max(begin, start - LONGEST_STATEMENT) : start]
    return _UNBELIEVED.search(before) is None and _SUPPOSED.search(before) is None


def _conclusion(statements: list[_Statement], text: str, options: Options) -> Said:
    """Returns what the statements come to; see the rules above."""
    if not statements:
        return Said(problem="it names no option as its answer")
    last = statements[-1]
    for earlier in statements[:-1]:
        if earlier.vague or earlier.weight < last.weight or earlier.said.keys == last.said.keys or last.said.problem:
            continue
        if _TAKEN_BACK.search(text, earlier.end, last.start) is None:
            first = ", ".join(sorted(earlier.said.keys)) or "something else"
            return Said(problem=f"it says {first} and then {', '.join(sorted(last.said.keys))}, and takes neither back")
    if (doubt := _TAKEN_BACK.search(text, last.end)) and options.other_key(text[doubt.end() :], last.said.keys):
        return Said(problem="it takes its answer back, and does not say clearly what it is instead")
    return last.said
