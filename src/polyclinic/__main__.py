"""`polyclinic`, and `python -m polyclinic`: a stop is one line from the first on, also while the rest is imported."""

from polyclinic.stopping import listen


def program() -> None:
    """Runs the command line."""
    listen()
    from polyclinic.cli import program as run  # noqa: PLC0415 - what takes a while

    run()


if __name__ == "__main__":
    program()
