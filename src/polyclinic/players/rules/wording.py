"""From the words of a record to the words of a patient: third person to first, clinical style to speech.

Where the patient is a small child, a parent speaks for it: "My child has had ...".
"""

from __future__ import annotations

import re

from polyclinic.language.language import Language
from polyclinic.players.rules.wording_zh import Voice, chinese_first_person

_UNIT = r"(?:second|minute|hour|day|week|month|year)s?"
_COUNT = r"(?:\d+(?:[-–.]\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|several|few)"
_PERSON = (
    r"(?:the |this |an? )?(?:otherwise |previously )?(?:healthy )?(?:\d+[- ](?:year|month|week|day)[- ]old )?(?:\w+ )?"
    r"(?:patient|man|woman|male|female|boy|girl|child|infant|newborn|baby|neonate|gentleman|lady|student)"
)
_SUBJECT = rf"(?:{_PERSON}|he|she|patient)"
_START = re.compile(rf"^{_SUBJECT}\b(?!['’])(?:,? (?:who|and) )?", re.IGNORECASE)
_ADVERB = r"(?:also |additionally |further |currently |recently |otherwise |occasionally |usually |then )*"
_REPORT = re.compile(
    rf"^{_ADVERB}(?:reports?|reported|notes|noted|states|stated|mentions|mentioned|describes"
    rf"|described|endorses|admits to"
    r"|admits|recalls|recounts|reveals|complains of|complained of|presents with|presented with|presents because of"
    r"|comes in with|is experiencing|experiences|experienced|has been experiencing|has experienced|says|cites)\s+",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(r"^(?:complaints? of|an? chief complaint of|symptoms of|presence of)\s+", re.IGNORECASE)
_HISTORY = re.compile(
    rf"^an? ({_COUNT})[- ]({_UNIT})[- ]history of (?:experiencing |having )?(.+)$", re.IGNORECASE | re.S
)
_DENIES = re.compile(
    rf"^{_ADVERB}(?:denies|denied|reports no|reported no)\s+(?:any |having |experiencing )*", re.IGNORECASE
)
_GERUNDS = {
    "having": "have",
    "noticing": "noticed",
    "feeling": "feel",
    "experiencing": "have",
    "being": "am",
    "developing": "developed",
    "taking": "take",
    "smoking": "smoke",
    "drinking": "drink",
    "using": "use",
}
_VERBS = {
    "has": "have",
    "is": "am",
    "does": "do",
    "goes": "go",
    "was": "was",
    "hasn't": "haven't",
    "isn't": "am not",
    "doesn't": "don't",
    "denies": "deny",
    "tries": "try",
    "worries": "worry",
    "studies": "study",
}
_NOUNS_WITH_ARTICLE = re.compile(
    r"\b(?:mass|lesion|rash|cough|fever|headache|lump|murmur|episode|wound|ulcer|swelling"
    r"|nodule|discharge|feeling|sensation"
    r"|loss of \w+|history|ache|injury|fall|seizure|nosebleed|sore throat|fracture|cold)$",
    re.IGNORECASE,
)
_NO_ARTICLE = re.compile(
    r"^(?:an?|the|my|some|no|difficulty|pain|weakness|multiple|several|increas\w+)\b", re.IGNORECASE
)


_WITH = re.compile(
    r"^with (.+?),? (?:who )?((?:complains|presents|comes|is|was|has|reports|returns|undergoes|takes|arrives)\b.*)$",
    re.S,
)


def _begin(pattern: str, *, own: str, childs: str) -> tuple[re.Pattern[str], dict[Voice, str]]:
    return re.compile(rf"(?:{pattern})\b", re.IGNORECASE), {"self": own, "parent": childs}


_BEGINNINGS = (
    _begin(
        r"(?:currently |presently |now )?(?:being|taking|on(?! exam)|using|up.to.date)",
        own="I am ",
        childs="My child is ",
    ),
    _begin("worse|better|worst|relieved|aggravated", own="It is ", childs="It is "),
    _begin(
        "underwent|had|went|took|received|developed|started|began|noticed|became|lost|fell",
        own="I ",
        childs="My child ",
    ),
    _begin(
        "(?:recently |previously |initially |last )?(?:diagnosed|treated|admitted|hospitali[sz]ed|born|prescribed)",
        own="I was ",
        childs="My child was ",
    ),
    _begin("the|my|this|these|upon|during|while|although|it|there|that|both|all", own="", childs=""),
    _begin(
        "crying|grunting|limping|losing|gaining|drooling|feeling|sleeping|waking",
        own="I have been ",
        childs="My child has been ",
    ),
    _begin("non-?smoker", own="I am a ", childs="My child is a "),
)
"""How a phrase begins, and what stands before it then."""


def first_person(text: str, language: Language, voice: Voice = "self") -> str:
    """Returns a clause or sentence of a record as the patient, or its parent, would say it; no final stop."""
    text = text.strip().rstrip(".。;；,，、 ")
    if not text:
        return ""
    return chinese_first_person(text, voice) if language == "zh" else _english(text, voice)


def _english(text: str, voice: Voice) -> str:
    if text[:1] in '"“' and text[-1:] in '"”':
        text = text.strip('"“”. ')
    if re.match(r"(?:I|My|I'm|I've|We)\b", text) and voice == "self":
        return text
    if re.match(r"(?:no|not|none)\b", text, re.IGNORECASE):
        return _denied_sentence(text, voice)
    begun = _START.match(text)
    rest = text[begun.end() :].strip() if begun else text
    beside = _WITH.match(rest) if begun else None
    if beside:
        have = "My child has" if voice == "parent" else "I have"
        then = _english(f"She {beside[2]}", voice)
        return f"{have} {_pronouns(beside[1], voice)}. {then[0].upper()}{then[1:]}"
    denied = _DENIES.match(rest)
    if denied:
        return deny(_pronouns(rest[denied.end() :], voice), "en", voice)
    reported = _REPORT.match(rest)
    if reported and (begun or not re.match(r"(?:notes?|describes?|states?|experiences?)\b", rest, re.IGNORECASE)):
        return _reported(_COMPLAINT.sub("", rest[reported.end() :]), voice)
    if begun:
        return _verb(rest, voice) if re.match(r"\w", rest) else ""
    return _phrase(text, voice)


def _reported(rest: str, voice: Voice) -> str:
    have, had = ("I have", "I have had") if voice == "self" else ("My child has", "My child has had")
    if rest.casefold().startswith("that "):
        said = _pronouns(rest[5:], voice)
        return said[0].upper() + said[1:]
    spell = _HISTORY.match(rest)
    if spell:
        number, unit, what = spell[1], spell[2].rstrip("s"), _pronouns(spell[3], voice)
        return f"{had} {what} for {number} {unit}{'' if number in ('1', 'one') else 's'}"
    first, _, after = rest.partition(" ")
    gerund = _GERUNDS.get(first.casefold())
    if gerund and voice == "self":
        after = _pronouns(after, voice)
        return f"I {gerund} {after}"
    if first.casefold() in ("experiencing", "having"):
        rest = after
    elif re.fullmatch(r"[a-z]{3,}ing", first) and after and not _NOUNISH.match(first):
        been = "I have been" if voice == "self" else "My child has been"
        return f"{been} {_pronouns(rest, voice)}"
    return f"{have} {_pronouns(rest, voice)}"


_NOUNISH = re.compile(
    r"(?:bleeding|swelling|vomiting|itching|burning|coughing|wheezing|worsening|increasing"
    r"|tingling|cramping|bruising|pressing"
    r"|throbbing|stabbing|shooting|aching|persisting|sneezing|bloating|severe|ongoing|morning|evening|spotting)",
    re.IGNORECASE,
)


def _verb(rest: str, voice: Voice) -> str:
    if voice == "parent":
        return f"My child {_pronouns(rest, voice)}"
    match = re.match(r"((?:\w+ly |also |then |just |never )*)([\w']+)(.*)$", rest, re.S)
    if match is None:
        return f"I {_pronouns(rest, voice)}"
    adverb, verb, after = match.groups()
    return f"I {adverb}{_base(verb)}{_pronouns(after, voice)}"


def _base(verb: str) -> str:
    lower = verb.casefold()
    if lower in _VERBS:
        return _VERBS[lower]
    if lower.endswith(("oes", "sses", "shes", "ches", "xes", "zes")):
        return lower[:-2]
    return lower[:-1] if lower.endswith("s") and not lower.endswith(("ss", "us", "was")) else verb


_HE_VERB = re.compile(r"\b(?:he|she|the patient)( (?:also |then |now |often |usually )*)([a-z']+)", re.IGNORECASE)


def _pronouns(text: str, voice: Voice) -> str:
    if voice == "parent":
        return re.sub(r"\b[Tt]he (?:patient|child|infant|newborn|baby)\b", "my child", text)
    text = re.sub(r"\b(?:the patient|patient|she|he)'s\b", "my", text, flags=re.IGNORECASE)
    text = _HE_VERB.sub(lambda m: f"I{m[1]}{_base(m[2])}", text)
    text = re.sub(r"\b(?:he|she)\b", "I", text)
    text = re.sub(r"\b(?:himself|herself)\b", "myself", text)
    text = re.sub(
        r"\bhis\b|\bher(?= (?!for\b|to\b|by\b|with\b|and\b|in\b|on\b|at\b|after\b|from\b|during\b)\w)",
        "my",
        text,
        flags=re.IGNORECASE,
    )
    return re.sub(r"\b(?:him|her|the patient)\b", "me", text)


def _phrase(text: str, voice: Voice) -> str:
    have = "I have" if voice == "self" else "My child has"
    text = _pronouns(_COMPLAINT.sub("", text), voice)
    lower = text[0].lower() + text[1:]
    for begins, before in _BEGINNINGS:
        if begins.match(text):
            said = before[voice] + (lower if before[voice] else text)
            return said[0].upper() + said[1:]
    first = text.split(" ")[0].rstrip(",")
    if re.fullmatch(r"[A-Za-z][a-z]+s", first) and _base(first) in _HABITS:
        return _verb(text[0].lower() + text[1:], voice)
    if re.match(rf"(?:takes|does|has|is|was|had|needs|\w+ly (?!{_UNIT})\w+s)\b", text, re.IGNORECASE):
        return _verb(text[0].lower() + text[1:], voice)
    if re.search(r"\b(?:is|are|was|were|has|have|had|began|started|occurs?|does|did|took|takes|appears?)\b", text):
        return re.sub(r"^(?:My|The)\b", lambda m: m[0].capitalize(), text[0].upper() + text[1:])
    # A capital that begins a phrase goes; an abbreviation or a name keeps it.
    if re.match(r"[A-Z][a-z]|An? ", text) and not re.match(r"(?:Crohn|Kaposi|Parkinson|Graves|Hodgkin|Type)\b", text):
        text = text[0].lower() + text[1:]
    head = re.split(r",|\b(?:for|with|on|in|of|over|after|and|that|which|lasting|since)\b", text)[0].strip()
    if _NOUNS_WITH_ARTICLE.search(head) and not _NO_ARTICLE.match(text):
        text = f"{'an' if text[0] in 'aeiou' else 'a'} {text}"
    if re.match(r"(?:an? )?(?:unable|short of breath|tired|dizzy|afraid|nauseous)", text):
        return ("I am " if voice == "self" else "My child is ") + text
    lasting = re.search(rf"\bfor (?:the )?(?:past |last |about )?(?:an? )?{_COUNT}? ?{_UNIT}", text)
    return f"{have} had {text}" if lasting else f"{have} {text}"


_HABITS = frozenset("smoke drink work live take use play attend enjoy eat exercise deny travel study help run".split())


def _denied_sentence(text: str, voice: Voice) -> str:
    match = re.match(r"(?:no|none|not)\b\s*(.*)$", text, re.IGNORECASE | re.S)
    rest = match[1] if match else ""
    if text[:3].casefold() == "not":
        return f"It is not {_pronouns(rest, voice)}"
    return deny(_pronouns(rest, voice), "en", voice) if rest else "No"


def deny(what: str, language: Language, voice: Voice = "self") -> str:
    """Returns that there is none of it: "I have no chest pain"."""
    what = what.strip(" .。,，")
    if language == "zh":
        return f"{'孩子' if voice == 'parent' else '我'}没有{what}"
    what = re.sub(r"^(?:any|an?)\s+", "", what)
    return f"{'My child has' if voice == 'parent' else 'I have'} no {what}"


_ZH_LASTS = re.compile(
    r"((?:\d+(?:\.\d+)?|[一二两三四五六七八九十半数几]+)个?(?:多|余)?(?:分钟|小时|天|日|周|月|年)多?)(?=$|[，。；])"
)


def opening(complaint: str, language: Language, voice: Voice = "self") -> str:
    """Returns the chief complaint as the patient's first words to the doctor."""
    text = complaint.strip()
    if language == "zh":
        if re.match(r"(?:医生|大夫|您好|你好)", text) or text.startswith("我"):
            return text if text.endswith(("。", "！", "？")) else text + "。"
        text = re.sub(r"^(?:患者|患儿)?(?:主诉)?[:：]?\s*因?[“\"”]?", "", text)
        text = re.sub(r"[，,]?\s*(?:为求|为进一步|前来就诊|需就诊|要求治疗|求进一步|遂前来).*$", "", text.rstrip("。 "))
        text = re.sub(r"(?:[，,。]?\s*(?:入院|就诊|来诊))$", "", text)
        told = _ZH_LASTS.sub(r"\1了", first_person(text, "zh", voice)) or "我不舒服"
        return f"医生，{told.replace('孩子', '我家孩子', 1)}。"
    if re.match(r"(?:Doctor|Hello|Hi|Good)\b", text):
        return text
    sentences = [first_person(s, "en", voice) for s in re.split(r"(?<=[.!?])\s+", text)[:2] if s.strip(" .")]
    said = ". ".join(s for s in sentences if s) or "I do not feel well"
    if not re.match(r"I\b", said):
        said = said[0].lower() + said[1:]
    return f"Doctor, {said}."
