"""Plans for tests, written as in a disease file."""

import msgspec

from polyclinic.knowledge.entries import Plan
from polyclinic.knowledge.knowledge import plan_vocabulary, read_knowledge
from polyclinic.knowledge.plan_words import in_words
from polyclinic.yaml_files import parse_yaml

KNOWLEDGE = read_knowledge()


def plan_of(text: str, disposition: str = "home") -> Plan:
    """Returns a plan whose measures are written in YAML; `D` stands for a dose."""
    dose = "dose: {en: 1 g, zh: 1 g}"
    measures = parse_yaml(text.replace(" D}", f" {dose}}}").replace(" D,", f" {dose},"))
    plan = msgspec.convert({"disposition": disposition, "measures": measures}, Plan)
    return in_words(plan, plan_vocabulary(KNOWLEDGE))
