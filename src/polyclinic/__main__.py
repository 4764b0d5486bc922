"""`polyclinic`, and `python -m polyclinic`: a stop is one line from the first on, also while the rest is imported."""

import os

try:
    from polyclinic.stopping import listen
except KeyboardInterrupt:  # nobody listens yet
    os.write(2, b"polyclinic: interrupted\n")
    os._exit(130)


def program() -> None:
    """Runs the command line."""
    listen()
    from polyclinic.cli import program as run  # noqa: PLC0415 - what takes a while

    run()


if __name__ == "__main__":
    program()
