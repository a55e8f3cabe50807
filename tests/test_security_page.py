"""The page on security names limits; they are those of the code."""

import re
from importlib import import_module
from pathlib import Path

from plugmem_core import MemoryConfig

PAGE = Path(__file__).parent.parent / "SECURITY.md"
ROW = re.compile(r"^\| [^|]+ \| ([\d,]+) \| `([\w.]+)` \|$", re.MULTILINE)


def value_of(name: str) -> int:
    """Return a constant of the package, or the default of a knob."""
    module, _, constant = name.rpartition(".")
    if module == "config.MemoryConfig":
        return int(getattr(MemoryConfig(), constant))
    return int(getattr(import_module(f"plugmem_core.{module}"), constant))


def test_every_limit_is_that_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    limits = {name: int(number.replace(",", "")) for number, name in ROW.findall(page)}
    assert limits == {name: value_of(name) for name in limits}


def test_every_row_of_the_table_is_checked() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("|---|---|---|\n")[2].partition("\n\n")[0]
    assert len(ROW.findall(table)) == len(table.splitlines()) > 20
