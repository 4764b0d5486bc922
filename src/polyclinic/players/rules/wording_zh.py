"""From the words of a Chinese record to the words of a patient."""

from __future__ import annotations

import re
from typing import Literal

Voice = Literal["self", "parent"]
"""Who speaks."""

_ZH = (
    (r"^(?:男|女)(?:性)?，?\s*\d+\s*岁?，?\s*", ""),
    (r"^职业[:：]\s*无$", "我没有工作"),
    (r"^职业[:：]\s*", "我是"),
    (r"^(?:患者|患儿)?因(?=.{1,14}[天日月年周时])", ""),
    (r"^于(?=\d)", ""),
    (r"患者(?:自述|自诉|诉|自觉|报告)?|病人|患儿|本患", "我"),
    (r"否认(?:有)?", "没有"),
    (r"(?:自述|自诉|主诉|自觉)", "觉得"),
    (r"^既往", "以前"),
    (r"既往", "以前"),
    (r"无明显诱因(?:下)?(?:开始)?(?:出现)?", "没什么原因就出现"),
    (r"(?<=我)于(?=\d|一|两|半)", ""),
    (r"遂至", "就去"),
    (r"遂", "就"),
    (r"伴有|并伴|伴随", "还有"),
    (r"(?<!陪)伴", "还有"),
    (r"纳差", "胃口不好"),
    (r"乏力", "没力气"),
    (r"高热", "高烧"),
    (r"(?<!出现)发热", "发烧"),
    (r"就诊于", "去了"),
    (r"(?:来|至|在)我院", "来医院"),
    (r"我院", "医院"),
    (r"外院", "别的医院"),
    (r"我科", "科里"),
    (r"(\d+)\s*余(年|月|天|日|周|小时)", r"\1多\2"),
    (r"(\d+(?:\.\d+)?)\s*月(?=余|前|来|$|，|。|左右)", r"\1个月"),
    (r"(\d+)\s*(个月|年|天|日|周|小时)余", r"\1\2多"),
    (r"(\d)多月", r"\1个多月"),
    (r"未予(?:特殊)?(?:处理|治疗|重视)", "没去管它"),
    (r"未(?=出现|发现|接受|服|就|做|用|注意|感)", "没有"),
    (r"^无(?!力|痛|法|意)(?:明显)?", "没有"),
    (r"(?<=，)无(?!力|痛|法|意)(?:明显)?", "没有"),
    (r"予以?(?=\S{1,12}治疗)", "用了"),
    (r"口服", "吃"),
    (r"双下肢", "两条腿"),
)
_ZH_RULES = tuple((re.compile(pattern), replacement) for pattern, replacement in _ZH)


def chinese_first_person(text: str, voice: Voice) -> str:
    """Returns a clause of a Chinese record as the patient, or its parent, would say it."""
    for pattern, replacement in _ZH_RULES:
        text = pattern.sub(replacement, text)
    text = re.sub(r"我(?:我)+", "我", text).strip(" ，、；")
    if voice == "parent":
        text = text.replace("我", "孩子")
    who = "孩子" if voice == "parent" else "我"
    begun = re.match(rf"(?:{who}|\d|一|两|半|近|之后|后来|以前|现在|昨|今|这|最近|医生)", text)
    return text if begun else who + text
