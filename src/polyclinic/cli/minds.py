"""The options that say who plays, and the opening of what they name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import typer

from polyclinic.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.model import Model, Price
    from polyclinic.players.minds import Minds

_PANEL = "Language models"
_MINDS = "rules, scripted:FILE, local, direct/NAME, or a name that Inspect knows."

DoctorOption = Annotated[str, typer.Option(help=f"The doctor's mind: {_MINDS}", metavar="MIND")]
PatientOption = Annotated[
    str,
    typer.Option(
        help=f"The patient's mind: {_MINDS} saps:MODEL is the state-aware simulator, saps-parallel:MODEL the same with "
        "its questions asked at once.",
        metavar="MIND",
    ),
]
ExaminerOption = Annotated[
    str, typer.Option(help="Who reads requests for examinations: rules, or a model.", metavar="MIND")
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(help="The endpoint's address, up to /v1.", metavar="URL", rich_help_panel=_PANEL),
]
KeyOption = Annotated[
    str,
    typer.Option(help="The environment variable that holds the key.", metavar="NAME", rich_help_panel=_PANEL),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(min=1, help="Questions at a time to an endpoint; adapts where left out.", rich_help_panel=_PANEL),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(min=0, max=2, help="Left to the server where left out.", rich_help_panel=_PANEL),
]
JournalOption = Annotated[
    Path | None,
    typer.Option(
        help="Keep every answer in this file; the same command again goes on from it, asking nothing twice.",
        metavar="FILE",
        rich_help_panel=_PANEL,
    ),
]
MaxTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Stop when the models have used so many tokens.", rich_help_panel=_PANEL)
]
MaxCostOption = Annotated[
    float | None, typer.Option(min=0, help="Stop when the models have cost so much.", rich_help_panel=_PANEL)
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        help="What a million tokens cost, in and out, such as 0.15,0.60.", metavar="IN,OUT", rich_help_panel=_PANEL
    ),
]


class MindOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say about who plays."""

    doctor: str
    patient: str
    examiner: str
    seed: int
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int | None = None
    temperature: float | None = None
    journal: Path | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    price: str | None = None


class Opened(NamedTuple):
    """What was opened: for each doctor who plays its visits, the further models, and what all of them cost."""

    minds: dict[str, Minds]
    others: Mapping[str, Model]
    ledger: Ledger


@asynccontextmanager
async def open_minds(
    options: MindOptions, knowledge: Knowledge, *, doctors: Sequence[str] = (), others: Sequence[str] = ()
) -> AsyncIterator[Opened]:
    """Opens the models among the minds, and what is kept of their answers, as long as they are needed.

    Args:
        options: who plays, and how.
        knowledge: what the built-in minds know.
        doctors: several doctors, each with minds of its own; the one of the options by default.
        others: further models to open, such as a judge.

    Raises:
        UserError: a name, a price or a file cannot be used.
    """
    from polyclinic.models.journal import Journal
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.open import open_model
    from polyclinic.players.minds import Minds, model_of

    doctors = doctors or [options.doctor]
    names = (model_of(mind) for mind in (*doctors, options.patient, options.examiner, *others))
    price = read_price(options.price)
    ledger = Ledger(max_cost=options.max_cost, max_tokens=options.max_tokens)
    async with AsyncExitStack() as stack:
        models = {
            name: await stack.enter_async_context(
                open_model(
                    name,
                    base_url=options.base_url,
                    api_key_env=options.api_key_env,
                    concurrency=options.concurrency or "adaptive",
                    price=price,
                    seed=options.seed,
                )
            )
            for name in dict.fromkeys(names)
            if name is not None
        }
        journal = None
        if options.journal is not None:
            run = f"seed={options.seed} patient={options.patient} examiner={options.examiner}"
            journal = await stack.enter_async_context(Journal(options.journal, run=run))
        minds = {
            doctor: Minds(
                doctor=doctor,
                patient=options.patient,
                examiner=options.examiner,
                knowledge=knowledge,
                seed=options.seed,
                models=models,
                journal=journal,
                ledger=ledger,
                temperature=options.temperature,
            )
            for doctor in doctors
        }
        further = {
            name: ledger.meter(
                models[name] if journal is None else journal.wrap(models[name], episode="judge"), "judge"
            )
            for name in others
            if name in models
        }
        yield Opened(minds, further, ledger)


def read_price(text: str | None) -> Price | None:
    """Reads `IN,OUT`.

    Raises:
        UserError: it is something else.
    """
    from polyclinic.models.model import Price

    if text is None:
        return None
    try:
        tokens_in, tokens_out = map(float, text.split(","))
    except ValueError:
        raise UserError(f"--price {text!r}; needs what a million tokens cost, in and out: 0.15,0.60") from None
    return Price(tokens_in, tokens_out)


def show_usage(screen: Console, ledger: Ledger) -> None:
    """Prints what the models were asked and what it cost, by role and purpose; nothing where none was asked."""
    from rich.table import Table

    if not ledger.lines:
        return
    table = Table(show_edge=False, pad_edge=False, title="\nmodel calls", title_justify="left")
    columns = ("role", "purpose", "calls", "failed", "requests", "tokens in", "cached", "tokens out", "cost")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < 2 else "right")
    for (role, purpose), line in [*sorted(ledger.lines.items()), (("all", ""), ledger.total)]:
        use = line.usage
        counts = (line.calls, line.failures, line.attempts, use.tokens_in, use.cached, use.tokens_out)
        cost = "" if use.cost is None else f"{use.cost:.4f}"
        table.add_row(role, purpose, *(f"{count:,}" for count in counts), cost)
    screen.print(table)
