"""The words by which a patient's reply is told to deny, comply, call back to the matter, or ask for more.

The published lists are Chinese; these are our own, one a language, and small on purpose.
"""

from __future__ import annotations

import re

from polyclinic.language.language import Language

_WORDS: dict[str, dict[Language, str]] = {
    "denial": {
        "zh": "没 不 无 未 否",
        "en": "no, not, none, never, nothing, nobody, neither, nor, without, cannot, unaware, unsure, unknown, deny, "
        "don't, doesn't, didn't, haven't, hasn't, hadn't, isn't, aren't, wasn't, weren't, can't, couldn't, won't",
    },
    "compliance": {
        "zh": "我会 好的 按照 按您 听从 听您 遵 配合 照做 接受 同意 愿意 安排 马上去 尽快去 去做",
        "en": "i will, i'll, okay, ok, all right, alright, follow, agree, willing, arrange, schedule, get it done, "
        "get that done, get them done, go ahead, as you say, as you suggest, as you advise, as you recommend",
    },
    "focus": {
        "zh": "网络 网上 线上 在线 互联网 远程 屏幕 视频 看不到 看不见 面对面 不在现场 无法做 没办法做 病情 "
        " 问诊 看病 病症 健康问题 健康状况 我的健康 我的症状 正题 话题 专注 聚焦 关注 回到 无关 有什么关系",
        "en": "online, internet, remote, remotely, virtual, virtually, video, screen, chat, over the phone, see me, "
        "in person, my condition, my health, my illness, my symptoms, my case, my problem, medical, consultation, "
        "focus, stick to, stay on, back to, get back, come back, off topic, topic, why i came, why i'm here, relevant, "
        "irrelevant, to do with",
    },
    "guidance": {
        "zh": "具体 详细 明确 详尽 细致 仔细说 说清楚 讲清楚 问清楚 哪 指的是 是指 什么意思 "
        "怎么理解 举个例子 解释一下 说明一下",
        "en": "specific, specifically, specify, more precise, more detail, more detailed, in detail, details, clarify, "
        "be clearer, more clearly, explain, elaborate, which, what kind, what kinds, what sort, what type, what types, "
        "what exactly, what do you mean, what you mean, what in particular, in particular, for example, narrow",
    },
}


def _pattern(words: str, language: Language) -> re.Pattern[str]:
    if language == "zh":
        return re.compile("|".join(map(re.escape, words.split())))
    return re.compile(rf"\b(?:{'|'.join(re.escape(word.strip()) for word in words.split(','))})\b", re.IGNORECASE)


_PATTERNS = {(kind, language): _pattern(w, language) for kind, words in _WORDS.items() for language, w in words.items()}


def says(kind: str, text: str, language: Language) -> bool:
    """Returns whether a reply holds a word of a kind: `denial`, `compliance`, `focus` or `guidance`."""
    return _PATTERNS[kind, language].search(text.replace("’", "'")) is not None
