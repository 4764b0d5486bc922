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
import re
from collections.abc import Iterator
from enum import IntEnum

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.language.thoughts import apart
from polyclinic.questions.json_answers import json_answers
from polyclinic.questions.mentions import Mention, Mentions, plain

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
