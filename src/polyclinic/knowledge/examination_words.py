"""Words by which a text speaks of examinations and results, whether or not the knowledge has them."""

from __future__ import annotations

import re

FISHING = re.compile(
    r"\b(?:all|any|every|everything|anything|whatever|latest|recent|available|complete results|full results|whole"
    r"|abnormal\w*|significant|relevant|entire|rest of|remaining|other)\b"
    r"|所有|全部|一切|任何|最近|最新|有什么|有没有|哪些|什么|异常|都|整个|完整|其他|其它|剩下|各项|相关",
    re.IGNORECASE,
)
"""Words that ask for more than is named."""

EXAMINATION = re.compile(
    r"\b(?:x-?rays?|ct|cta|mri|mra|pet|ecg|ekg|eeg|emg|cbc|bmp|cmp|esr|crp|bnp|tsh|hba1c|ultraso\w+|sonogra\w+|doppler"
    r"|\w*(?:scop(?:y|ic|ies)|gra(?:ms?|ph(?:y|ies|s))|metry|centesis)|biops\w+|cultures?"
    r"|smear|swab|stain|scans?|imaging"
    r"|blood (?:tests?|work|counts?|gas\w*|glucose|cultures?)|urinalys[ie]s|labs?|laborator\w+|panels?|serolog\w+"
    r"|antibod\w+|tomograph\w+|spirometry|lumbar puncture|(?:physical|neurologic(?:al)?|pelvic|rectal) exam\w*"
    r"|vital signs|histolog\w+|patholog\w+ (?:report|result|exam)\w*|white (?:blood )?cell count|h(?:a)?emoglobin"
    r"|creatinine|troponin\w*|electrolytes|audiolog\w+|decibels?)\b"
    r"|(?<![A-Za-z])(?:CTA?|MRI?|MRA|PET|ECG|EKG|DR|B超|X线|X光|SPECT|DSA|PTA|BNP|CRP|TCT|HPV)(?![A-Za-z])"
    r"|[Bb]\s*超|[Xx]\s*[线光]|彩超|超声|心电图|脑电图|肌电图|血常规|尿常规|便常规|大便常规|粪便常规|血生化|生化|化验|血气|胸片|平片"
    r"|摄片|内镜|胃镜|肠镜|喉镜|支气管镜|膀胱镜|腹腔镜|鼻镜|宫腔镜|病理|活检|活组织|穿刺|造影|核磁|磁共振|显像|扫描|涂片|培养|镜检"
    r"|免疫组化|肿瘤标志|凝血功能|肝功能?|肾功能?|心肌酶|甲功|抗体|隐血|查体|体格检查|辅助检查|专科检查|实验室检查|肺功能"
    r"|血红蛋白|白细胞|红细胞|血小板|中性粒|淋巴细胞计数|肌酐|胆红素|降钙素原|试验阳性|试验阴性|试纸|检测|测序",
    re.IGNORECASE,
)
"""Words by which a text speaks of an examination, whether or not the knowledge has it."""

LABORATORY_VALUE = re.compile(
    r"\d\s*(?:[x×*]\s*10\s*\^?\s*\d+\s*/\s*[Ll]|(?:m?g|[µμu]g|ng|pg|k?U|m?I?U|[mµμu]?mol|mEq"
    r"|Eq|cells|g)\s*/\s*(?:d?[Ll]|m[Ll]|mm|h)"
    r"|/\s*(?:mm3|mm³|[µμu]L|HPF|LPF)|mm\s*Hg|fL\b|[Bb]pm|次/分|mOsm|dBHL|HU\b)"
    r"|\d+\s*/\s*\d+\s*mm\s*Hg|/(?:mm3|mm³|[µμu][Ll])\b|(?:体温|T)[:：]?\s*3[5-9]\.\d",
)
"""Numbers that only a measurement can give."""

MEASURED = re.compile(
    r"\s*(?:[<>＜＞≤≥]?\d[\d.,*×x^]*\s*(?:%|‰|/|[a-zA-Zμ]+/)|(?:弱?阳|阴)\s*性|(?-i:[HLN])(?![A-Za-z]))"
)
"""What is measured, or how it came out: behind a comma it belongs to the name before it ("血清钾，4.0mmol/L，N")."""

TECHNIQUE = re.compile(
    r"(?:CTA?|MRI?|MRA|X|ultrasou?n|ultraso|scan|B\s*超|彩超|超声|核磁|磁共振|平片|造影|增强)", re.IGNORECASE
)
_BODY_EN = (
    r"(?:head|brain|cranial|abdom\w+|abdominopelvic|pelvi\w+|neck|sinus\w*|knee|hip|spin\w+"
    r"|lumbar|cervical|shoulder|wrist"
    r"|ankle|foot|hand|leg|arm|renal|kidneys?|liver|hepatic|thyroid|breast|orbit\w*|facial|temporal bone|transvaginal"
    r"|cardiac|pet|scrotal|testic\w+|carotid)"
)
_BODY_BEFORE = re.compile(
    rf"\b{_BODY_EN}[ -]$"
    r"|[头颅脑颈腹盆腰膝肩髋面颌窦眼眶耳鼻喉咽骨肝肾胰脾腿手足腕踝乳椎管腺心][部腔窦臂脏巴骨]?(?:的|平扫|增强)?\s*$|-$",
    re.IGNORECASE,
)
_BODY_AFTER = re.compile(
    rf"^(?: scans?| imaging)? (?:of|to) (?:the |your |his |her )?(?:\w+ )?{_BODY_EN}\b", re.IGNORECASE
)


def is_elsewhere(text: str, start: int, end: int) -> bool:
    """Whether a technique is named for another part of the body ("head CT") than its bare name stands for."""
    if not TECHNIQUE.match(text[start:end]):
        return False
    before = _BODY_BEFORE.search(text[max(0, start - 16) : start])
    return before is not None or _BODY_AFTER.match(text[end : end + 32]) is not None
