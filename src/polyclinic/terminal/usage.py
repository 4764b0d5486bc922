"""What the models were asked and what it cost, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from polyclinic.models.ledger import Ledger, Line
from polyclinic.terminal.figures import AT_LEAST, NOTHING, money, number
from polyclinic.terminal.tables import counted, table


def show_usage(screen: Console, ledger: Ledger, *, purposes: bool = True) -> None:
    """Prints what the models were asked and what it cost; nothing where none was asked.

    It is told by role, and with `purposes` by purpose too, without what a purpose says after a comma.
    """
    if not ledger.lines:
        return
    lines: dict[tuple[str, str], Line] = {}
    for (role, purpose), line in sorted(ledger.lines.items()):
        lines.setdefault((role, purpose.partition(",")[0] if purposes else ""), Line()).add(line)
    by = ("role", "purpose") if purposes else ("role",)
    replayed = ("from the journal",) if ledger.total.replayed else ()
    counts = ("calls", *replayed, "failed", "requests", "tokens in", "cached", "tokens out", "cost")
    used = table("\nmodel calls", (*by, *counts), left=len(by))
    for names, line in [*lines.items(), (("all", ""), ledger.total)]:
        calls = (
            number(line.calls, ","),
            *([number(line.replayed, ",")] if replayed else []),
            number(line.failures, ","),
        )
        used.add_row(*map(Text, names[: len(by)]), *calls, *_used(line))
    screen.print(used)
    if ledger.total.usage.cost is not None and ledger.total.unpriced:
        screen.print(
            f"{AT_LEAST}: {counted(ledger.total.unpriced, 'call')} took tokens that have no price", soft_wrap=True
        )
    show_by_server(screen, ledger.servers)
    others = ledger.total.calls - ledger.total.failures - sum(line.calls for line in ledger.servers.values())
    if ledger.servers and others > 0:
        screen.print(f"the other {counted(others, 'answer')} came from models of one server", soft_wrap=True)


def show_by_server(screen: Console, servers: Mapping[tuple[str, str], Line]) -> None:
    """Prints what each server of a model answered, by model and server; nothing where there is none."""
    if not servers:
        return
    first = ("model", "server") if len({model for model, _ in servers}) > 1 else ("server",)
    by_server = table("\nby server", (*first, "calls", "tokens in", "cached", "tokens out", "cost"), left=len(first))
    for names, line in sorted(servers.items()):
        by_server.add_row(*map(Text, names[-len(first) :]), number(line.calls, ","), *_used(line)[1:])
    screen.print(by_server)


def _used(line: Line) -> tuple[str, ...]:
    use = line.usage
    counts = (use.tokens_in, use.cached, use.tokens_out)
    # Some endpoints do not say how many there were.
    tokens = [number(count, ",") if use.tokens or line.calls == line.failures else NOTHING for count in counts]
    return (
        number(line.attempts, ","),
        *tokens,
        "" if use.cost is None else money(use.cost, line.unpriced),
    )
