"""The words of a question or a record that say something: stems for English, character bigrams for Chinese."""

from __future__ import annotations

import re

from polyclinic.language.language import Language

_EN_STOP = frozenset(
    (
        "a an the i you he she it we they my your his her its our their me him us them this that these those is are "
        "was were be been being am do does did doing have has had having can could would will shall should may might "
        "must of in on at to for with from by about as and or but if then so than too very just any some all no not "
        "there here what when where which who whom whose why how also other else more most such only own same into "
        "over under again once please tell doctor patient feel feeling felt notice noticed experience experiencing "
        "experienced report reports symptom symptoms problem problems anything something everything thing things like "
        "know let see get got ever lately recently currently now today since during before after sort kind type "
        "describe associated related specific history medical condition conditions issue issues going lot many much "
        "long often day bit ill sick unwell bother bothering well good sure okay right thank thanks hello hi "
        "understand sorry hear help bring brings brought still first present presents complain complaints significant "
        "particular certain area feels seem seems getting whether either say explain detail details discuss share "
        "elaborate concern concerns concerned up down out discomfort notable additionally additional change changes "
        "changed recent similar previous past prior episode episodes start started begin began "
    ).split()
)
_ZH_STOP = re.compile(
    r"您好|你好|请问|请|医生|先生|女士|小朋友|我(?:们)?|您|你|他|她|它|这(?:个|种|些|样|次|段)?|那(?:个|种|些)?|最近|近期|现在|目前|平时"
    r"|当时|之前|以前|曾经?|有没有|有无|是否|是不是|会不会"
    r"|能不能|能否|可以|可不可以|告诉|描述|说说|介绍|讲讲|了解|知道|注意到|注意|发现|感觉到?|感到|觉得|出现过?|经历过?|伴随|伴有|还有|其他|其它|别的|任何|一些|一下|哪里|哪些|哪儿|哪方面|什么"
    r"|怎么样|怎样|怎么|如何|多少|几|吗|呢|吧|啊|的|了|着|过|是|有|在|和|与|及|或者?|以及|还是|等|时候|期间|时间|情况|症状|问题|具体|详细|身体"
    r"|不舒服|不适|不太对劲|异常|特别|比如|例如|方面|更多"
    r"|想|需要|关于|对于|对|上|里|中|把|被|给|让|就|都|也|很|比较|当|从|到|自从|以来|第一次|开始|结果|显示|看到|部位|地方|状况|表现|进一步|主要|相关"
    r"|之外|除了|变化|开始|持续|多久|多长|疾病|病史|过去|患过|得过|曾"
    r"|[，。？！、；：“”\"',.?!;:\s（）()]"
)
_ZH_SAME = (
    ("疼", "痛"),
    ("发烧", "发热"),
    ("肿块", "肿物"),
    ("包块", "肿物"),
    ("核磁共振", "MRI"),
    ("磁共振", "MRI"),
    ("核磁", "MRI"),
    ("彩超", "超声"),
    ("B超", "超声"),
    ("b超", "超声"),
    ("活组织检查", "活检"),
    ("鼻涕", "流涕"),
    ("胃口", "食欲"),
    ("拉肚子", "腹泻"),
    ("肚子", "腹"),
    ("麻痹", "麻木"),
    ("没力气", "乏力"),
    ("大小便", "二便"),
    ("浮肿", "水肿"),
    ("气喘", "喘"),
    ("喝酒", "饮酒"),
    ("抽烟", "吸烟"),
    ("出汗", "汗"),
    ("心慌", "心悸"),
)
_ZH_ALONE = frozenset("痛痒咳热吐泻渴烧麻晕痰喘肿汗")


def terms(text: str, language: Language) -> list[str]:
    """Returns the content terms of a text: stems, or bigrams and the words in Latin letters."""
    if language == "en":
        found = (
            stem(w) for w in re.findall(r"[a-z]+(?:'[a-z]+)?|\d+", text.casefold()) if w not in _EN_STOP and len(w) > 1
        )
        return [w for w in found if w not in _EN_STOP]
    text = re.sub(r"\s+", "", text)
    for word, same in _ZH_SAME:
        text = text.replace(word, same)
    bigrams = []
    for run in _ZH_STOP.sub(" ", text).split():
        for part in re.findall(r"[\u3400-\u9fff]+|[A-Za-z]+(?:-[A-Za-z]+)?|\d+(?:\.\d+)?", run):
            if part[0].isascii():
                bigrams.append(part.upper())
            elif len(part) == 1:
                bigrams += [part] if part in _ZH_ALONE else []
            else:
                bigrams += [part[i : i + 2] for i in range(len(part) - 1)]
                bigrams += [c for c in part if c in _ZH_ALONE]
    return bigrams


_SAME_EN = {
    "diarrheal": "diarrhea",
    "vomit": "vomit",
    "vomiting": "vomit",
    "nauseous": "nausea",
    "feverish": "fever",
    "febrile": "fever",
    "breathless": "breath",
    "tired": "fatigu",
    "tiredness": "fatigu",
    "exhausted": "fatigu",
    "weak": "weak",
    "weakness": "weak",
    "dizzy": "dizz",
    "dizziness": "dizz",
    "itchy": "itch",
    "pruritus": "itch",
    "itching": "itch",
    "swollen": "swell",
    "urinate": "urin",
    "urination": "urin",
    "urinary": "urin",
    "pee": "urin",
    "bled": "bleed",
    "painful": "pain",
    "ache": "pain",
    "hurt": "pain",
    "sore": "pain",
    "tender": "pain",
    "ate": "eat",
    "appetite": "appetit",
    "worse": "wors",
    "worsen": "wors",
    "aggravate": "wors",
    "numbness": "numb",
    "stomach": "abdomen",
    "abdominal": "abdomen",
    "belly": "abdomen",
    "tummy": "abdomen",
    "throwing": "vomit",
    "lump": "mass",
    "smoker": "smok",
    "smoke": "smok",
    "cigarette": "smok",
    "tobacco": "smok",
    "drink": "alcohol",
    "wine": "alcohol",
    "beer": "alcohol",
    "breathing": "breath",
    "dyspnea": "breath",
    "intercourse": "sexual",
    "sex": "sexual",
    "poop": "stool",
    "bowel": "stool",
    "thirst": "thirst",
    "thirsty": "thirst",
    "eyesight": "vision",
    "sight": "vision",
    "visual": "vision",
    "walking": "walk",
    "lose": "loss",
    "lost": "loss",
    "losing": "loss",
    "gained": "gain",
    "gaining": "gain",
    "trips": "travel",
}


def stem(word: str) -> str:
    """Returns an English word without its ending."""
    if word in _SAME_EN:
        return _SAME_EN[word]
    for ending, least in (
        ("ingly", 4),
        ("edly", 4),
        ("ness", 4),
        ("ing", 3),
        ("ies", 3),
        ("ed", 3),
        ("ly", 4),
        ("es", 4),
        ("s", 3),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if word in _SAME_EN:
        return _SAME_EN[word]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
