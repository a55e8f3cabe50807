"""The measurements of speed at tiny sizes: what they count is right, and they run."""

import json
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from conftest import Load

ROOT = Path(__file__).parent.parent


def facts_of(corpus: Any) -> list[dict[str, Any]]:
    return list(chain.from_iterable(corpus.batches()))


def test_the_synthetic_corpus_is_shaped_as_it_says(load: Load) -> None:
    corpus = load("corpus").synthetic(2_000, dim=4)
    facts = facts_of(corpus)
    assert len(facts) == 2_000
    assert facts == facts_of(load("corpus").synthetic(2_000, dim=4))
    lengths = [len(fact["text"].split()) for fact in facts]
    assert (min(lengths), max(lengths)) == (18, 30)
    assert all(len(set(fact["tags"])) == 2 and len(fact["links"]) == 1 for fact in facts)
    assert len({fact["entity"] for fact in facts}) <= 100
    assert all(len(fact["vector"]) == 4 for fact in facts)
    years = max(fact["valid_from"] for fact in facts) - min(fact["valid_from"] for fact in facts)
    assert 700 < years / 86_400_000 < 731
    words = Counter(word for fact in facts for word in fact["text"].split())
    (common, most), (_, second), *_ = words.most_common()
    assert common == corpus.common
    assert 1.8 < most / second < 2.4  # 2 ** 1.07 = 2.1


def test_natural_text_becomes_facts_about_titles(load: Load, tmp_path: Path) -> None:
    text = "Otter Falls is a town in the Norland. Its mills were closed in 1955."
    passage = {"_id": "p", "title": "Otter Falls", "text": text}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(passage))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "Which town?"}))
    (tmp_path / "qrels.tsv").write_text("q\tp\t1\n")
    corpus = load("corpus").natural(tmp_path, 10)
    assert [(fact["entity"], fact["text"]) for fact in facts_of(corpus)] == [
        ("Otter Falls", "Otter Falls is a town in the Norland."),
        ("Otter Falls", "Its mills were closed in 1955."),
    ]
    assert corpus.questions == ["Which town?"]


def test_a_budget_is_a_ratio_a_difference_or_a_gain(load: Load) -> None:
    judged, times = load("speed.rows").judged, load("speed.timing").summary([1_000])

    def verdicts(name: str, ours: float, theirs: float, facts: int, dim: int = 0) -> list[bool]:
        values = {"reference": theirs, "ours": ours, "ensemble": theirs}
        both = {"reference": times, "ours": times}
        return [kept for _, kept in judged(name, values, both, facts, dim).verdicts]

    assert verdicts("text", 80, 100, 10_000) == [True]
    assert verdicts("text", 81, 100, 10_000) == [False]
    assert verdicts("text", 61, 100, 100_000) == [False]
    assert verdicts("text", 1, 100, 5_000) == []  # a budget is for one size
    assert verdicts("text + tag", 40, 100, 100_000) == [True, False]  # of p99, 1.0
    assert verdicts("get", 5, 2, 100_000) == [True]
    assert verdicts("get", 5.5, 2, 100_000) == [False]
    assert verdicts("vector", 100, 100, 100_000, 128) == []  # nor for other vectors
    assert verdicts("text + vector", 2, 100, 10_000, 256) == [True]
    assert verdicts("text + vector", 2.1, 100, 10_000, 256) == [False]


def test_everybody_answers_every_item_in_turn(load: Load) -> None:
    asked: list[tuple[str, int]] = []
    asks = {name: lambda item, name=name: asked.append((name, item)) for name in "ab"}
    times = load("speed.timing").in_turn(asks, [1, 2], rounds=2)
    assert asked[:2] == [("a", 1), ("b", 1)]  # nobody's first call counts
    assert asked[2:] == [(name, item) for item in (1, 2, 1, 2) for name in "ab"]
    assert times["a"].calls == times["b"].calls == 4


def test_a_run_measures_all_operations_and_writes_its_tables(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = load("speed.report")
    readme, results = tmp_path / "README.md", tmp_path / "results.json"
    readme.write_text(f"# Before\n\n{report.END}\n\nbehind\n")
    monkeypatch.setattr(report.write_into_readme, "__defaults__", (readme,))
    monkeypatch.setattr(load("speed.concurrency"), "SECONDS", 0.01)
    arguments = ["--facts", "300", "--dim", "8", "--peers", "plugmem,numpy,hnswlib"]
    flags = ["--json", str(results), "--readme", "--stages", "--threads"]
    monkeypatch.setattr(sys, "argv", ["speed", *arguments, *flags])
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    load("speed.__main__").main()
    rows = {row["name"]: row for row in json.loads(results.read_text())["rows"]}
    assert set(rows["vector"]["values"]) == {"reference", "ours", "numpy", "hnswlib"}
    assert set(rows["text"]["values"]) == {"reference", "ours"}
    assert rows["share of the 10 nearest found"]["values"]["ours"] > 0.9
    assert "words" in json.loads(results.read_text())["stages"]["text"]
    once = readme.read_text()
    assert once.startswith("# Before")
    assert once.endswith("behind\n")
    assert once.count("<!-- run: synthetic 300 8 -->") == 1
    report.write_into_readme(json.loads(results.read_text()), readme)
    assert readme.read_text() == once
    assert "text + entity" in capsys.readouterr().out


def test_growth_is_a_table_and_a_plot(load: Load, tmp_path: Path) -> None:
    scaling, report = load("speed.scaling"), load("speed.report")
    point = scaling.Point(1_000, 10_000.0, 5.0, 2_048.0, 4_096.0, {"text": 30.0})
    points = [point._asdict(), point._replace(facts=10_000, recalls={"text": 60.0})._asdict()]
    readme = tmp_path / "README.md"
    readme.write_text(report.END)
    report.write_into_readme({"about": {"python": "3"}, "scale": points}, readme)
    assert "| text, µs | 30 | 60 |" in readme.read_text()
    drawn = ET.fromstring((tmp_path / "scaling.svg").read_text())
    [line] = drawn.iter("{http://www.w3.org/2000/svg}polyline")
    assert len(line.attrib["points"].split()) == 2
