"""The two engines, side by side."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .ours import Ours
from .play import Game
from .reference import Reference, compile_frozen_clock


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    directory = tmp_path_factory.mktemp("reference")
    with Reference(compile_frozen_clock(directory), directory) as engine:
        yield engine


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Ours]:
    engine = Ours(tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def game(reference: Reference, ours: Ours) -> Game:
    return Game(reference, ours)
