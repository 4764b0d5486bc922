"""What the rules doctor and the rules director say and write, in both languages."""

from __future__ import annotations

import msgspec

from polyclinic.knowledge.knowledge import Severity
from polyclinic.language.language import Language


class Sayings(msgspec.Struct, frozen=True, kw_only=True):
    """The rules doctor's sentences in one language; blanks are named.

    Attributes:
        order: orders an examination.
        conclusion: tells the patient the likeliest disease.
        no_conclusion: tells the patient that none is named.
        general: what is asked and ordered where the knowledge does not reach.
        probable: rationale: the likeliest disease.
        reason: rationale: one piece of evidence and how much it speaks for it.
        absent: a symptom that is not there.
        duration: how long it has lasted.
        doubt: rationale: how likely something else is.
        outside: rationale: nothing known fits.
        undecided: rationale: no known disease fits well enough.
        known: rationale: what is known.
        refer: the plan where no disease is named.
        severity: rationale: how severe it is.
        severities: the words for that.
        comma: between the items of a list.
    """

    order: str
    conclusion: str
    no_conclusion: str
    general: tuple[str, ...]
    probable: str
    reason: str
    absent: str
    duration: str
    doubt: str
    outside: str
    undecided: str
    known: str
    refer: str
    severity: str
    severities: dict[Severity, str]
    comma: str


SAYINGS: dict[Language, Sayings] = {
    "en": Sayings(
        order="I would like one examination to be done: {examination}.",
        conclusion="Thank you. I think this is {disease}. I will write my report and the plan.",
        no_conclusion="Thank you. I cannot put a name to this; I will write down what I found and refer you.",
        general=(
            "How did it begin, and how has it gone on since?",
            "Which illnesses or operations have you had before?",
            "I would like to do a physical examination, please.",
            "I would like you to have a blood test, please.",
            "Do you take any medicines?",
            "I would like you to have a urinalysis, please.",
            "Do you smoke or drink?",
            "Are there any illnesses in your family?",
            "Are you allergic to anything?",
        ),
        probable="{disease} is the likeliest of the diseases I know ({percent:.0f} %)",
        reason="{what} ({ratio:.2g} to 1 for it against the other candidates)",
        absent="no {symptom}",
        duration="ill for {days} days",
        doubt="something that I do not know remains possible ({percent:.0f} %)",
        outside="Outside my knowledge: something else fits better than any disease I know ({percent:.0f} %)",
        undecided="Outside my knowledge: no disease I know fits well enough; something else may ({percent:.0f} %)",
        known="I know only these: {diseases}",
        refer="Refer to a doctor of the field; no treatment without a diagnosis",
        severity="Severity: {severity}",
        severities={"mild": "mild", "moderate": "moderate", "severe": "severe"},
        comma=", ",
    ),
    "zh": Sayings(
        order="请您做一下{examination}。",
        conclusion="谢谢您。我考虑是{disease}，我会写好诊断报告和治疗方案。",
        no_conclusion="谢谢您。目前我还不能确定是什么病，我会把查到的情况记录下来，并为您转诊。",
        general=(
            "这个病是怎么开始的，后来有什么变化？",
            "您以前得过什么病，做过什么手术？",
            "我想给您做一下体格检查。",
            "请您做一下血液检查。",
            "您平时吃什么药吗？",
            "请您做一下尿常规。",
            "您抽烟喝酒吗？",
            "您家里人有什么病吗？",
            "您对什么东西过敏吗？",
        ),
        probable="在我所知的疾病中，{disease}的可能性最大（{percent:.0f} %）",
        reason="{what}（相对其他候选疾病，支持度{ratio:.2g}比1）",
        absent="无{symptom}",
        duration="病程{days}天",
        doubt="仍有可能是我所不了解的疾病（{percent:.0f} %）",
        outside="超出我的知识范围：其他疾病比我所知的任何一种都更符合（{percent:.0f} %）",
        undecided="超出我的知识范围：我所知的疾病都不够符合，也可能是其他疾病（{percent:.0f} %）",
        known="我只了解这些疾病：{diseases}",
        refer="转相应专科医生诊治；诊断未明，不予治疗",
        severity="病情程度：{severity}",
        severities={"mild": "轻度", "moderate": "中度", "severe": "重度"},
        comma="、",
    ),
}


class Verdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The rules director's sentences in one language; blanks are named.

    Attributes:
        look_again: asks the examiner to read an examination out again.
        doctor: names one doctor; `doctors` several.
        lead: point of dispute: which diagnosis leads; its sides are `side`s.
        side: one side of a dispute and who is on it.
        nothing: the side of those who name no diagnosis.
        plan: point of dispute: what some would do and others would not.
        no_more: the side of those who would do nothing besides.
        pooled: rationale: how probable the doctors together hold a diagnosis.
        votes: rationale: what one doctor holds.
        tie: rationale: several are equally probable to the doctors together.
        undecided: rationale: most doctors name none.
        refer: the plan where no diagnosis is named.
        comma: between items; `semicolon` between groups of them.
    """

    look_again: str
    doctor: str
    doctors: str
    lead: str
    side: str
    nothing: str
    plan: str
    no_more: str
    pooled: str
    votes: str
    tie: str
    undecided: str
    refer: str
    comma: str
    semicolon: str


VERDICTS: dict[Language, Verdicts] = {
    "en": Verdicts(
        look_again="Please read out again: {examination}",
        doctor="doctor {numbers}",
        doctors="doctors {numbers}",
        lead="Which diagnosis comes first: {sides}?",
        side="{what} ({who})",
        nothing="none named",
        plan="Treatment of {disease}: {sides}?",
        no_more="nothing besides",
        pooled="{disease}: {percent:.0f} % by the doctors together",
        votes="{who}: {what}",
        tie="Equally probable to the doctors together: {diseases}; the one that was named first comes first",
        undecided="The doctors together do not name a diagnosis",
        refer="Refer to a doctor of the field; no treatment without a diagnosis",
        comma=", ",
        semicolon="; ",
    ),
    "zh": Verdicts(
        look_again="请重新报告检查结果：{examination}",
        doctor="医生{numbers}",
        doctors="医生{numbers}",
        lead="首要诊断是哪一个：{sides}？",
        side="{what}（{who}）",
        nothing="未作诊断",
        plan="{disease}的治疗：{sides}？",
        no_more="不另加治疗",
        pooled="{disease}：各位医生合计的可能性为{percent:.0f} %",
        votes="{who}：{what}",
        tie="各位医生认为可能性相同：{diseases}；先提出者在前",
        undecided="各位医生合计未能作出诊断",
        refer="转相应专科医生诊治；诊断未明，不予治疗",
        comma="、",
        semicolon="；",
    ),
}
