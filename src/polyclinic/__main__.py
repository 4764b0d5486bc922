"""`python -m polyclinic` is `polyclinic`."""

from polyclinic.cli import program

if __name__ == "__main__":
    program()
