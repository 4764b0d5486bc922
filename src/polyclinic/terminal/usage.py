"""What the models were asked and what it cost, as a table."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from polyclinic.models.ledger import Ledger, Line
from polyclinic.terminal.tables import table


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
    counted = ("calls", "failed", "requests", "tokens in", "cached", "tokens out", "cost")
    used = table("\nmodel calls", (*by, *counted), left=len(by))
    for names, line in [*lines.items(), (("all", ""), ledger.total)]:
        use = line.usage
        counts = (line.calls, line.failures, line.attempts, use.tokens_in, use.cached, use.tokens_out)
        cost = "" if use.cost is None else f"{use.cost:.4f}"
        used.add_row(*map(Text, names[: len(by)]), *(f"{count:,}" for count in counts), cost)
    screen.print(used)
