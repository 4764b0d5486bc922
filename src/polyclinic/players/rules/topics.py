"""The topics of the history that a doctor asks for as such: age, allergies, onset, family and so on."""

from __future__ import annotations

import functools
import re

import msgspec

from polyclinic.language.language import Language
from polyclinic.players.rules.questions import Part
from polyclinic.players.rules.story import TIME, Fact, Story

_DAILY = tuple(
    re.compile(group)
    for group in ("饮食|食欲|胃口|纳差|进食", "睡眠|睡得|失眠", "大便|大小便|二便|小便", "体重", "精神")
)
"""How the patient eats, sleeps and so on: what is asked for of these is told, and no more."""


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

    def answers(self, story: Story, asked: tuple[Part, ...], text: str) -> list[Fact]:
        """Returns the facts that answer it, at most three."""
        if self.name == "daily":
            wanted_groups = [group for group in _DAILY if group.search(text)]
            return [f for f in story.facts if not f.denied and any(g.search(f.text) for g in wanted_groups)][:3]
        here = story.section(*self.sections)
        if self.told is not None:
            told = [f for f in here if self.told.search(f.text)]
            told = told or [f for f in story.facts if self.told.search(f.text)]
        else:
            told = here
        told = [f for f in told if not f.of_examination] or told
        if self.name == "course":
            return told[:3]
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
        Topic(
            "family",
            ("family",),
            _en(r"(?:in (?:your|the) )?family|relatives|parents|siblings|mother|father|run in"),
            _en(
                r"family|hereditary|^(?!.*\breports?\b).*(?:mother|father|brother|sister|aunt"
                r"|uncle|grand\w+|sibling|parent)s?(?:'s)?\b.*\b(?:has|had|history|died"
                r"|diagnosed|underwent|suffers|with)\b"
            ),
            unknown="no family",
        ),
        Topic(
            "smoking",
            ("personal",),
            _en(r"smok\w+|tobacco|cigarettes?"),
            _en(r"(?:non-?)?smok\w+|tobacco|cigarettes?|packs?|pack-year"),
            unknown="no smoking",
        ),
        Topic(
            "alcohol",
            ("personal",),
            _en(r"alcohol|drink(?! (?:water|enough|plenty))"),
            _en(r"alcohol|drinks?|wine|beers?|liquor"),
            unknown="no alcohol",
        ),
        Topic(
            "drugs",
            ("personal",),
            _en(r"(?:recreational|illicit|street) drugs?|drug use|substances?|cocaine|cannabis|marijuana"),
            _en(r"drugs?|cocaine|heroin|marijuana|cannabis|ecstasy"),
            unknown="unknown",
        ),
        Topic(
            "work",
            ("personal", "about"),
            _en(r"occupation|your job|(?:do you|your) work|for (?:a living|work)|profession"),
            _en(
                r"works?|job|occupation|teacher|engineer|retired|student|farmer|nurse|driver"
                r"|clerk|worker|manager|employed|attends|grade|\w+ist\b"
            ),
        ),
        Topic(
            "travel",
            ("personal", "present", "review", "other"),
            _en(r"travel\w*|trips?\b|abroad|camping"),
            _en(r"travel\w*|trip|abroad|camping|returned from|visit(?:ed)? to|immigra\w+"),
            unknown="no travel",
        ),
        Topic(
            "contacts",
            ("personal", "present", "other"),
            _en(r"contact with|anyone (?:sick|ill|else)|sick (?:people|contacts)|exposed|exposure"),
            _en(r"contacts?|exposure|exposed|ill\b|sick\b|pets?|animals?"),
            only=False,
        ),
        Topic(
            "sexual",
            ("personal", "present"),
            _en(r"sexual\w*|partners?\b"),
            _en(r"sexual\w*|partners?|condom|contracepti\w+"),
            only=False,
        ),
        Topic(
            "medications",
            ("medications",),
            _en(
                r"medications?|medicines?|(?:what|any|which|other) drugs|pills|prescriptions?"
                r"|supplements?|over-the-counter"
                r"|taking any(?:thing)?"
            ),
            _en(
                r"takes?|taking|treated with|managed with|medications?|mg\b|treatment"
                r"|ibuprofen|insulin|contracepti\w+|metformin|on \w+(?:il|in|ol|ine|ide)\b"
            ),
            unknown="no drugs",
        ),
        Topic(
            "operations",
            ("past",),
            _en(r"surger\w+|operations?|operated|procedures?\b"),
            _en(r"surg\w+|operat\w+|\w+ectomy|cesarean|\w+plasty|repair"),
            unknown="no past",
        ),
        Topic(
            "past",
            ("past",),
            _en(
                r"past (?:medical )?(?:history|illness\w*|conditions?|problems?)"
                r"|medical (?:history|conditions?|problems?|issues?)|chronic (?:illness\w*"
                r"|disease\w*|conditions?)"
                r"|other (?:illness\w*|diseases?|health (?:problems?|conditions?|issues?)"
                r"|conditions?)|hospitali[sz]ed|been diagnosed|previous (?:illness\w*|health"
                r"|medical)|health (?:problems?|history|conditions?)|underlying"
            ),
            unknown="no past",
        ),
        Topic("immunizations", ("past", "personal"), _en(r"vaccin\w+|immuni[sz]\w+"), _en(r"vaccin\w+|immuni[sz]\w+")),
        Topic(
            "better or worse",
            ("present", "symptoms", "complaint", "review"),
            _en(r"(?:better|worse\w*|reliev\w+|aggravat\w+|trigger\w*|eases?|improve\w*|alleviat\w+|exacerbat\w+)"),
            _en(r"better|worse(?!ning)\w*|reliev\w+|aggravat\w+|improve\w*|eases?|exacerbat\w+"),
            only=False,
        ),
        Topic(
            "course",
            ("present",),
            _en(
                r"how (?:did|has) (?:it|this|that|they|things|everything|the \w+) (?:all )?"
                r"(?:begin|start|gone|go|been|develop\w*|progress\w*|chang\w+|evolv\w+)(?! suddenly)"
                r"|what (?:has )?happened"
            ),
        ),
        Topic(
            "time",
            ("present", "complaint", "symptoms", "review"),
            _en(
                r"when did|how long|since when|(?:did|does) (?:it|this|they"
                r"|the \w+(?: \w+)?) (?:start|begin)|how many (?:days|weeks|months|hours)"
                r"|onset"
                r"|sudden(?:ly)? or|for how long|duration|first (?:notice|start|appear|begin)\w*"
            ),
            TIME["en"],
        ),
    ),
    "zh": (
        Topic("age", (), re.compile(r"多大(?:年纪|岁数|年龄|了)|几岁|年龄|多少岁")),
        Topic("sex", (), re.compile(r"性别|是男|是女")),
        Topic("allergies", ("allergies", "past"), re.compile(r"过敏"), re.compile(r"过敏"), unknown="no allergies"),
        Topic(
            "family",
            ("family",),
            re.compile(r"家族|家里(?:人|有)|家人|父母|遗传|亲属|兄弟姐妹"),
            re.compile(r"家族|父|母|兄|姐|弟|妹|遗传"),
            unknown="no family",
        ),
        Topic("smoking", ("personal", "past"), re.compile(r"吸烟|抽烟|烟酒"), re.compile(r"烟"), unknown="no smoking"),
        Topic("alcohol", ("personal", "past"), re.compile(r"饮酒|喝酒|酗酒"), re.compile(r"酒"), unknown="no alcohol"),
        Topic(
            "work",
            ("personal", "about"),
            re.compile(r"职业|什么工作|做什么的|上班"),
            re.compile(r"职业|农民|工人|教师|退休|学生|职员|干部|司机|工作|无业|儿童"),
        ),
        Topic(
            "travel",
            ("personal", "present"),
            re.compile(r"旅[行游]|出差|外地|疫区|出国"),
            re.compile(r"旅|出差|外地|疫区|疫水|出国"),
            unknown="no travel",
        ),
        Topic("contacts", ("personal", "past", "present"), re.compile(r"接触"), re.compile(r"接触"), only=False),
        Topic(
            "medications",
            ("medications",),
            re.compile(
                r"(?:吃|服|用)(?:过|了|着|什么|哪些|哪种|任何|其他|别的)*药|药物(?!过敏)|正在服用|在吃药|长期服"
            ),
            re.compile(r"服用|口服|药(?!物?过敏|物、)|抗炎|消炎"),
            unknown="no drugs",
        ),
        Topic(
            "operations",
            ("past", "present"),
            re.compile(r"(?:做过|有过|接受过|进行过)[^，。？]{0,6}手术|手术史|外伤史|受过伤"),
            re.compile(r"手术|术后|外伤|切除"),
            unknown="no past",
        ),
        Topic(
            "past",
            ("past",),
            re.compile(
                r"既往|病史|慢性病|基础(?:疾)?病|以前(?:得|患|有)过|其他(?:的)?(?:疾病|病)|患过|得过|住过院|传染病"
            ),
            re.compile(r"病史|高血压|糖尿病|冠心病|脑梗|癌|体健|健康|传染病|手术史|慢性|肝炎|结核|史\d|史$"),
            only=False,
            unknown="no past",
        ),
        Topic(
            "daily",
            ("present", "review", "other"),
            re.compile(r"饮食|食欲|胃口|睡眠|睡得|大小便|二便|大便|小便|体重|精神"),
            re.compile(r"饮食|食欲|纳差|胃口|睡眠|大便|小便|二便|体重|精神"),
            only=False,
        ),
        Topic(
            "better or worse",
            ("present", "complaint", "symptoms"),
            re.compile(r"加重|缓解|减轻|好转|诱因|诱发"),
            re.compile(r"加重|缓解|减轻|好转|改善|诱因|加剧|劳累|休息|活动后|夜间"),
            only=False,
        ),
        Topic(
            "course",
            ("present",),
            re.compile(r"怎么(?:开始|得|起病|回事|发生)|(?:后来|之后)有(?:什么|何)变化|经过(?:是|怎)"),
        ),
        Topic(
            "time",
            ("present", "complaint", "symptoms"),
            re.compile(
                r"什么时候|何时|多久|多长时间|几天|几个月|多少(?:天|时间)|持续(?:了)?(?:多|几)|哪天|突然(?:出现|发生|开始)?(?:的)?还是"
            ),
            TIME["zh"],
        ),
    ),
}

_TOGETHER = frozenset(("smoking", "alcohol", "drugs"))
"""Topics that are often asked for in one breath."""


@functools.lru_cache(maxsize=4096)
def topics_of(text: str, language: Language) -> tuple[Topic, ...]:
    """Returns the topic that a question asks for, or several of those that go together; none where there is none."""
    found = [topic for topic in _TOPICS[language] if topic.asked.search(text)]
    if found and found[0].name in _TOGETHER:
        return tuple(topic for topic in found if topic.name in _TOGETHER)
    return tuple(found[:1])
