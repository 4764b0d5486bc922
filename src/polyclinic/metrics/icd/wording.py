"""Brings titles of ICD-10 and names of diseases, Chinese and English, to one wording before they are compared.

The same rules serve both sides: what is only another way to write the same words (width, Roman numerals, American
spelling, abbreviations, "carcinoma" beside "malignant neoplasm") becomes one. What ICD-10 does not code, the side of
the body, goes from both, a grade from names; hedges, stages and degrees go from names where no title has them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4"}
_ROMAN_NUMBER = re.compile(r"(?<![a-z])(?:iv|i{1,3})(?![a-z])")
_CHINESE_NUMBER = re.compile("[一二三四](?=[度级型期])")
_CHINESE_DIGITS = str.maketrans("一二三四", "1234")
_BLANK = re.compile(r"\s+")
_PUNCTUATION = re.compile(r"[^\w\s+%?-]|(?<!\d)[+%]|_")
_ROUND = re.compile(r"\([^()]*\)")
_SQUARE = re.compile(r"\[([^\[\]]*)\]")

# Left: a pattern in the folded text; right: what both sides then say. In order, since later ones see what earlier made.
_CHINESE_TERMS = [
    (re.compile(pattern), term)
    for pattern, term in (
        # Other characters for the same word.
        ("黏", "粘"),
        ("膈(?=肿瘤|占位|淋巴|积气)", "隔"),
        ("综合症", "综合征"),
        ("返流", "反流"),
        ("机能", "功能"),
        ("大泡", "大疱"),
        ("甘油三脂", "甘油三酯"),
        ("°", "度"),
        # Abbreviations that every ward uses.
        ("冠心病", "冠状动脉粥样硬化性心脏病"),
        ("冠脉", "冠状动脉"),
        ("肺心病", "肺源性心脏病"),
        ("风心病", "风湿性心脏病"),
        ("先心病", "先天性心脏病"),
        ("慢阻肺|copd", "慢性阻塞性肺病"),
        ("阻塞性肺(?:疾病|疾患|气肿病)", "阻塞性肺病"),
        ("(?<!心)房颤", "心房颤动"),
        ("(?<!心)房扑", "心房扑动"),
        ("(?<!心)室颤", "心室颤动"),
        ("室上速", "室上性心动过速"),
        ("室速", "室性心动过速"),
        ("房早", "房性期前收缩"),
        ("室早", "室性期前收缩"),
        ("心梗", "心肌梗死"),
        ("脑梗(?![死塞阻])", "脑梗死"),
        ("呼衰", "呼吸衰竭"),
        ("心衰", "心力衰竭"),
        ("肾衰(?!竭)", "肾功能衰竭"),
        ("甲亢", "甲状腺功能亢进"),
        ("甲减", "甲状腺功能减退"),
        ("([甲乙丙丁戊])肝(?!型)", r"\1型肝炎"),
        ("([甲乙丙丁戊])型肝炎(?!病毒)", r"\1型病毒性肝炎"),
        ("病毒性([甲乙丙丁戊])型(?:病毒性)?肝炎", r"\1型病毒性肝炎"),
        ("ards", "急性呼吸窘迫综合征"),
        ("aids|获得性免疫缺陷综合征", "艾滋病"),
        ("hp(?=感染|阳性)", "幽门螺杆菌"),
        ("新冠(?!状)", "新型冠状病毒"),
        # Two names of one thing.
        ("梗塞", "梗死"),
        ("脑卒中", "脑中风"),
        ("癌(?!胚|前|基因)", "恶性肿瘤"),
        ("早搏|过早除极|过早搏动", "期前收缩"),
        ("霉菌", "真菌"),
        ("子宫颈", "宫颈"),
        ("子宫肌瘤", "子宫平滑肌瘤"),
        ("宫外孕", "异位妊娠"),
        ("泌尿(?:系统?|道)(?=感染|结石)", "尿路"),
        ("无菌性坏死", "缺血性坏死"),
        ("肿块|包块|新生物", "肿物"),
        ("占位(?:性(?:病变|病灶))?", "占位性病变"),
        ("格林-?巴利|吉兰-?巴雷", "格林巴利"),
        ("布(?:鲁|氏)+(?:杆菌)?(?:病)?", "布氏杆菌病"),
        ("螺旋杆菌|螺旋菌", "螺杆菌"),
        ("鼻衄", "鼻出血"),
        ("痔疮", "痔"),
        ("脓毒血症?", "脓毒症"),
        ("感染性休克", "脓毒性休克"),
        ("前列腺肥大", "前列腺增生"),
        ("小儿麻痹", "脊髓灰质炎"),
        ("肺部?(?:多发|孤立)?性?[小微]*结节(?!病)", "肺占位性病变"),
        ("原发性高血压|高血压病", "高血压"),
        ("高血脂症?", "高脂血症"),
        ("糖尿病性", "糖尿病"),
        ("骨性关节[病炎]|骨关节病", "骨关节炎"),
        ("退行性(?:病变|改变|变)", "退变"),
        ("(?<=稳定|抬高|扩张|肥厚|限制)性(?=心绞痛|心肌)", "型"),
        ("急症", "急诊"),
        ("血栓形成", "血栓"),
        ("远端|下段", "下端"),
        ("近端|上段", "上端"),
        ("(压缩|粉碎|病理|多发|频发|阵发)性", r"\1"),
        # Words that join, and endings that add nothing.
        ("伴有|伴发|并发(?!症)|合并(?!症)|并(?=[^发])", "伴"),
        ("伴+", "伴"),
        ("(?<=[血炎病多少亢退大疏裂])症$", ""),
    )
]
_CHINESE_SIDE = re.compile("[左右双两]侧|双(?=[肺肾下上眼耳膝髋手足踝肩])|[左右](?![室心房束])")
_CHINESE_HEDGE = re.compile(
    r"确认为|确诊为?|可能(?:为|是|的)?|疑似|疑(?=.{2})|怀疑|(?:待|不)除外|待查|待排除?|待确认|考虑为?|初步诊断为?|最终诊断为?|\?|^由|引起$|的$"
)
_CHINESE_DEGREE = re.compile(
    "复发性?|晚期|早期|[轻中重]-?[中重]?度|^轻症|巨大|部分|[大中少]量|微小|小(?=结节|囊肿|结石)|急性发作期?$|稳定期$"
)
# "3级极高危", "心功能III级": national editions code some grades; ICD-10 itself has none, and who wrote one rarely is
# compared with who wrote the same.
_CHINESE_GRADE = re.compile("[0-4]+(?:[-~][0-4])?级.*$|[极很]?[高中低]危[组型]?$|[a-z]级$")
_CHINESE_STAGE = re.compile("p?t[0-4x]+[a-c]?n[0-4x].*$|临床分期.*$|[0-4ivx]+[a-c]?期.*$")

_ENGLISH_TERMS = [
    (re.compile(pattern), term)
    for pattern, term in (
        ("oesoph", "esoph"),
        ("haem", "hem"),
        ("aemi", "emi"),
        ("oedema", "edema"),
        ("diarrhoea", "diarrhea"),
        ("foet", "fet"),
        ("tumour", "tumor"),
        ("paed", "ped"),
        ("orrhoe", "orrhe"),
        ("coel", "cel"),
        ("sulph", "sulf"),
        (r"\b(?:cancer|carcinoma)s?\b", "malignant neoplasm"),
        (r"\bneoplasms\b", "neoplasm"),
        (r"\bcopd\b", "chronic obstructive pulmonary disease"),
        (r"\buti\b", "urinary tract infection"),
        (r"\bgerd\b", "gastro esophageal reflux disease"),
        (r"\bdvt\b", "deep vein thrombosis"),
        (r"\bheart attack\b", "acute myocardial infarction"),
        (r"\bkidney (?:stone|calculus)s?\b|\bnephrolithiasis\b", "calculus of kidney"),
        (r"\bgallstones?\b|\bcholelithiasis\b", "calculus of gallbladder"),
        (r"^(?:essential |primary |arterial )*hypertension$|^high blood pressure$", "essential hypertension"),
        (r"\bdiabetes mellitus,? type ([12])\b|\btype ([12]) diabetes(?! mellitus)", r"type \1\2 diabetes mellitus"),
        (
            r"\b(?:unspecified|not otherwise specified|nos|(?:site|virus) not (?:specified|identified)"
            r"|not specified as .*|without complications)\b",
            "",
        ),
    )
]
_ENGLISH_SIDE = re.compile(r"\b(?:left|right|bilateral)(?:-sided)?\b(?! (?:heart|bundle|ventric|atri))")
_ENGLISH_HEDGE = re.compile(
    r"\b(?:probable|possible|likely|suspected|presumed|presumptive|consider|most likely|rule out|history of)\b"
)
_ENGLISH_DEGREE = re.compile(r"\b(?:mild|moderate|severe|advanced|stage [0-4ivx]+[a-c]?|grade [0-4ivx]+)\b")


def title_wordings(title: str, *, chinese: bool) -> tuple[str, ...]:
    """Returns the wordings under which a title can be met, the title itself first.

    ICD-10 puts words that change nothing into round brackets and other names into square ones.

    Args:
        title: as the table has it.
        chinese: the table's language.
    """
    text = _terms(_folded(title), chinese=chinese)
    plain = _SQUARE.sub("", text)
    others = [name for found in _SQUARE.findall(text) for name in found.split("/")]
    versions = (text, _ROUND.sub("", plain), plain, *others, text.replace("未特指的", ""))
    return _distinct(_words(version, chinese=chinese) for version in dict.fromkeys(versions))


def name_wordings(name: str, *, chinese: bool) -> tuple[str, ...]:
    """Returns the wordings of a disease's name, the fullest first.

    The first is without side and grade, the others without hedge, stage and degree too.

    Args:
        name: of one disease, or of several that are joined.
        chinese: which language's terms are meant; "COPD" is written in both.
    """
    text = _terms(_folded(name), chinese=chinese)
    full = _words(_SQUARE.sub("", _ROUND.sub(" ", text)), chinese=chinese)
    if not chinese:
        sure = _ENGLISH_HEDGE.sub("", full)
        return _distinct((full, sure, _ENGLISH_DEGREE.sub("", sure)))
    full = _CHINESE_GRADE.sub("", full)
    sure = _terms(_CHINESE_HEDGE.sub("", full), chinese=True)
    unstaged = _terms(_CHINESE_STAGE.sub("", sure), chinese=True)
    return _distinct((full, sure, unstaged, _terms(_CHINESE_DEGREE.sub("", unstaged), chinese=True)))


def _folded(text: str) -> str:
    """Returns a text in one width and case, with Arabic numerals for types and degrees."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = _ROMAN_NUMBER.sub(lambda match: _ROMAN[match[0]], text)
    return _CHINESE_NUMBER.sub(lambda match: match[0].translate(_CHINESE_DIGITS), text)


def _terms(text: str, *, chinese: bool) -> str:
    text = _BLANK.sub("" if chinese else " ", text)
    for pattern, term in _CHINESE_TERMS if chinese else _ENGLISH_TERMS:
        text = pattern.sub(term, text)
    return text


def _words(text: str, *, chinese: bool) -> str:
    """Returns a text without side and punctuation, except the marks inside numbers."""
    bare = _PUNCTUATION.sub("" if chinese else " ", text)
    return (_CHINESE_SIDE if chinese else _ENGLISH_SIDE).sub("", bare)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in (" ".join(text.split()) for text in texts) if len(text) > 1))
