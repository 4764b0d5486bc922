"""`polyclinic`, and `python -m polyclinic`: a stop is one line from the first on, also while the rest is imported."""

import os
import signal

_STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def program() -> None:
    """Runs the command line."""
    before = {one: signal.getsignal(one) for one in _STOPS}
    usual = [one for one, does in before.items() if does in (signal.default_int_handler, signal.SIG_DFL)]
    for one in usual:
        signal.signal(one, _not_begun)
    from polyclinic.cli import program as run  # noqa: PLC0415 - what takes a while

    for one in usual:
        signal.signal(one, before[one])
    run()


def _not_begun(*_: object) -> None:
    # Nothing is open yet, and an exception would come out of whatever is being imported.
    os.write(2, b"polyclinic: interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    program()
