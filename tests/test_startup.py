"""What a command costs before it does anything: the modules that it imports, counted and not timed."""

import pytest

startup = pytest.importorskip("bench.startup", reason="the measurements are not part of the package")


@pytest.mark.slow
def test_a_visit_by_rules_imports_few_modules():
    modules, seconds = startup.consulted(startup.ROOT)
    assert 50 < modules <= startup.MODULES
    assert seconds > 0
