"""Set phrases of the rules patient, and how it passes on what the doctor asks for."""

from __future__ import annotations

import random
import re

from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.language.language import Language
from polyclinic.players.rules.wording_zh import Voice

_SETS: dict[Language, dict[str, tuple[str, ...]]] = {
    "en": {
        "demand": ("I am sorry, doctor, this is an online visit: I cannot do that here for you to see.",),
        "demand in ward": ("Yes, doctor, I will do as you say; please have the examiner write down what it shows.",),
        "other": ("Doctor, could we come back to my illness, please?", "I would rather talk about my illness, doctor."),
        "thanks": ("Thank you, doctor.", "All right, doctor, thank you."),
        "which advice": (
            "Which examination or treatment do you mean exactly, doctor?",
            "Could you be more specific, doctor?",
        ),
        "which question": ("Could you ask more precisely, doctor?", "What exactly would you like to know, doctor?"),
        "treatment": (
            "All right, doctor. I have not had that so far.",
            "I have not had that before, doctor; I will do it.",
        ),
        "not examined": ("I have not had that done, doctor.", "No, doctor, that has not been done."),
        "not yet examined": (
            "All right, doctor, I will get that done; I have not had it so far.",
            "I have not had that done yet, doctor; I will arrange it.",
        ),
        "results": ("I have had that done: {}.", "The result was: {}."),
        "unknown": ("I do not know, doctor.", "I cannot tell you that, doctor."),
        "nothing like that": ("No, nothing like that.", "No, not that I know of."),
        "denial": ("No, {}",),
        "no allergies": ("I have no allergies that I know of.",),
        "no family": ("Nothing that I know of in my family.",),
        "no smoking": ("I do not know of anything to tell there, doctor.",),
        "no alcohol": ("I do not know of anything to tell there, doctor.",),
        "no travel": ("No, I have not been travelling.",),
        "no drugs": ("I take no medicines that I know of.",),
        "no past": ("Nothing that I know of.",),
    },
    "zh": {
        "demand": ("医生，这是线上问诊，我没法当面做给您看。", "不好意思医生，网上没法做这个动作。"),
        "demand in ward": ("好的医生，我照您说的做，结果请检查人员记录。",),
        "other": ("医生，我们还是回到我的病情上吧。", "医生，我想先谈我的病情，这些就不聊了。"),
        "thanks": ("好的，谢谢医生。", "谢谢医生。"),
        "which advice": ("医生，您能说具体一点吗？要做哪项检查或治疗？", "好的医生，具体要做什么呢？"),
        "which question": ("医生，您能问得具体一点吗？", "医生，您具体想了解哪方面？"),
        "treatment": ("好的医生，这个我之前没有做过。", "好的，我之前没有用过，听您的。"),
        "not examined": ("医生，这个检查我没有做过。", "没有做过这项检查，医生。"),
        "not yet examined": ("好的医生，这项检查我还没有做过，我会去做。", "我还没有做过，医生，我会按您说的去做。"),
        "results": ("医生，这个做过，结果是：{}。", "检查结果是：{}。"),
        "unknown": ("这个我不清楚，医生。", "医生，这个我不知道。"),
        "nothing like that": ("没有。", "没有这样的情况。"),
        "denial": ("{}",),
        "no allergies": ("没有过敏，我不知道对什么过敏。",),
        "no family": ("家里人没有这方面的情况，我不太清楚。",),
        "no smoking": ("这个没什么特别的。",),
        "no alcohol": ("这个没什么特别的。",),
        "no travel": ("没有，最近没去过外地。",),
        "no drugs": ("没有吃什么药。",),
        "no past": ("没有，以前没什么特别的病。",),
    },
}


_PARENT = (
    ("I have no allergies", "My child has no allergies"),
    ("I take no", "My child takes no"),
    ("I have not been travelling", "we have not been travelling"),
    ("I have not had", "My child has not had"),
    ("I will get that done", "We will get that done"),
    ("my illness", "my child's illness"),
    ("我的病情", "孩子的病情"),
    ("我还没有", "孩子还没有"),
    ("我之前", "孩子之前"),
)
"""What changes in the set phrases where a parent speaks."""


class Sayer:
    """Says set phrases, varied by the generator."""

    def __init__(self, language: Language, rng: random.Random, voice: Voice = "self") -> None:
        self._phrases, self._rng, self._voice = _SETS[language], rng, voice

    def __call__(self, key: str, *said: str) -> str:
        """Returns a phrase of this kind, with what is said put in."""
        phrase = self._rng.choice(self._phrases[key])
        if self._voice == "parent":
            for ours, theirs in _PARENT:
                phrase = phrase.replace(ours, theirs)
        what = [s.rstrip(" .。；;，") if phrase.endswith(("{}.", "{}。")) else s for s in said]
        return phrase.format(*what)


ASKS_RESULT: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:results?|show(?:s|ed|n)?|levels?|readings?|values?|findings?|reports?|reveal\w*"
        r"|what (?:is|was|are|were) (?:your|the)|numbers?|tests?|done)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"结果|数值|提示|显示|多少|查过|做过|报告|检查|化验|具体"),
}
PLANNED: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:recommend\w*|suggest\w*|planned|plan to|scheduled|advised|consider|for further)\b", re.IGNORECASE
    ),
    "zh": re.compile(r"建议(?!观察)|拟行|待查|请结合|不除外|必要时|为求"),
}
_PURPOSE: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r",?\s+(?:so (?:that )?(?:we|i)|(?:in order )?to (?:rule|look|see|check for|assess"
        r"|evaluate|help|confirm|exclude|determine|get a better|further|better|find|make)"
        r"|because|which (?:will|would|can)|as (?:this|it)|since)\b[^.;?!]*",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"[，,]?\s*(?:这样|以便|以(?=更|进一步|明确|排除|评估|确定|了解|确认|检查是否)|有助于|这(?:项|个|有|将|可以|对|是|种)|从而|帮助"
        r"|来(?=确|明|评|排|了解)|是否|看看?(?=有|是)|以排除|用于|对(?:于)?(?:我们)?制定)[^。；？]*"
    ),
}
_LEAD: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"^.*?\b(?:(?:recommend|suggest|advise|order|get|have|undergo|do|perform|run|check"
        r"|obtain|arrange|schedule|need|request|go for|see|like|results? (?:of|from)"
        r"|what (?:is|was|are|were|do|does|did))(?:ing|ed|s)?)\b(?: (?:that )?you)?(?: (?:to "
        r"|should )?(?:have|get|undergo|do|take|perform|order|run|check))?\s*:?\s*"
        r"(?:the |an? |some |your |my |a few )?",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"^.*?(?:建议|推荐|需要|应该|安排|最好|可以|考虑|请|先|麻烦|帮|给|去|做|查|完善|告诉我)(?:您|你)?(?:先|再|尽快|及时|去|来|可以"
        r"|考虑|到医院|在当地)*(?:做|进行|完善|接受|查|拍|检查|安排)?(?:过)?(?:一?[个次下张项]|一下|以下"
        r"|一些)?(?:的)?(?:检查)?[:：]?"
    ),
}


_TO_BE_DONE = re.compile(r"^.*\b(?:to be done|please do|the following(?: \w+)?)\s*:\s*", re.IGNORECASE)


def request(text: str, language: Language) -> str:
    """Returns the doctor's order as it is passed on: its names, without politeness and reasons."""
    what = ordered(text, language)
    return f"医生要求做：{what}。" if language == "zh" else f"The doctor asks for: {what}."


def ordered(text: str, language: Language) -> str:
    """Returns what is ordered in a text, without what leads up to it and what it is meant for."""
    wanted = []
    for sentence in re.split(r"(?<=[。？！?!；])|(?<=\.)\s", text):
        clear = sentence
        if language == "zh":
            # The advice proper begins at its last cue; what stands before it names what was done or found.
            cues = list(re.finditer(r"建议|推荐", clear))
            clear = clear[cues[-1].start() :] if cues else clear
            clear = re.sub(r"^[^，。]*(?:根据|考虑到|结合|鉴于|为了|虽然|由于)[^，。]*[，,]", "", clear)
        clear = _PURPOSE[language].sub("", clear)
        clear = _TO_BE_DONE.sub("", clear)
        stripped = _LEAD[language].sub("", clear, count=1).strip(" .。?？!！,，").removesuffix("吧")
        stripped = re.sub(r",?\s*please$", "", stripped, flags=re.IGNORECASE)
        if stripped:
            wanted.append(stripped)
    return ("；" if language == "zh" else "; ").join(wanted) or text.strip(" .。?？")


_EXAMINATION_EN = re.compile(rf"(?:[\w-]+ ){{0,2}}(?:{EXAMINATION.pattern})(?: of the \w+)?", re.IGNORECASE)
# Techniques with a hyphen between them are one examination: a CT does not answer for a PET-CT.
_EXAMINATION_ZH = re.compile(
    rf"[\u3400-\u9fff]{{0,6}}(?:{EXAMINATION.pattern})(?:[-－](?:{EXAMINATION.pattern}))*", re.IGNORECASE
)


def examinations(text: str, language: Language) -> list[str]:
    """Returns the examinations in a text, each with the words before it that say of what ("CT of the head")."""
    if language == "en":
        return [m[0] for m in _EXAMINATION_EN.finditer(text)]
    found = (m[0] for m in _EXAMINATION_ZH.finditer(text))
    # What stands before the last verb or particle is no part of the name.
    return [re.sub(r"^.*[做过了的行成善受个次查在名为项对和及与您](?=.{2})", "", name) for name in found]


def who(topic: str, presentation: Presentation) -> str:
    """Returns the answer to a question for age or sex; "" where it is not known."""
    chinese = presentation.language == "zh"
    if topic == "age" and presentation.age is not None:
        age = presentation.age
        if age < 1:
            months = max(round(age * 12), 0)
            return f"{months}个月大。" if chinese else f"{months} months old."
        years = f"{int(age)}"
        return f"{years}岁。" if chinese else f"{years} years old."
    if topic == "sex" and presentation.sex is not None:
        if chinese:
            return "女。" if presentation.sex == "female" else "男。"
        return "Female." if presentation.sex == "female" else "Male."
    return ""


def either(items: list[str]) -> str:
    """Returns "a, b or c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def listed(items: list[str]) -> str:
    """Returns "No a, no b"."""
    text = ", ".join(items)
    return text[0].upper() + text[1:]
