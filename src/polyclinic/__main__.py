"""`python -m polyclinic` is `polyclinic`."""

from polyclinic.cli import main

if __name__ == "__main__":
    main()
