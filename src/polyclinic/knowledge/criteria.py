"""Diagnostic criteria: what must be so of a patient that a disease may be said of, as conditions on findings."""

from __future__ import annotations

from collections.abc import Iterator

from polyclinic.knowledge.data import Data, Name, Severity


class Criterion(Data, frozen=True, kw_only=True):
    """A condition, in exactly one of these forms.

    - a `quantity` of the body `at_least` and/or `below` a number (of an adult, see `Quantity`), outside its reference
      range on one side (`abnormal`), or in one of some states (`one_of`);
    - a `symptom` that the patient has;
    - `all` of some conditions, `any` of some, at least `count` of those in `of`, or `at_most` so many of them.
    """

    quantity: str = ""
    at_least: float | None = None
    below: float | None = None
    abnormal: str = ""  # "high" or "low"
    one_of: tuple[str, ...] = ()
    symptom: str = ""
    all: tuple[Criterion, ...] = ()
    any: tuple[Criterion, ...] = ()
    count: int | None = None
    at_most: int | None = None
    of: tuple[Criterion, ...] = ()

    def problem(self) -> str:
        """Returns what is wrong with its form, or ""."""
        forms = [bool(self.quantity), bool(self.symptom), bool(self.all), bool(self.any), bool(self.of)]
        if sum(forms) != 1:
            return "a criterion is one of: quantity, symptom, all, any, or count with of"
        counts = [number for number in (self.count, self.at_most) if number is not None]
        if len(counts) != bool(self.of) or any(not 0 <= number <= len(self.of) for number in counts):
            return (
                f"count {self.count}, at_most {self.at_most} of {len(self.of)}; "
                "needs one of them, from 0 to the number of conditions in 'of'"
            )
        says = [self.at_least is not None or self.below is not None, bool(self.abnormal), bool(self.one_of)]
        if sum(says) != bool(self.quantity):
            return "a quantity has at_least and/or below, or abnormal, or one_of; nothing else has"
        if self.abnormal not in ("", "high", "low"):
            return f"abnormal is {self.abnormal!r}; 'high' or 'low' is allowed"
        return ""

    def parts(self) -> tuple[Criterion, ...]:
        """Returns the conditions that it is made of; none where it is a plain one."""
        return (*self.all, *self.any, *self.of)

    def nodes(self) -> Iterator[Criterion]:
        """Yields itself and every condition in it."""
        yield self
        for part in self.parts():
            yield from part.nodes()

    def leaves(self) -> Iterator[Criterion]:
        """Yields the plain conditions in it."""
        if not self.parts():
            yield self
        for part in self.parts():
            yield from part.leaves()


class Criteria(Data, frozen=True, kw_only=True):
    """What a disease is diagnosed by: the same at every severity (`every`), or by severity, each a stage of its own.

    Attributes:
        source: the title of one of the disease's sources.
        says: the definition in words.
    """

    source: str
    says: Name
    every: Criterion | None = None
    mild: Criterion | None = None
    moderate: Criterion | None = None
    severe: Criterion | None = None

    def at(self, severity: Severity) -> tuple[Criterion, ...]:
        """Returns what holds at a severity; all of it must."""
        by_severity: Criterion | None = getattr(self, severity)
        return tuple(c for c in (self.every, by_severity) if c is not None)


class Indicated(Data, frozen=True, kw_only=True):
    """Examinations, by id: those that the diagnosis needs, those that help, and those that are not indicated.

    Whatever is in none of them is neutral: it depends on the patient.
    """

    needed: tuple[str, ...] = ()
    helpful: tuple[str, ...] = ()
    not_indicated: tuple[str, ...] = ()
