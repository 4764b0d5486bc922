"""`polyclinic`, and `python -m polyclinic`: Ctrl-C is one line from the first on, also while the rest is imported."""

import os
import signal


def program() -> None:
    """Runs the command line."""
    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listening:
        signal.signal(signal.SIGINT, _not_begun)
    from polyclinic.cli import program as run  # noqa: PLC0415 - what takes a while

    if listening:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _not_begun(*_: object) -> None:
    # Nothing is open yet, and an exception would come out of whatever is being imported.
    os.write(2, b"polyclinic: interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    program()
