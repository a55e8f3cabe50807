"""Shows at the end of a run what was tried."""

import pytest

from durability.tried import TOLD


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TOLD:
        terminalreporter.section("what was tried")
        for line in TOLD:
            terminalreporter.line(line)
