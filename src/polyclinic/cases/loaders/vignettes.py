"""Patients of whom a source has a text and nothing else, and three layouts of such sources.

A vignette begins with what the patient comes through the door with. A sentence that says only who the patient is is no
complaint; it gives age and sex. In MediQ (Li et al., arXiv:2406.00922) the doctor begins with the first sentence, and
the patient answers from the facts; without facts, from the text. CRAFT-MD (Johri et al., Nature Medicine 2025) asks
for the diagnosis among choices. AgentClinic's image sets (`agentclinic_nejm*.jsonl`) have a picture as an attachment:
a doctor who sees can be shown it, and all others have the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.fields import (
    age_in_years,
    as_text,
    literal,
    read_keys,
    read_options,
    readable,
    sex_of,
    split_outside,
)
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.folding import stands_in
from polyclinic.language.language import Language, language_of

_MOST = 4
"""Sentences in which who it is, is looked for."""

_AGE = r"(?:\d+(?:\.\d+)?|[a-z]+)[- ](?:year|month|week|day|hour)s?[- ]old|middle-aged|elderly|newborn|\d+ ?yo"
_SEXED = (
    r"(?:wo)?man|boy|girl|gentleman|lady|male|female|infant|baby|neonate|child|toddler|newborn|patient|person|adult"
)
# A trade by its ending, or by a word that is none; "cancer" and "tumor" only end like one.
_TRADE = (
    r"(?!\w*(?:cancer|ulcer|fever|disorder|tumou?r|tremor|shoulder|finger|bladder|liver|blister|shiver)\b)"
    r"(?:\w+(?:er|or|ist|ian|man|woman|keeper|eer|ress)|student|nurse|cook|chef|clerk|wife|husband|guard|maid|pilot|judge|priest"
    r"|monk|nun|athlete|official|assistant|attendant|accountant|agent|professional|pensioner|retiree|mechanic|immigrant"
    r"|architect|musician|veteran|executive|child)"
)
# Before the head stand what it is like and what kind; a word that begins another part ends it.
_MODIFIER = r"(?!(?:an?|the|his|her|he|she|is|was|has|had|with|for|of|who|and|to|in|on|at|by|from|after)\b)[\w'-]+,? "
# "Male farmer" is a person, and "man" takes nothing behind it: "a woman feels anger".
_NOUN = rf"(?:(?:fe)?male(?: (?:{_MODIFIER})?{_TRADE})?|{_SEXED})(?: patient)?"
_DETERMINER = r"(?:an?|the|this|our) "
_PERSON = re.compile(
    rf"(?:(?:the |this |our )?patient:? (?:is |was )?|(?:s?he) is )?(?:{_DETERMINER})?"
    rf"(?:(?:{_MODIFIER}){{0,4}}?(?:{_AGE})(?: (?:{_MODIFIER}){{0,3}}?(?:{_NOUN}|{_TRADE}))?"
    rf"|(?:{_MODIFIER}){{0,3}}?(?:{_NOUN})|(?<=is )(?:an? )(?:{_MODIFIER}){{0,2}}?{_TRADE})(?![\w'-])",
    re.IGNORECASE,
)
# What stands behind a comma and is still who the patient is.
_MORE = re.compile(
    rf"(?:(?:an? )?(?:{_AGE})|(?:age|aged) \d+|\d+(?: years?)?"
    rf"|(?:{_DETERMINER})?(?:{_MODIFIER}){{0,3}}?(?:{_NOUN}|{_TRADE})"
    r"|(?:previously|otherwise|generally|usually) (?:fit(?: and well)?|well|healthy)|healthy|married|single|divorced"
    r"|widowed|retired|unemployed|pregnant|right-handed|left-handed)",
    re.IGNORECASE,
)
_NO_HISTORY = re.compile(
    r"(?:with no|without(?: any)?|with an? un\w+) (?:[\w-]+ ){0,4}?(?:history|illness(?:es)?|problems)$", re.IGNORECASE
)
# Where to and by whom: a word that tells how somebody is ("unconscious", "vomiting") is none of it.
_WORD = (
    r"(?!(?:to|into|in|at|by|from|on|for|with|because|due|after|of|since|following|and|as|when|who|that)\b"
    r"|\w+(?:ous|ing|less|ive|ed)\b)[\w'-]+"
)
_PLACE = rf"(?: (?:to|into|in|at|by|from|on)(?: {_WORD}){{1,5}})"
_CAME = (
    r"(?:(?:is|was|has been|had been) )?(?:brought|referred|seen|admitted|transferred|evaluated|examined|came|comes"
    r"|presented|presents|attended|attends|visited|visits|arrived|arrives)(?: in| back| again)?"
)
_COMES = re.compile(rf"(?:who )?{_CAME}(?: the {_WORD}| our {_WORD})?{_PLACE}{{0,4}}$", re.IGNORECASE)
_WITH_AND_COMES = re.compile(rf"with [^,;]+? {_CAME}(?: the {_WORD}| our {_WORD})?{_PLACE}{{0,4}}$", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|presents?|presented|complain\w*|reports?|reported|comes|came|notice[sd]?"
    r"|develop(?:s|ed)|began|started)\b",
    re.IGNORECASE,
)
_WITH = re.compile(r"with (?P<what>.+)$", re.IGNORECASE)

_CHINESE_AGE = r"(?:年龄[:：]?)?(?:\d+(?:\.\d+)?|[一二两三四五六七八九十百零]+)\s*(?:岁|个?月龄?|周龄?|天龄?)(?:半|余)?"
_CHINESE_TRADE = (
    r"(?:[\u4e00-\u9fff]{0,4}?(?:员|师|民|工人|工|司机|学生|干部|医生|护士|警察|军人|老板|经理|会计|店主|厨师|裁缝|律师"
    r"|教授|商户|商人|个体户|主妇|保姆|保安|护工|匠))"
)
_CHINESE_PERSON = re.compile(
    rf"(?:患者|患儿|病人)?\s*[:：]?\s*[是为系]?\s*(?:一[名位个])?\s*(?:{_CHINESE_AGE}的?)?"
    r"\s*(?:退休|已婚|未婚|离异|在职|中年|老年|青年|年轻)*的?"
    rf"\s*[男女]?(?:[性童孩婴士生子]|患者|患儿|病人|工人)*\s*(?:{_CHINESE_AGE})?\s*(?:职业[:：]?)?{_CHINESE_TRADE}?"
    r"|(?:男|女|新生|幼|婴)[婴儿]+|[\u4e00-\u9fff]{1,2}族|(?:已|未|离|丧)[婚偶异]|既往(?:体健|身体健康)|平素体健"
    r"|(?:怀)?孕\s*\d+\+?\d*\s*周"
)
_CHINESE_MARKS = " ，,、；;。"
_CHINESE_PART = re.compile(r"[，,、；;。]")


def complaint_in(sentences: Sequence[str], language: Language) -> tuple[str, str]:
    """Returns the beginning of a vignette up to what the patient comes with, and that, of the vignette's sentences.

    What it comes with is the first sentence that says more than who it is, with the one before it where that tells of
    something that the patient has ("a woman with diabetes came to the clinic"). Where none says more it is the first.
    """
    for number, sentence in enumerate(sentences[:_MOST]):
        if language == "zh":
            reason = _behind_chinese(sentence)
        else:
            reason = "" if _says_who(_plain(sentence)) else sentence
            if reason and number and _tells_of_history(_plain(sentences[number - 1])):
                reason = f"{sentences[number - 1]} {sentence}"
        if reason:
            return " ".join(sentences[: number + 1]), reason
    return sentences[0], sentences[0]


def _plain(sentence: str) -> str:
    return sentence.strip(" .!?")


def _says_who(sentence: str) -> bool:
    """Whether an English sentence says who the patient is, perhaps that it came, and not with what it came."""
    found = _PERSON.match(sentence)
    if found is None:
        return False
    rest = sentence[found.end() :].strip()
    while rest.startswith(","):
        part, comma, after = rest[1:].strip().partition(",")
        more = _MORE.match(part.strip())
        if more is None:
            rest = rest[1:].strip()
            break
        rest = part.strip()[more.end() :].strip() + (f"{comma}{after}" if comma else "")
    if not rest or _COMES.match(rest) or _NO_HISTORY.match(rest):
        return True
    return _tells_of_history(sentence)


def _tells_of_history(sentence: str) -> bool:
    """Whether a sentence names somebody with something that it has, and says of it at most that it came."""
    found = _PERSON.match(sentence)
    rest = "" if found is None else sentence[found.end() :].strip(" ,")
    if not rest or _NO_HISTORY.match(rest):
        return False
    if _WITH_AND_COMES.match(rest):
        return True
    attribute = _WITH.match(rest)
    return attribute is not None and not _FINITE.search(attribute["what"])


def _behind_chinese(sentence: str) -> str:
    """Returns what stands in a Chinese sentence behind the parts that say who it is, "" where nothing does."""
    at = 0
    for end in [*(found.start() for found in _CHINESE_PART.finditer(sentence)), len(sentence)]:
        part = sentence[at:end].strip(_CHINESE_MARKS)
        if not _CHINESE_PERSON.fullmatch(part):
            return sentence[at:].lstrip(_CHINESE_MARKS)
        at = end
    return ""


# A full stop behind a title, an initial or "vs" ends no sentence.
_SENTENCE_END = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s)|[。！？]")


def record_of_text(text: str, diagnoses: tuple[Diagnosis, ...] = (), *, told: tuple[str, ...] = ()) -> Record:
    """Returns the record of a vignette.

    Args:
        text: the vignette, which stays whole.
        diagnoses: what the patient has. A later sentence that names it is no complaint, which the doctor is told.
        told: its facts one by one, which then are what the patient tells, in place of the text.
    """
    language = language_of([text])
    sentences = sentences_of(text)
    beginning, complaint = complaint_in(sentences, language)
    if stands_in(complaint, diagnosis_terms(diagnoses)):
        beginning = complaint = sentences[0]
    # Who the text is about is said at its beginning; later people are relatives.
    presentation = Presentation(
        complaint=complaint, language=language, age=age_in_years(beginning), sex=sex_of(beginning)
    )
    history = History(symptoms=told) if told else History(present=text)
    return Record(presentation=presentation, history=history, vignette=text)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text, each with the mark that ends it."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    return [one for at, end in pairwise(ends) if (one := text[at:end].strip())]


def load_mediq(record: dict[str, Any], order: int) -> Case:
    """Reads a MediQ record; the right option counts as the diagnosis."""
    identifier = as_text(record.get("id")) or str(order)
    sentences = _sentences_or_facts(record.get("context"))
    facts = _sentences_or_facts(record.get("facts")) or _sentences_or_facts(record.get("atomic_facts"))
    text = " ".join(sentences or facts)
    if not text:
        raise BadInput("a case needs its sentences; $.facts has none either", field="$.context")
    if not as_text(record.get("question")):
        raise BadInput("a case needs its question", field="$.question")
    options = read_options(record.get("options"), "$.options")
    answers = read_keys(record.get("answer_idx"), options) or read_keys(record.get("answer"), options)
    wrong = [key for key in answers if key not in options]
    if wrong or not answers:
        came = f"{wrong[0]!r} came" if wrong else "there is none"
        raise BadInput(f"the right option is needed, one of {', '.join(options)}; {came}", field="$.answer_idx")
    patient = record_of_text(text, tuple(Diagnosis(options[key]) for key in answers), told=facts)
    language = patient.presentation.language
    stem = as_text(record["question"])
    return Case(
        id=identifier,
        record=patient,
        truth=Truth(diagnoses=tuple(Diagnosis(options[key]) for key in answers), answers=answers),
        setting="online",
        question=Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1),
        source="MediQ (arXiv:2406.00922)",
    )


def _sentences_or_facts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in map(as_text, values) if text)


_STEM = {"en": "What is the most likely diagnosis?", "zh": "最可能的诊断是什么？"}


def load_craft_md(record: dict[str, Any], order: int) -> Case:
    """Reads a CRAFT-MD record; `category`, the field of medicine, is the department."""
    identifier = as_text(record.get("case_id")) or str(order)
    text, answer = as_text(record.get("case_vignette")), as_text(record.get("answer"))
    if not text:
        raise BadInput("a case needs its vignette", field="$.case_vignette")
    if not answer:
        raise BadInput("a case needs its diagnosis", field="$.answer")
    question, name = None, answer
    answers: tuple[str, ...] = ()
    if record.get("choices"):
        options = read_options(_choices(record["choices"]), "$.choices")
        answers = read_keys(answer, options)
        if wrong := [key for key in answers if key not in options]:
            raise BadInput(
                f"the answer {wrong[0]!r} is none of the choices {'; '.join(options.values())}", field="$.answer"
            )
        language = language_of([text])
        question = Question(id=identifier, stem=_STEM[language], options=options, language=language)
        name = options[answers[0]]
    return Case(
        id=identifier,
        record=record_of_text(text, (Diagnosis(name),)),
        truth=Truth(diagnoses=(Diagnosis(name),), answers=answers[:1]),
        setting="online",
        question=question,
        source="CRAFT-MD (doi:10.1038/s41591-024-03328-5)",
        department=as_text(record.get("category")),
    )


def _choices(value: Any) -> Any:
    """Returns the choices; a cell of a table has them as a literal, with letters, or between commas or semicolons."""
    value = literal(value) if isinstance(value, str) else value
    if not isinstance(value, str) or "\n" in value:
        return value
    try:
        return read_options(value, "$.choices")
    except BadInput:
        parts = split_outside(value, ";；|") if any(mark in value for mark in ";；|") else split_outside(value, ",，")
        return [part.strip() for part in parts if part.strip()]


_EXAMINATION = {"en": "physical examination", "zh": "体格检查"}
_RIGHT = frozenset({"true", "yes", "1"})


def load_agentclinic_images(record: dict[str, Any], order: int) -> Case:
    """Reads a record with a picture; the id is its number in the file, and the right answer counts as the diagnosis."""
    identifier = as_text(record.get("id")) or str(order)
    info, stem, image = (as_text(record.get(key)) for key in ("patient_info", "question", "image_url"))
    if not (info or stem):
        raise BadInput("a case needs to say who the patient is; $.question does not either", field="$.patient_info")
    options, answers = _answers(record)
    diagnoses = tuple(Diagnosis(options[key]) for key in answers)
    patient = record_of_text(info or stem, diagnoses)
    language = patient.presentation.language
    results = literal(record.get("physical_exams"))
    findings = tuple(_findings(results, _EXAMINATION[language]))
    kind = as_text(record.get("type"))
    return Case(
        id=identifier,
        record=msgspec.structs.replace(patient, findings=findings),
        truth=Truth(diagnoses=diagnoses, answers=answers),
        question=Question(
            id=identifier, stem=stem or info, options=options, language=language, several=len(answers) > 1
        ),
        source=f"AgentClinic (arXiv:2405.07960), images{f', {kind}' if kind else ''}",
        attachments=(Attachment(url=image),) if image else (),
    )


def _findings(value: Any, examination: str) -> Iterator[Finding]:
    """Yields what was found: an object has an examination a key, perhaps with items; a text is one result."""
    if not isinstance(value, dict):
        if text := as_text(value):
            yield Finding(examination=examination, value=text)
        return
    for name, part in value.items():
        if isinstance(part, dict):
            for item, result in part.items():
                if text := as_text(result):
                    yield Finding(examination=readable(str(name)), item=readable(str(item)), value=text)
        elif text := as_text(part):
            yield Finding(examination=examination, item=readable(str(name)), value=text)


def _answers(record: dict[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the options and the keys of the right ones; each answer says of itself whether it is right."""
    listed = literal(record.get("answers"))
    if isinstance(listed, list) and listed and all(isinstance(one, dict) and "text" in one for one in listed):
        options = read_options([as_text(one["text"]) for one in listed], "$.answers")
        right = [as_text(one.get("correct")).lower() in _RIGHT for one in listed]
        answers = tuple(key for key, is_right in zip(options, right, strict=True) if is_right)
    else:
        options = read_options(listed, "$.answers")
        answers = read_keys(record.get("answer") or record.get("correct_answer"), options)
    if not answers or any(key not in options for key in answers):
        raise BadInput("none of the answers is marked as the right one ('correct': true)", field="$.answers")
    return options, answers
