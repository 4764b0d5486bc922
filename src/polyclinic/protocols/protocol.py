"""What a protocol is: settings, each as a paper has it and as we have it, with the paper's section.

turns: {paper: 10, ours: 12, section: "§5.2", why: Two turns more let a doctor examine.}
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

Side = Literal["ours", "paper"]
"""As we do it by default, which may be better; or as the paper does."""

MindKind = Literal["any", "model", "saps", "saps-parallel", "rules"]
"""What may play a role: anything, a language model, the state-aware patient on one, or the built-in rules."""


class PaperSetting(msgspec.Struct, Generic[T], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One choice: the paper's, and ours where it is another.

    Attributes:
        section: where the paper says so; "not given" where the paper does not.
        why: in what ours is better, or why it is another.
    """

    paper: T
    ours: T | msgspec.UnsetType = msgspec.UNSET
    section: str
    why: str = ""

    def of(self, side: Side) -> T:
        """Returns what holds on a side."""
        return self.paper if side == "paper" or isinstance(self.ours, msgspec.UnsetType) else self.ours

    @property
    def differs(self) -> bool:
        """Whether ours is another than the paper's."""
        return not isinstance(self.ours, msgspec.UnsetType) and self.ours != self.paper


class PaperRole(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who plays a role, and how it is asked.

    Attributes:
        models: which the paper had, with their versions.
        minds: what may play it.
        prompts: the variant of the prompts.
        temperature: None leaves it to the server; left out where the paper names none and we set none.
        section: where the paper describes the role.
    """

    models: str
    minds: PaperSetting[tuple[MindKind, ...]]
    prompts: PaperSetting[Side] | None = None
    temperature: PaperSetting[float | None] | None = None
    section: str


class StillDiffers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is not as in the paper, whatever is set, and why."""

    what: str
    why: str


class PaperProtocol(msgspec.Struct, Generic[S], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paper's experiment.

    Attributes:
        name: what `polyclinic protocols show` calls it.
        paper: authors, title, where it is found.
        commands: which of ours hold the experiment.
        roles: by name, such as doctor, patient, judge.
        settings: what else was chosen; their type is the paper's own.
        differs: what still is other than in the paper where its protocol is followed.
    """

    name: str
    paper: str
    commands: tuple[str, ...]
    roles: dict[str, PaperRole]
    settings: S
    differs: tuple[StillDiffers, ...] = ()
