"""An auditor of hospital visits: what was handed out, held against the case, by a reading of its own.

It takes cases and episodes. What it knows of drugs stands in `data/auditor.yaml`; of the package it reads data alone
(the record, the plans' measures, the names of examinations), and none of what the pharmacist decides by. What a patient
can tell, and what this visit measured, was to be known; what the record holds and nobody measured is counted apart.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import yaml

TABLE = Path(__file__).parent / "data" / "auditor.yaml"
EXAMPLES = 5
ADULT = 18
HCG = 25.0
LATER = re.compile(
    r"\b(?:behind me|finished|already had|stopped|no longer|ran out|missed|not taking|recent antibiotics)\b"
    r"|已停|停用|刚吃|吃过|用完",
    re.I,
)
NOT_NOW = re.compile(r"\b(?:not|no|never|earlier|past|previous)\b|无|未|否认|曾|既往", re.I)
DENIED = re.compile(r"\b(?:no|denies|without|tolerates)\b|否认|没有|无", re.I)
DAYS = re.compile(
    r"(\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|half an?)"
    r"\s+(minute|hour|day|week|month|year)s?"
    r"|(\d+(?:\.\d+)?|[一两二三四五六七八九十半]+)\s*个?(分钟|小时|天|日|周|星期|月|年)"
)
NUMBERS = {
    "half a": 0.5, "half an": 0.5, "半": 0.5, "a": 1, "an": 1, "one": 1, "一": 1, "two": 2, "两": 2, "二": 2,
    "three": 3, "三": 3, "four": 4, "四": 4, "five": 5, "五": 5, "six": 6, "六": 6, "seven": 7, "七": 7,
    "eight": 8, "八": 8, "nine": 9, "九": 9, "ten": 10, "十": 10,
}  # fmt: skip
UNITS = {
    "minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365,
    "分钟": 1 / 1440, "小时": 1 / 24, "天": 1, "日": 1, "周": 7, "星期": 7, "月": 30, "年": 365,
}  # fmt: skip
OF_THE_BODY = {"systolic", "heart_rate", "respiratory_rate"}
"""What is another number in a child: the auditor says nothing of it there."""


@cache
def table():
    found = yaml.safe_load(TABLE.read_text("utf-8"))
    found["of"] = {}
    for name, drugs in found["classes"].items():
        for drug in drugs:
            found["of"].setdefault(drug, set()).add(name)
    return found


def drugs_of(row):
    named = set(row.get("drugs", ()))
    return named.union(*(table()["classes"][name] for name in row.get("classes", ())))


def sentences(text):
    return [s for s in re.split(r"[.;。；]", text) if s.strip()]


def says(pattern, texts, *, denied=DENIED):
    found = re.compile(pattern, re.I)
    return any(found.search(s) and not denied.search(s) for text in texts for s in sentences(text))


class Facts:
    """What is so of a patient, by the case, and what of it this visit knew."""

    def __init__(self, case, episode, knowledge):
        record = case.record
        self.person, history = record.presentation, record.history
        self.language = self.person.language
        self.age = 40.0 if self.person.age is None else self.person.age
        self.allergies = [history.allergies]
        self.taken = [history.medications]
        self.history = [text for name, text in history.sections() if name != "family"] + [self.person.complaint]
        self.told = " | ".join(self.history).casefold()
        self.examined = {id for seen in episode.seen for id in seen.examinations}
        shown = []
        for seen in episode.seen:
            for line in filter(None, seen.trace.splitlines()):
                event = json.loads(line)
                if event["event"] == "examined":
                    shown += [(f["examination"], f.get("item", ""), f["value"]) for f in event["findings"]]
        self.values = self._values(shown, knowledge)
        whole = [(f.examination, f.item, f.value) for f in record.findings]
        self.of_record = self._values(whole, knowledge)
        self.days = self._days()

    def _values(self, shown, knowledge):
        names = names_of(knowledge, self.language)
        found = {}
        for examination, item, value in shown:
            known = names.get((examination.casefold(), item.casefold()))
            if known is not None:
                id, states = known
                found[id] = states.get(value, value) if isinstance(value, str) else float(value)
        return found

    def _days(self):
        found = list(DAYS.finditer(self.person.complaint))
        if not found:
            return None
        number, unit, zahl, einheit = found[-1].groups()
        number, unit = (number, unit) if number else (zahl, einheit)
        value = NUMBERS.get(number)
        return (float(number) if value is None else value) * UNITS[unit] if value or number[0].isdigit() else None

    def pregnant(self, values):
        told = says(
            r"\bpregnan|weeks? gone|怀孕|妊娠",
            self.history,
            denied=NOT_NOW,
        )
        hcg = values.get("beta_hcg")
        return told or (isinstance(hcg, float) and hcg >= HCG)

    def filtration(self, values):
        creatinine = values.get("creatinine")
        if not isinstance(creatinine, float) or self.age < ADULT or self.person.sex is None:
            return None  # of a child the auditor does not judge
        mg, woman = creatinine / 88.4, self.person.sex == "female"
        k, a = (0.7, -0.241) if woman else (0.9, -0.302)
        return 142 * min(mg / k, 1) ** a * max(mg / k, 1) ** -1.2 * 0.9938**self.age * (1.012 if woman else 1)

    def has_symptom(self, id, knowledge):
        family = [s for s in knowledge.symptoms.values() if s.id == id or s.parent == id]
        return any(phrase.casefold() in self.told for s in family for phrase in s.words(self.language))


_NAMES = {}


def names_of(knowledge, language):
    """Returns item ids and texts' ids by the names of examination and item, in a language."""
    key = id(knowledge), language
    if key not in _NAMES:
        _NAMES[key] = {
            (e.name.get(language).casefold(), i.name.get(language).casefold()): (
                i.id,
                {name.get(language): state for state, name in i.values.items()},
            )
            for e in knowledge.examinations.values()
            for i in e.items
        }
    return _NAMES[key]


class Audit:
    """Looks at one visit after another, and counts.

    Attributes:
        tried, failed: by the check's name. What fails under a name of `unknowable` nobody could have known.
        examples: of what failed, a few by name.
        withheld, lacking: drugs withheld, and those of them that nothing stands in for, counted by id.
    """

    CHECKS = (
        "no allergy disregarded",
        "no drug below its age",
        "no drug against pregnancy",
        "no drug against the kidneys",
        "no drug against an illness told",
        "no drug against another taken or handed out",
        "one of a class",
        "nothing anew that is taken already",
        "one alternative of a measure",
        "no drug outside the plan",
        "no condition of a measure disregarded",
        "no examination skipped that comes first",
        "every due drug given, continued or withheld",
        "every withheld drug replaced or its lack explained",
    )

    def __init__(self, knowledge):
        self.knowledge = knowledge
        self.visits = self.with_plan = self.handed_out = self.continued = 0
        self.tried, self.failed, self.unknowable = Counter(), Counter(), Counter()
        self.examples = {}
        self.withheld, self.lacking, self.whole_lack = Counter(), Counter(), Counter()
        self._diseases = {
            name.casefold(): d for d in knowledge.diseases.values() for name in (d.name.en, d.name.zh, d.id)
        }

    @property
    def violations(self):
        return sum(self.failed.values())

    def _say(self, check, wrong, case, episode):
        self.tried[check] += 1
        if wrong:
            self.failed[check] += 1
            some = self.examples.setdefault(check, [])
            if len(some) < EXAMPLES:
                person = case.presentation
                diagnosis = episode.seen[-1].diagnosis if episode.seen else ""
                some.append(f"{episode.key} ({person.age:g}, {person.sex}; {diagnosis}, {episode.plan}): {wrong}")

    def look_at(self, case, episode):
        """Holds one visit against its case."""
        if episode.failed:
            return
        self.visits += 1
        facts = Facts(case, episode, self.knowledge)
        given = list(episode.dispensed)
        kept_on = [line.split(": ")[0] for line in getattr(episode, "continued", ())]
        self.handed_out += len(given)
        self.continued += len(kept_on)
        if not given and not episode.withheld and episode.plan is None:
            return
        tell = lambda check, wrong: self._say(check, wrong, case, episode)  # noqa: E731
        if given:
            self._cautions(facts, given, kept_on, tell)
        self._withheld(episode, given, tell)
        name = episode.seen[-1].diagnosis if episode.seen else ""
        disease = self._diseases.get(name.casefold())
        if disease is not None and episode.plan is not None:
            self.with_plan += 1
            self._plan(disease.plan(episode.plan), facts, episode, given, kept_on, tell)

    def _cautions(self, facts, given, kept_on, tell):
        t, of = table(), table()["of"]
        rows = [r for r in t["allergies"] if says(r["says"], facts.allergies)]
        barred = {d: r["says"].split("|")[0] for r in rows for d in drugs_of(r)}
        names = {d: self.knowledge.drugs[d].name.get(facts.language) for d in given if d in self.knowledge.drugs}
        barred |= {d: name for d, name in names.items() if says(re.escape(name), facts.allergies)}
        tell("no allergy disregarded", ", ".join(f"{d} ({barred[d]})" for d in given if d in barred))
        young = [f"{d} under {a}" for a, ds in t["ages"].items() for d in given if d in ds and facts.age < a]
        tell("no drug below its age", ", ".join(young))
        against = [d for d in given if d in t["pregnancy"]]
        tell("no drug against pregnancy", ", ".join(against) if facts.pregnant(facts.values) else "")
        if against and facts.pregnant(facts.of_record) and not facts.pregnant(facts.values):
            self.unknowable["pregnancy that nobody tested"] += 1
        at, of_record = facts.filtration(facts.values), facts.filtration(facts.of_record)
        weak = [(d, below) for below, ds in t["kidney"].items() for d in given if d in ds]
        tell(
            "no drug against the kidneys",
            ", ".join(f"{d}: {at:.0f} < {b}" for d, b in weak if at is not None and at < b),
        )
        if at is None and of_record is not None and any(of_record < b for _, b in weak):
            self.unknowable["kidneys that nobody measured"] += 1
        ill = [
            (d, r["name"])
            for r in t["conditions"]
            for d in given
            if d in drugs_of(r) and says(r["says"], facts.history)
        ]
        tell("no drug against an illness told", ", ".join(f"{d}: {name}" for d, name in ill))
        wrong = []
        for row in t["taken"]:
            found = [d for d in given if d in drugs_of(row)]
            if found and says(row["says"], facts.taken, denied=LATER):
                wrong += [f"{d}, takes {row['name']}" for d in found]
        for one, other in t["together"]:
            a, b = drugs_of({"classes": one}), drugs_of({"classes": other})
            wrong += [f"{x} with {y}" for x in given if x in a for y in given if y in b]
        tell("no drug against another taken or handed out", ", ".join(wrong))
        doubled, anew = [], []
        for name, called in t["one_of"].items():
            members = [d for d in dict.fromkeys(given) if name in of.get(d, ())]
            doubled += [" and ".join(members)] if len(members) > 1 else []
            if called and says(called, facts.taken, denied=LATER):
                anew += [f"{d}, takes a {name}" for d in members if d not in kept_on]
        doubled += [d for d, n in Counter(given).items() if n > 1]
        anew += [
            f"{d}, takes it"
            for d, name in names.items()
            if d not in kept_on and says(re.escape(name), facts.taken, denied=LATER)
        ]
        tell("one of a class", ", ".join(doubled))
        tell("nothing anew that is taken already", ", ".join(anew) and f"{', '.join(anew)}: {facts.taken}")

    def _withheld(self, episode, given, tell):
        instead = dict(line.split(": ", 1) for line in episode.instead)
        lacking = dict(line.split(": ", 1) for line in episode.lacking)
        for line in episode.withheld:
            drug, _, why = line.partition(": ")
            self.withheld[drug] += 1
            self.lacking[drug] += drug in lacking
            explained = bool(why) and (instead.get(drug) in given or bool(lacking.get(drug)))
            tell("every withheld drug replaced or its lack explained", "" if explained else line)

    def _plan(self, plan, facts, episode, given, kept_on, tell):
        giving = [m for m in plan.measures if m.give]
        fits = {
            drug: [n for n, m in enumerate(giving) if any(p.drug == drug for p in m.give)]
            for drug in dict.fromkeys([*given, *kept_on])
        }
        tell("no drug outside the plan", ", ".join(d for d, at in fits.items() if not at))
        taken = matched(fits)
        tell("one alternative of a measure", ", ".join(d for d, at in fits.items() if at and d not in taken.values()))
        unmet, skipped = [], []
        for drug in given:
            ways = [
                (self._met(m, p, facts), set(m.after) - facts.examined)
                for m in giving
                for p in m.give
                if p.drug == drug
            ]
            unmet += [] if not ways or any(met is not False for met, _ in ways) else [drug]
            skipped += [] if not ways or any(not missing for _, missing in ways) else [drug]
        done = set(episode.treatment)
        for m in plan.measures:
            text = m.procedure or m.advice or m.monitoring
            if text is not None and text.get(facts.language) in done:
                same = [o for o in plan.measures if (o.procedure or o.advice or o.monitoring) == text]
                unmet += [] if any(self._met(o, None, facts) is not False for o in same) else [text.en]
                skipped += [] if any(set(o.after) <= facts.examined for o in same) else [text.en]
        tell("no condition of a measure disregarded", ", ".join(unmet))
        tell("no examination skipped that comes first", ", ".join(skipped))
        mentioned = {*given, *kept_on, *(line.split(": ")[0] for line in episode.withheld)}
        for m in giving:
            met = [(p.drug, self._met(m, p, facts)) for p in m.give]
            due = [drug for drug, is_met in met if is_met is not False] if any(is_met for _, is_met in met) else []
            if due and set(m.after) <= facts.examined:
                tell("every due drug given, continued or withheld", "" if mentioned & set(due) else " | ".join(due))
                if not {*given, *kept_on} & {p.drug for p in m.give}:
                    self.whole_lack[" | ".join(dict.fromkeys(due))] += 1

    def _met(self, measure, prescription, facts):
        """Whether the conditions hold: None where the auditor cannot say."""
        whens = [w for w in (measure.when, prescription and prescription.when) if w is not None]
        held = [self._holds(when, facts) for when in whens]
        return False if False in held else None if None in held else True

    def _holds(self, when, facts):
        held = [
            when.age_at_least is None or facts.age >= when.age_at_least,
            when.age_below is None or facts.age < when.age_below,
            when.sex is None or facts.person.sex == when.sex,
            when.pregnant is None or when.pregnant == facts.pregnant(facts.values),
        ]
        if when.days_at_most is not None:
            held.append(None if facts.days is None else facts.days <= when.days_at_most + 1e-6)
        if when.finding is not None:
            held.append(self._found(when.finding, facts))
        return False if False in held else None if None in held else True

    def _found(self, node, facts):
        if node.all or node.any or node.of:
            parts = [self._found(part, facts) for part in (node.all or node.any or node.of)]
            needed = len(parts) if node.all else 1 if node.any else node.count
            yes, unknown = parts.count(True), parts.count(None)
            return True if yes >= needed else False if yes + unknown < needed else None
        if node.symptom:
            # Who has a symptom may not have told of it; who has not cannot have.
            return None if facts.has_symptom(node.symptom, self.knowledge) else False
        value = facts.values.get(node.quantity)
        if value is None:
            # Not measured under its own name: something else may read it.
            return None
        if node.one_of:
            return value in node.one_of if isinstance(value, str) else None
        if node.abnormal or not isinstance(value, float) or (facts.age < ADULT and node.quantity in OF_THE_BODY):
            return None
        return (node.at_least is None or value >= node.at_least) and (node.below is None or value < node.below)

    def lines(self):
        """Yields what was found."""
        yield (
            f"{self.visits:,} visits, {self.with_plan:,} with a plan, {self.handed_out:,} drugs handed out, "
            f"{self.continued:,} gone on with, {sum(self.withheld.values()):,} withheld, "
            f"{sum(self.lacking.values()):,} of them with nothing in their place"
        )
        for check in self.CHECKS:
            yield f"  {check}: {self.failed[check]} of {self.tried[check]:,}"
            yield from (f"      {line}" for line in self.examples.get(check, ()))
        for what, n in self.unknowable.items():
            yield f"  not to be known: {what}: {n}"
        if self.lacking:
            most = ", ".join(f"{d} {n} of {self.withheld[d]}" for d, n in self.lacking.most_common(20) if n)
            yield f"  withheld with nothing in their place: {most}"
            most = "; ".join(f"{d}: {n}" for d, n in self.whole_lack.most_common(20))
            yield f"  due measures of which nothing was given: {most}"


def matched(fits):
    """Gives each drug a measure of its own as far as that goes; returns drugs by measure."""
    of = {}

    def place(drug, seen):
        for n in fits[drug]:
            if n not in seen:
                seen.add(n)
                if n not in of or place(of[n], seen):
                    of[n] = drug
                    return True
        return False

    for drug in fits:
        place(drug, set())
    return of
