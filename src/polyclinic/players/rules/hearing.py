"""What the doctor's turn is to the patient: inquiry, advice, demand, another topic, or the end (aie-saps §4.2.2).

Only how it is put is read here; whether the patient holds the answer is `story.py`'s question.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.language.language import Language

Kind = Literal["inquiry", "advice", "demand", "other topic", "conclusion"]


class Heard(msgspec.Struct, frozen=True):
    """A doctor's turn.

    Attributes:
        kind: which of the five kinds of the paper.
        focus: the sentences that ask or advise, without what leads up to them.
        treatment: the advice is to take or undergo a treatment, not an examination.
    """

    kind: Kind
    focus: str
    treatment: bool = False


_SENTENCE = re.compile(r"(?<=[。！？?!；;\n])|(?<=\.)(?=\s)")

_QUESTION = {
    "en": re.compile(
        r"\?|^\W*(?:(?:and|so|now|also|okay|ok|first|next)\W+)*(?:do|does|did|have|has|are|is"
        r"|was|were|can|could|would|any|what|when|where"
        r"|which|who|why|how|tell|describe|please (?:tell|describe|explain)|walk me)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"[？?]|请问|能否|能不能|是否|有没有|吗|呢|什么|多久|怎么|如何|哪|几(?!乎)|告诉我|描述|说说|介绍一下|讲讲"
    ),
}
_ADVICE = {
    "en": re.compile(
        r"\b(?:recommend\w*|suggest\w*|advi[sc]e\w*|i(?:'d| would) like (?:you )?to (?:get"
        r"|have|order|do|run|perform|check|start|refer"
        r"|obtain|arrange|send|schedule|undergo)|i(?:'d| would) like an?|(?:you|we) (?:should"
        r"|need to|must|ought to|will need|'ll need)"
        r"|let(?:'s| us) (?:get|do|order|check|run|perform|start|have|arrange|obtain)|i(?:'ll"
        r"| will| am going to|'m going to) "
        r"(?:order|prescribe|get|start|arrange|refer|send|do|run|check|perform|schedule)"
        r"|please (?:do|get|take|have|go|schedule|undergo"
        r"|order|perform|check|run|start|stop|avoid|rest|drink|use|see|arrange|be admitted)"
        r"|order(?:ing)? (?:an?|some|the)|prescrib\w+"
        r"|we(?:'ll| will) (?:do|get|order|run|start|need|perform|check|arrange)"
        r"|it (?:would be|is) (?:best|good|important|advisable)"
        r" (?:to|that)|consider (?:\w+ing|an?)|go (?:to|for) (?:a|the|an))",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"建议|推荐|劝您|最好(?:去|做|先)|应(?:该|当)?(?:去|做|尽快|及时|立即|服|进行|接受|住院|多|少|注意)"
        r"|(?<!了解)(?:需要|必须|务必|要)(?:您|你|对|给)?[^，。？]{0,12}?(?:做(?!过)|进行|去医院|接受|完善|服用|住院|手术|化验|检查(?!结果))"
        r"|可以(?:考虑|尝试|先)?(?:做|服用|进行|吃|使用|用)|(?<!有)去(?:做(?!过)|查|拍|化验|医院)|(?:给|为|帮|替)(?:您|你)(?:开|安排|做|查|预约)"
        r"|安排(?:您|你|一)|开(?:具|一些|点|些)|请(?:您|你)?(?:先)?(?:做|去做|去|查|完善|检查|服用|住院|拍|化验|按时|注意)(?!诉)"
        r"|先(?:做(?!过)|查|拍|去)|我们(?:来)?(?:做(?!过)|查|安排|先)|^(?:做|查|拍|化验)(?!过)|(?:做|查|拍)(?:一)?[个次下张]|注意休息|按时服药"
    ),
}
_DEMAND = {
    "en": re.compile(
        r"\b(?:lie (?:down|back|on)|stand (?:up|on)|sit (?:up|down|on)|(?:raise|lift|bend"
        r"|straighten|move|extend|flex|turn|rotate|squeeze"
        r"|show me|hold (?:out|up)|touch) (?:your|my|the (?:arm|leg|knee|affected))"
        r"|open your (?:mouth|eyes)|close your eyes"
        r"|(?:take|breathe) (?:a |in )?deep(?:ly| breaths?)?|stick out your|follow my finger"
        r"|walk (?:a few|across|for me|in a)|hold your breath"
        r"|press (?:on|here|your)|roll (?:over|up|onto)|take off your|cough for me|look (?:up"
        r"|at my|straight)|push against|say ah+)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:请|需要您|需要你|麻烦|现在|试着|尝试|让我|来，|您先|你先|配合)[^。？]{0,24}?(?:站起来|站立|站好|躺下|平躺|躺好|侧卧|侧身|张(?:开|大)?(?:一下)?嘴"
        r"|张大?口(?!受限|困难|度)|伸出?(?:一下)?舌|抬(?:起|高|一下)|举(?:起|高)|转动|弯(?:腰|曲|下)|转(?:头|身|过)"
        r"|深(?:深)?(?:地)?(?:吸|呼)|屏住|屏气|按(?:压|一下|住)"
        r"|走(?:几步|两步|一下)|蹲下|闭(?:上)?眼|睁开|握(?:紧|拳|住)|活动一下|咳(?:一|两|几)声|脱(?:下|掉|去)|翻(?:个)?身|坐(?:起来|下|好)|跟着我|看着我|低(?:下)?头"
        r"|抬头|仰头|鼓腮|皱眉|露齿|摸一?下|触摸)"
    ),
}
_OTHER = {
    "en": re.compile(
        r"\b(?:book|novel|movie|film|tv show|television|wristwatch|(?:your|nice|that"
        r"|lovely) watch|music|song|hobb(?:y|ies)|football|soccer"
        r"|basketball|baseball|team|weather|favou?rite|last name|surname|celebrity"
        r"|video games?|restaurant|vacation plans|politics"
        r"|concert|stock market|holiday plans|author|singer)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:本|这|什么)[^，。？]{0,10}书|书(?:中|籍|里|虫)|小说|作者|电影|电视剧|综艺|手表|姓氏|(?:名字|衣服|发型|帽子|眼镜"
        r"|包)[^，。？]{0,4}(?:有趣|特别|好看|漂亮|独特)|音乐|唱歌"
        r"|爱好|球(?:赛|队|星)|足球|篮球|天气(?:真|很|不错|怎么样|如何)|游戏|明星|偶像|股票|新闻|政治|最喜欢|喜欢(?:看|听|读|玩|吃什么|什么)|周末(?:去|有什么)|家乡|美食|度假|粉丝"
    ),
}
_END = {
    "en": re.compile(
        r"\b(?:good ?bye|bye|take care(?! of)|get well soon|wish you (?:a|all|well|good)"
        r"|see you (?:soon|next|again)|have a (?:good|nice)"
        r"|thank you for (?:coming|your (?:time|cooperation|visit|trust))|that (?:is"
        r"|'s) all for (?:today|now)|this concludes"
        r"|(?:final|my|the) diagnosis (?:is|:)|speedy recovery)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"再见|祝(?:您|你)|早日康复|保重|(?:问诊|咨询|就诊)(?:就)?(?:到此|到这里)?结束|到此(?:结束|为止)|(?:感谢|谢谢)您?的?(?:配合|信任|咨询|来访)|不客气|慢走"
        r"|(?:最终|最后)?(?:的)?诊断(?:结果)?(?:是|为|：)"
    ),
}
_TREATMENT = {
    "en": re.compile(
        r"\b(?:take|tablets?|pills?|mg|dose|antibiotic\w*|prescri\w+|medicin\w+|medication\w*"
        r"|drugs?|inhaler|paracetamol|acetaminophen"
        r"|ibuprofen|aspirin|amoxicillin|insulin|steroid\w*|rest|fluids?|water|diet|exercis\w+"
        r"|surgery|operat\w+|admi\w+|hospitali[sz]\w+|quit|stop"
        r"|avoid|therapy|treatment|physiotherap\w+|physical therapy|vaccin\w+|chemotherapy"
        r"|radiotherapy|cream|ointment|oxygen|sleep)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"服用|口服|药|片剂|胶囊|抗生素|消炎|抗炎|手术|切除|放疗|化疗|住院|休息|饮食|戒烟|戒酒|运动|锻炼|输液|注射|疫苗|理疗|康复训练|吸氧|雾化|喝水|饮水|多喝|清淡|睡眠|忌|避免|治疗"
    ),
}
_VAGUE_ADVICE = {
    "en": re.compile(
        r"\b(?:please|i|you|we|should|would|like|recommend\w*|suggest\w*|advi[sc]e\w*|need"
        r"|must|let's|let|us|to|do|get|have|go|some|a|an|few|more|further"
        r"|additional|the|and|or|for|tests?|testing|examinations?|evaluations?|work-?up"
        r"|investigations?|treatments?|treated|hospital|doctor|clinic"
        r"|see|visit|that|so|can|it|be|of|your|take|care|yourself|good|proper|appropriate"
        r"|necessary|relevant|other|undergo|start|as|soon|possible"
        r"|medical|attention|seek|check|checked|run|order|perform|out|with|is|best|important"
        r"|will|in|on|order|diagnostic|complete|full|this|what"
        r"|wrong|why|find|based|current|symptoms|help|better|understand|make|sure|condition"
        r"|plan|right|then|now|first|i'd|i'll|we'll|any|all)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:这样|以便|以|有助于|才能|从而|帮助|让)[^。]*|根据[^，。]*[，。]|考虑到[^，。]*[，。]|您好|你好|先生|女士|我们|我|您|你|建议"
        r"|推荐|尽快|尽早|及时|到|去|来|正规|专业|当地|大?医院"
        r"|医生|门诊|进一步|进行|接受|做|一些|一下|一个|一次|必要|相关|详细|全面|各项|适当|合适|检查|治疗|评估|诊治|就诊|就医|看看|看病|的|和|与|及|或|等|需要|应该|可以|最好|考虑|还"
        r"|再|先|请|要|更|多|其他|针对性|处理|方案|为|下|注意|身体|照顾好?自己|保重|情况|目前|症状|明确|诊断|安排|给|对|于|能|会|就|有|是|情|了解"
        r"|清晰|因此|所以|继续|观察|随访|定期|复查|[，。；、！？\s]"
    ),
}


@functools.lru_cache(maxsize=4096)
def hear(text: str, language: Language) -> Heard:
    """Reads a doctor's turn."""
    sentences = [s for s in _SENTENCE.split(text) if s and s.strip()]
    asking = [s for s in sentences if _QUESTION[language].search(s)]
    advising = [s for s in sentences if _ADVICE[language].search(s) and not _only_asks(s, language)]
    demanding = [s for s in sentences if _DEMAND[language].search(s)]
    if demanding and not any(_named(s) for s in advising):
        return Heard("demand", " ".join(demanding).strip())
    if _OTHER[language].search(text) and not advising and not EXAMINATION.search(text):
        return Heard("other topic", text.strip())
    if _END[language].search(text) and not asking and not any(_named(s) for s in advising):
        return Heard("conclusion", text.strip())
    if advising:
        focus = " ".join(s.strip() for s in advising)
        treatment = _TREATMENT[language].search(focus) is not None and EXAMINATION.search(focus) is None
        return Heard("advice", focus, treatment)
    if not asking and EXAMINATION.search(text) and len(text) < 60:
        # A bare name ("Chest X-ray.") is an order.
        return Heard("advice", text.strip())
    return Heard("inquiry", " ".join(s.strip() for s in (asking or sentences)) or text.strip())


def is_vague(heard: Heard, language: Language) -> bool:
    """Whether an advice names nothing that could be done."""
    if EXAMINATION.search(heard.focus) or _TREATMENT[language].sub("", heard.focus) == "":
        return False
    rest = _VAGUE_ADVICE[language].sub("", heard.focus)
    return not re.search(r"[\u3400-\u9fff]{2}|[^\W_]{2}", rest)


def _named(sentence: str) -> bool:
    return EXAMINATION.search(sentence) is not None


def _only_asks(sentence: str, language: Language) -> bool:
    """Whether what looks like advice is a question about what has been ("have you been advised to ...?")."""
    if language == "en":
        return (
            re.match(
                r"\W*(?:have|has|did|were|was|are|is|do|does) (?:you|your|there|anyone)\b", sentence, re.IGNORECASE
            )
            is not None
        )
    return re.search(
        r"(?:之前|以前|曾经?|有没有|是否)[^，。]{0,12}(?:做过|服用过?|接受过|吃过|用过|看过|进行过)", sentence
    ) is not None and not (re.search(r"建议|推荐", sentence))
