"""The tree of errors as it is drawn is the tree that there is."""

import contextlib
import importlib
import pkgutil
import re

import pytest

import polyclinic
from polyclinic import errors


def real(of=errors.PolyclinicError):
    below = {
        name: parent
        for sub in of.__subclasses__()
        if sub.__module__.startswith("polyclinic.")
        for name, parent in real(sub).items()
    }
    return {of.__name__: of.__base__.__name__, **below}


def drawn():
    parents, above = {}, {0: "Exception"}
    for line in errors.__doc__.splitlines():
        if found := re.match(r" {4}[ │├└─]*(\w+)", line):
            depth = found.start(1) // 4
            above[depth] = found[1]
            parents[found[1]] = above[depth - 1]
    return parents


@pytest.mark.slow
def test_every_error_of_the_package_is_drawn_where_it_belongs():
    for module in pkgutil.walk_packages(polyclinic.__path__, "polyclinic."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    assert drawn() == real()
