"""What FHIR says of what a record does not hold: that nothing is known of it, and that nothing of the kind is known.

A CodeableConcept may have, in place of an allergy, a code for that nobody was asked (SNOMED CT, the International
Patient Summary's absent-unknown codes, data-absent-reason), and a list or a section of a document may say why it is
empty. Not knowing is told as "Not known"; that there is none stands as the source words it, without words not at all.
"""

from __future__ import annotations

from typing import Any

NOT_KNOWN = "Not known"

_UNKNOWN = frozenset(
    "unknown asked-unknown not-asked "
    # IPS: absent-unknown-uv-ips
    "no-allergy-info no-medication-info no-problem-info no-procedure-info no-immunization-info no-device-info "
    # list-empty-reason and history-absent-reason
    "notasked withheld unavailable notstarted subject-unknown unable-to-obtain deferred "
    # SNOMED CT: patient not asked, allergic disposition not known, information not available, unknown, not recorded
    "1631000175102 787481004 1217341006 261665006 373068000".split()
)
_NONE = frozenset(
    # IPS
    "no-known-allergies no-known-medication-allergies no-known-environmental-allergies no-known-food-allergies "
    "no-known-medications no-known-problems no-known-procedures no-known-immunizations nilknown "
    # SNOMED CT: no known allergy, to drugs, in the environment, to food; no current problems
    "716186003 409137002 428607008 429625007 160245001".split()
)
_ABSENT = "data-absent-reason"
_PARTS = {"48765-2": "allergies", "10160-0": "medications", "11450-4": "past", "11348-0": "past", "10157-6": "family"}
"""LOINC codes of lists and sections of a document, to parts of the history."""


def is_absent(concept: Any) -> bool:
    """Whether a CodeableConcept says that nothing is known of its kind, or that there is nothing of it."""
    return is_unknown(concept) or not _codes(concept).isdisjoint(_NONE)


def is_unknown(concept: Any) -> bool:
    """Whether a CodeableConcept, or what stands in its place, says that nothing is known."""
    # Whatever the reason for which data are absent, they are.
    absent = [one.get("url") for one in _objects(concept, "extension")]
    absent += [one.get("system") for one in _objects(concept, "coding")]
    return not _codes(concept).isdisjoint(_UNKNOWN) or any(str(one).endswith(_ABSENT) for one in absent)


def stated(concept: Any, name: str) -> str:
    """Returns what a concept named `name` is in a history: "Not known" of what is not, "" of a none without words."""
    if is_unknown(concept):
        return NOT_KNOWN
    return "" if is_absent(concept) and name in _codes(concept) else name


def unknown_parts(resources: list[dict[str, Any]]) -> frozenset[str]:
    """Returns the parts of the history of which empty lists, or sections of documents, say that nothing is known."""
    listed = [*resources, *(part for one in resources for part in _objects(one, "section"))]
    return frozenset(
        part
        for one in listed
        if is_unknown(one.get("emptyReason"))
        for code, part in _PARTS.items()
        if code in _codes(one.get("code"))
    )


def _codes(concept: Any) -> set[str]:
    return {str(one.get("code", "")) for one in _objects(concept, "coding")}


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    held = value.get(name) if isinstance(value, dict) else None
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
