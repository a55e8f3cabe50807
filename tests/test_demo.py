"""`scripts/demo.py`, run as a reader runs it."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


def run_demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPTS / "demo.py", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPTS)
    return import_module("sources")


@pytest.fixture(scope="module")
def tour() -> str:
    done = run_demo()
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_same_question_has_another_answer_at_another_date(tour: str) -> None:
    assert re.search(r"as of 2024-03-01: .*Fishmarket 4", tour)
    assert re.search(r"as of 2024-09-01: .*Canal Street 12", tour)


def test_the_two_clocks_differ_where_news_came_late(tour: str) -> None:
    assert re.search(r"on 2024-09-05, as we know today: .*Brandt bakery", tour)
    assert re.search(r"on 2024-09-05, as we knew then: .*Holm bakery", tour)


def test_the_explanation_adds_up(tour: str) -> None:
    shown = tour.partition("Why this fact?")[2].partition("The block")[0]
    contributions = [float(number) for number in re.findall(r"adds ([\d.]+)", shown)]
    [boost] = re.findall(r"multiplies by ([\d.]+):", shown)
    [score] = re.findall(r"final score ([\d.]+)", shown)
    assert len(contributions) == 2
    assert sum(contributions) * float(boost) == pytest.approx(float(score), abs=5e-5)
    assert "and not [f1]: no longer valid, true until 2024-06-15T00:00:00+00:00" in shown


def test_the_block_for_the_prompt_is_shown(tour: str) -> None:
    block = tour.partition("The block for a prompt")[2]
    assert re.search(r"  ## memory\n  - \[f\d+\] house meeting: .*Wednesdays at 19:30", block)


def test_a_question_of_ones_own_is_answered() -> None:
    done = run_demo("--ask", "Who is the plumber for the boiler?")
    assert "Ms Duarte, 555-0178" in done.stdout


def write_odd_folder(root: Path) -> None:
    (root / "guide.md").write_text(
        "# Watering\n\nFerns want rain water.\n\n## Feeding ##\n\n```sh\n# no heading\n```\n\n"
        + "Compost in spring. " * 400
    )
    (root / "notes.TXT").write_bytes("\ufeffThe gate sticks.\r\n\r\nOil it in May.".encode())
    (root / "empty.md").write_text("")
    (root / "blank.txt").write_text(" \n\n ")
    (root / "binary.md").write_bytes(b"# A\0B")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "huge.txt").write_bytes(b"a " * 3_000_000)
    (root / "photo.jpg").write_bytes(b"\xff\xd8")
    (root / "folder.md").mkdir()
    (root / "gone.md").symlink_to(root / "nowhere.md")
    (root / "loop").symlink_to(root)
    lines = [
        '{"time": "2023-01-01", "speaker": "Ada", "text": "The shed key is red.", "key": "shed"}',
        "{broken",
        '["no", "object"]',
        '{"speaker": "Ada"}',
        '{"text": "when?", "time": "tomorrow"}',
        "[" * 100_000,
        json.dumps({"text": "half a \ud83d pair"}),
        json.dumps({"author": "Ben", "content": "long " * 1_000, "timestamp": 1672531200000}),
        "",
        '{"date": "2023-06-01T10:00:00", "user": "Ada", "message": "Now blue.", "key": "shed"}',
    ]
    (root / "chat.jsonl").write_text("\n".join(lines))


def test_a_folder_of_odd_files_is_loaded_as_far_as_it_can_be(tmp_path: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    write_odd_folder(root)
    done = run_demo("--docs", str(root))
    assert (done.returncode, done.stderr) == (0, "")
    for note in (
        "mine/empty.md: skipped, nothing in it to remember",
        "mine/blank.txt: skipped, nothing in it to remember",
        "mine/binary.md: skipped, binary",
        "mine/latin.txt: skipped, not UTF-8 at byte 3",
        "mine/huge.txt: skipped, 6,000,000 bytes, over the limit of 5,000,000",
        "mine/photo.jpg: skipped, not Markdown",
        "mine/gone.md: skipped, not a regular file",
        "mine/chat.jsonl: 5 lines skipped; line 2 is not JSON",
        "mine/chat.jsonl: a piece was skipped, text has a lone surrogate",
    ):
        assert f"note: {note}" in done.stdout
    assert re.search(r"^ +10  mine/guide\.md$", done.stdout, re.MULTILINE)
    assert re.search(r"^ +2  mine/notes\.TXT$", done.stdout, re.MULTILINE)
    assert re.search(r"  Watering\n    Watering: Ferns want rain water", done.stdout)
    assert re.search(r"2023-01-01: The shed key is red.\n  from 2023-06-01: Now blue", done.stdout)


def test_one_file_and_a_question(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tea\n\nSteep sencha at seventy degrees.\n\n# Rye\n\nBread.")
    done = run_demo("--docs", str(tmp_path / "a.md"), "--ask", "how hot for sencha?")
    assert "  how hot for sencha?\n    Tea: Steep sencha at seventy degrees. " in done.stdout


def test_a_missing_folder_is_named() -> None:
    done = run_demo("--docs", "/no/such/folder")
    assert done.returncode == 2
    assert done.stderr == "/no/such/folder does not exist; give a folder or a file\n"


def test_a_folder_without_text_is_reported(tmp_path: Path) -> None:
    done = run_demo("--docs", str(tmp_path))
    assert done.returncode == 1
    assert "Nothing to remember in" in done.stderr


def test_cutting_loses_no_word(tmp_path: Path, sources: ModuleType) -> None:
    words = [f"word{number}" for number in range(3_000)] + ["x" * 2_500]
    (tmp_path / "long.txt").write_text(" ".join(words))
    pieces, notes = sources.read_sources([tmp_path])
    assert notes == []
    assert max(len(piece.text) for piece in pieces) <= sources.MAX_PIECE
    assert "".join(piece.text for piece in pieces).replace(" ", "") == "".join(words)


def test_the_chat_of_the_repository_has_no_problem(sources: ModuleType) -> None:
    chat = SCRIPTS.parent / "notebooks" / "data" / "chat.jsonl"
    pieces, notes = sources.read_sources([chat])
    assert notes == []
    assert all(piece.time and piece.entity for piece in pieces)
    assert len(pieces) == len(chat.read_text().splitlines())
