"""What a doctor's question asks for: a topic of the history, or one or more symptoms and circumstances."""

from __future__ import annotations

import re

import msgspec

from polyclinic.cases.presentation import Language
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.players.story import TIME, Fact, Story, terms


class Part(msgspec.Struct, frozen=True):
    """One thing that is asked for.

    Attributes:
        name: how to call it when it is not there; "" where it is better left unnamed.
        terms: its content terms.
        symptom: the lexicon's symptom, where it is one.
    """

    name: str
    terms: frozenset[str]
    symptom: str | None = None


class Topic(msgspec.Struct, frozen=True):
    """A part of the history that is asked for as such.

    Attributes:
        name: which.
        sections: where it stands.
        asked: how it is asked for.
        told: how what answers it reads, in any section; None where all of its sections answer it.
        only: nothing else can answer it.
        unknown: the phrase for when there is nothing.
    """

    name: str
    sections: tuple[str, ...]
    asked: re.Pattern[str]
    told: re.Pattern[str] | None = None
    only: bool = True
    unknown: str = "unknown"

    def answers(self, story: Story, asked: list[Part]) -> list[Fact]:
        """Returns the facts that answer it, at most three."""
        here = story.section(*self.sections)
        if self.told is not None:
            told = [f for f in here if self.told.search(f.text)]
            told = told or [f for f in story.facts if self.told.search(f.text)]
        else:
            told = here
        told = [f for f in told if not f.of_examination] or told
        wanted = frozenset(t for part in asked for t in part.terms)
        if wanted:
            best = story.best(wanted, told, enough=0.5)
            if best:
                return best
            if self.name == "time":
                # Of something else than the complaint no time is known unless it is told beside it.
                least = 0.0 if wanted & story.topic else 0.3
                near = [f for f in told if story.cover(wanted, f) > least]
                return sorted(near, key=lambda f: -story.cover(wanted, f))[:1] or (
                    told[:1] if wanted & story.topic else []
                )
        if self.name == "time":
            about = [f for f in told if f.terms & story.topic] or [f for f in told if "history of" not in f.text]
            return about[:1]
        return told[:3]


def _en(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})", re.IGNORECASE)


_TOPICS: dict[Language, tuple[Topic, ...]] = {
    "en": (
        Topic("age", (), _en(r"how old|your age\b|what age")),
        Topic("sex", (), _en(r"male or female|your (?:sex|gender)\b")),
        Topic("allergies", ("allergies",), _en(r"allerg\w+"), _en(r"allerg\w+"), unknown="no allergies"),
        Topic("family", ("family",), _en(r"(?:in (?:your|the) )?family|relatives|parents|siblings|mother|father|run in"),
              _en(r"family|mother|father|brother|sister|parent|sibling|aunt|uncle|grand\w+|hereditary"), unknown="no family"),
        Topic("smoking", ("personal",), _en(r"smok\w+|tobacco|cigarettes?"), _en(r"(?:non-?)?smok\w+|tobacco|cigarettes?|packs?|pack-year"),
              unknown="no smoking"),
        Topic("alcohol", ("personal",), _en(r"alcohol|drink(?! (?:water|enough|plenty))"), _en(r"alcohol|drinks?|wine|beers?|liquor"),
              unknown="no alcohol"),
        Topic("drugs", ("personal",), _en(r"(?:recreational|illicit|street) drugs?|drug use|substances?|cocaine|cannabis|marijuana"),
              _en(r"drugs?|cocaine|heroin|marijuana|cannabis|ecstasy"), unknown="unknown"),
        Topic("work", ("personal", "about"), _en(r"occupation|your job|(?:do you|your) work|do (?:you do )?for a living|profession"),
              _en(r"works?|job|occupation|teacher|engineer|retired|student|farmer|nurse|driver|clerk|worker|manager|employed|attends|grade|\w+ist\b")),
        Topic("travel", ("personal", "present", "review", "other"), _en(r"travel\w*|trips?\b|abroad|camping"),
              _en(r"travel\w*|trip|abroad|camping|returned from|visit(?:ed)? to|immigra\w+"), unknown="no travel"),
        Topic("contacts", ("personal", "present", "other"), _en(r"contact with|anyone (?:sick|ill|else)|sick (?:people|contacts)|exposed|exposure"),
              _en(r"contacts?|exposure|exposed|ill\b|sick\b|pets?|animals?"), only=False),
        Topic("sexual", ("personal", "present"), _en(r"sexual\w*|partners?\b"), _en(r"sexual\w*|partners?|condom|contracepti\w+"), only=False),
        Topic("medications", ("medications",), _en(r"medications?|medicines?|(?:what|any|which|other) drugs|pills|prescriptions?|supplements?|over-the-counter"
              r"|taking any(?:thing)?"), _en(r"takes?|taking|treated with|managed with|medications?|mg\b|treatment|ibuprofen|insulin|contracepti\w+|metformin|on \w+(?:il|in|ol|ine|ide)\b"),
              unknown="no drugs"),
        Topic("operations", ("past",), _en(r"surger\w+|operations?|operated|procedures?\b"), _en(r"surg\w+|operat\w+|\w+ectomy|cesarean|\w+plasty|repair"),
              unknown="no past"),
        Topic("past", ("past",), _en(r"past (?:medical )?(?:history|illness\w*|conditions?|problems?)|medical (?:history|conditions?|problems?|issues?)|chronic (?:illness\w*|disease\w*|conditions?)"
              r"|other (?:illness\w*|diseases?|health (?:problems?|conditions?|issues?)|conditions?)|hospitali[sz]ed|been diagnosed|previous (?:illness\w*|health|medical)|health (?:problems?|history|conditions?)|underlying"),
              unknown="no past"),
        Topic("immunizations", ("past", "personal"), _en(r"vaccin\w+|immuni[sz]\w+"), _en(r"vaccin\w+|immuni[sz]\w+")),
        Topic("better or worse", ("present", "symptoms", "complaint", "review"), _en(r"(?:better|worse\w*|reliev\w+|aggravat\w+|trigger\w*|eases?|improve\w*|alleviat\w+|exacerbat\w+)"),
              _en(r"better|worse(?!ning)\w*|reliev\w+|aggravat\w+|improve\w*|eases?|exacerbat\w+"), only=False),
        Topic("time", ("present", "complaint", "symptoms", "review"), _en(r"when did|how long|since when|(?:did|does) (?:it|this|they|the \w+(?: \w+)?) (?:start|begin)|how many (?:days|weeks|months|hours)|onset"
              r"|sudden(?:ly)? or|for how long|duration|first (?:notice|start|appear|begin)\w*"), TIME["en"]),
    ),
    "zh": (
        Topic("age", (), re.compile(r"多大(?:年纪|岁数|年龄|了)|几岁|年龄|多少岁")),
        Topic("sex", (), re.compile(r"性别|是男|是女")),
        Topic("allergies", ("allergies", "past"), re.compile(r"过敏"), re.compile(r"过敏"), unknown="no allergies"),
        Topic("family", ("family",), re.compile(r"家族|家里(?:人|有)|家人|父母|遗传|亲属|兄弟姐妹"), re.compile(r"家族|父|母|兄|姐|弟|妹|遗传"), unknown="no family"),
        Topic("smoking", ("personal", "past"), re.compile(r"吸烟|抽烟|烟酒"), re.compile(r"烟"), unknown="no smoking"),
        Topic("alcohol", ("personal", "past"), re.compile(r"饮酒|喝酒|酗酒"), re.compile(r"酒"), unknown="no alcohol"),
        Topic("work", ("personal", "about"), re.compile(r"职业|什么工作|做什么的|上班"), re.compile(r"职业|农民|工人|教师|退休|学生|职员|干部|司机|工作|无业|儿童")),
        Topic("travel", ("personal", "present"), re.compile(r"旅[行游]|出差|外地|疫区|出国"), re.compile(r"旅|出差|外地|疫区|疫水|出国"), unknown="no travel"),
        Topic("contacts", ("personal", "past", "present"), re.compile(r"接触"), re.compile(r"接触"), only=False),
        Topic("medications", ("medications",), re.compile(r"(?:吃|服|用)(?:过|了|着|什么|哪些|哪种|任何|其他|别的)*药|药物(?!过敏)|正在服用|在吃药|长期服"), re.compile(r"服用|口服|药(?!物?过敏|物、)|抗炎|消炎"), unknown="no drugs"),
        Topic("operations", ("past", "present"), re.compile(r"(?:做过|有过|接受过|进行过)[^，。？]{0,6}手术|手术史|外伤史|受过伤"), re.compile(r"手术|术后|外伤|切除"), unknown="no past"),
        Topic("past", ("past",), re.compile(r"既往|病史|慢性病|基础(?:疾)?病|以前(?:得|患|有)过|其他(?:的)?(?:疾病|病)|患过|得过|住过院|传染病"), re.compile(r"病史|高血压|糖尿病|冠心病|脑梗|癌|体健|健康|传染病|手术史|慢性|肝炎|结核|史\d|史$"),
              only=False, unknown="no past"),
        Topic("daily", ("present", "review", "other"), re.compile(r"饮食|食欲|胃口|睡眠|睡得|大小便|二便|大便|小便|体重|精神"), re.compile(r"饮食|食欲|纳差|胃口|睡眠|大便|小便|二便|体重|精神"), only=False),
        Topic("better or worse", ("present", "complaint", "symptoms"), re.compile(r"加重|缓解|减轻|好转|诱因|诱发"), re.compile(r"加重|缓解|减轻|好转|改善|诱因|加剧|劳累|休息|活动后|夜间"), only=False),
        Topic("time", ("present", "complaint", "symptoms"), re.compile(r"什么时候|何时|多久|多长时间|几天|几个月|多少(?:天|时间)|持续(?:了)?(?:多|几)|哪天|突然(?:出现|发生|开始)?(?:的)?还是"), TIME["zh"]),
    ),
}  # fmt: skip


_CUE = re.compile(
    r"请问|想问|想了解|能否|能不能|可以(?:告诉|描述|说)|有没有|是否|有无|会不会|是不是|什么|多久|怎么|如何|哪|多少|几(?!乎)|告诉我|描述|吗|呢"
)
_BEGIN = re.compile(r".*(?:请问|想问(?:一下|问)?|想了解(?:一下)?)")


def core(text: str, language: Language) -> str:
    """Returns the part of a doctor's sentences that asks, without what it comments on first."""
    if language == "en":
        return re.sub(
            r"^.*?\b(?:i see|i noticed?|i understand|you (?:said|mentioned)) [^.?]*?[.,] (?=\w)",
            "",
            text,
            flags=re.IGNORECASE,
        )
    found = []
    for sentence in re.split(r"(?<=[。？?！])", text):
        clauses = re.split(r"(?<=[，,])", _BEGIN.sub("", sentence))
        begin = next((i for i, clause in enumerate(clauses) if _CUE.search(clause)), 0)
        found.append("".join(clauses[begin:]))
    return "".join(found)


_TOGETHER = frozenset(("smoking", "alcohol", "drugs"))
"""Topics that are often asked for in one breath."""


def topics_of(text: str, language: Language) -> list[Topic]:
    """Returns the topic that a question asks for, or several of those that go together; none where there is none."""
    found = [topic for topic in _TOPICS[language] if topic.asked.search(text)]
    return [topic for topic in found if topic.name in _TOGETHER] if found and found[0].name in _TOGETHER else found[:1]


_EN_LEAD = re.compile(
    r"^.*?\b(?:have you (?:had|noticed|experienced|been (?:having|experiencing|feeling)|felt|ever had|seen|recently had)"
    r"|(?:do|did|does) you(?:r \w+)? (?:also |ever |currently |still )?(?:have|had|notice|experience|feel|suffer from|get)"
    r"|are you (?:having|experiencing|feeling)|(?:is|are|was|were) there|(?:noticed|experiencing|experienced|having)|any)\b"
    r"(?: any| some| signs of| symptoms (?:of|like|such as)| problems with| trouble with| changes in| issues with| difficulty with)*",
    re.IGNORECASE,
)
_EN_PART = re.compile(
    r",\s*(?:or |and |any )*|\s+or\s+(?:any )?|\?+|;|\s+and\s+(?:any )?|\s*/\s*|(?<=\w)\.(?=\s|$)|\b(?:such as|like|including)\b"
)
_EN_TAIL = re.compile(
    r"\s*\b(?:recently|lately|at all|before|currently|right now|these days|with (?:it|this|that)|as well|too|today|(?:in|over|during) the (?:past|last)"
    r".*|since .*|associated with .*|along with .*|at the moment|otherwise|at (?:any|this) (?:point|time)|that you.*|you(?:'ve| have) .*)$",
    re.IGNORECASE,
)
_ZH_WHETHER = re.compile(r"有没有|是否|有无|会不会|是不是")
_ZH_BESIDE = re.compile(r"除了[^，。]{1,16}?(?:之外|以外|外)")
_ZH_PART = re.compile(r"[，。？?、；;]|或者?是?|还是|以及|和|及|与|吗|呢")


def parts(text: str, language: Language, lexicon: Lexicon) -> list[Part]:
    """Splits a question into what it asks for; none where it names nothing."""
    found: list[Part] = []
    for sentence in re.split(r"(?<=[?？。！])|(?<=\.)\s", text):
        if not sentence.strip():
            continue
        if language == "en":
            lead = _EN_LEAD.match(sentence)
            asked = sentence[lead.end() :] if lead else sentence
            several = lead is not None
        else:
            asked, cues = _ZH_WHETHER.subn("", _ZH_BESIDE.sub("", sentence))
            several = cues > 0
        pieces = (_EN_PART if language == "en" else _ZH_PART).split(asked) if several else [asked]
        for piece in pieces:
            found += _part(piece, language, lexicon, nameable=several)
    return found


def _part(piece: str, language: Language, lexicon: Lexicon, *, nameable: bool) -> list[Part]:
    symptoms = list(dict.fromkeys(symptom for symptom, _ in lexicon.mentions(piece)))
    wanted = frozenset(terms(piece, language))
    if len(symptoms) > 1:
        return [Part(lexicon.symptoms[s].name.get(language), frozenset(), s) for s in symptoms]
    if symptoms:
        rest = frozenset(terms(lexicon.unread(piece), language))
        symptom = lexicon.symptoms[symptoms[0]]
        # "chest pain when breathing in" is more than "chest pain", but chest pain answers it.
        return [Part(_name(piece, language) or symptom.name.get(language), wanted if rest else frozenset(), symptom.id)]
    if not wanted:
        return []
    return [Part(_name(piece, language) if nameable else "", wanted)]


def _name(piece: str, language: Language) -> str:
    if language == "en":
        name = _EN_TAIL.sub("", piece.strip(" .,?!:")).strip(" .,?!:")
        name = re.sub(r"^(?:any|some|an?|the|other|your|have|had|with|of)\s+", "", name, flags=re.IGNORECASE)
        name = re.sub(r"\byour\b", "my", name)
        return (
            name
            if 0 < len(name.split()) <= 5
            and not re.match(r"(?:you|do|did|is|are|it|to|has|been|what|how)\b", name, re.IGNORECASE)
            else ""
        )
    name = re.sub(
        r"^(?:您|你|最近|近期|感觉到?|感到|觉得|出现过?|有|任何|明显|的|发现|注意到|伴随|伴有|其他|其它|有过|比如|例如|经历过|是)+",
        "",
        piece.strip(" ，。？"),
    )
    name = re.sub(r"(?:等)?(?:的)?(?:症状|情况|现象|感觉|表现|问题|不适|史)?(?:了|吗|呢|过|等)*$", "", name)
    return name if 1 <= len(name) <= 8 else ""
