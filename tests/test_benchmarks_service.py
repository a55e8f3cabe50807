"""The measurements of the service at tiny sizes: what they count is right, and they run."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Load

from plugmem_core.embed import HashingEmbedder

PASSAGES = [
    ("p1", "Otter Falls", "Otter Falls is a town in Norland. It was founded in 1871."),
    ("p2", "Norland", "Norland is ruled by Queen Ilse, who was crowned in 1990."),
    ("p3", "Tarn", "Tarn is a lake. Nobody lives there."),
    ("p4", "Tarn", "Fishing at Tarn ended in 1955. Boats rest on the shore since."),
]
QUESTIONS = [
    ("q1", "Who governs the land of the town Otter Falls?", ["p1", "p2"]),
    ("q2", "What happened at Tarn from 1950 to 1960?", ["p4"]),
    ("q3", "A question without an answer?", []),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one collection under the names of two."""
    for name in ("hotpotqa", "timeqa"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        passages = [{"_id": one, "title": title, "text": text} for one, title, text in PASSAGES]
        questions = [{"_id": one, "text": text, "category": "c"} for one, text, _ in QUESTIONS]
        rows = [f"{one}\t{passage}\t1" for one, _, gold in QUESTIONS for passage in gold]
        write_lines(folder / "corpus.jsonl", [json.dumps(one) for one in passages])
        write_lines(folder / "queries.jsonl", [json.dumps(one) for one in questions])
        write_lines(folder / "qrels.tsv", [*rows, "q2\tp3\t0"])
    return tmp_path / "data"


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- intervals and outcomes


def test_a_share_has_the_score_interval_of_the_textbook(load: Load) -> None:
    # 81 of 263, Newcombe 1998, table I: 0.2553 to 0.3662.
    found = load("intervals").wilson(81, 263)
    assert [round(bound, 4) for bound in found] == [0.308, 0.2553, 0.3662]


def test_a_mean_lies_within_its_bootstrap_interval_and_repeats(load: Load) -> None:
    values = [0.0, 0.5, 1.0, 1.0, 0.5, 0.0, 1.0, 0.0]
    found = load("intervals").bootstrap(values)
    assert found.value == 0.5
    # Four fifths of the normal interval, 1.96 · 0.433 / sqrt(8) = 0.3, at least.
    assert found.value - found.low == pytest.approx(0.3, abs=0.06)
    assert found.high - found.value == pytest.approx(0.3, abs=0.06)
    assert load("intervals").bootstrap(values) == found


def test_equal_values_have_no_spread(load: Load) -> None:
    assert list(load("intervals").bootstrap([0.25] * 9)) == [0.25] * 3


def test_outcomes_count_shares_gains_and_groups(load: Load) -> None:
    outcomes = load("outcomes").Outcomes(bases={"new": "old"}, groups=["a", "b"])
    outcomes.add("old", {1}, {1, 2})
    outcomes.add("new", {1, 2, 9}, {1, 2})
    outcomes.add("old", {3}, {3})
    outcomes.add("new", set(), {3})
    told = outcomes.as_json()
    old, new = told["arms"]["old"], told["arms"]["new"]
    assert told["questions"] == 2
    assert (old["recall"].value, new["recall"].value) == (0.75, 0.5)
    assert (old["complete"].value, new["complete"].value) == (0.5, 0.5)
    assert (new["base"], new["gain"].value, new["better"], new["worse"]) == ("old", -0.25, 1, 1)
    assert "base" not in old
    assert told["groups"]["a"] == {"questions": 1, "recall": {"old": 0.5, "new": 1.0}}


# -- collections


def test_questions_that_no_passage_answers_are_left_out(load: Load, data: Path) -> None:
    dataset = load("datasets").read_dataset(data / "timeqa")
    assert [(one.id, sorted(one.gold)) for one in dataset.questions] == [
        ("q1", ["p1", "p2"]),
        ("q2", ["p4"]),
    ]
    assert [one.title for one in dataset.passages] == ["Otter Falls", "Norland", "Tarn", "Tarn"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One sentence that is long. Another one that is long!", 2),
        ("He was born in St. Petersburg, so they say.", 1),
        ("", 0),
    ],
)
def test_sentences_end_at_stops_unless_they_are_short(load: Load, text: str, expected: int) -> None:
    found = load("datasets").sentences(text)
    assert len(found) == expected
    assert " ".join(found) == text


def test_titles_are_mentioned_as_whole_words_only(load: Load) -> None:
    titles = {("tarn",): "Tarn", ("otter", "falls"): "Otter Falls"}
    mentioned = load("names").mentioned
    assert mentioned("From Otter  falls to the TARN, tarn!", titles, 2) == ["Otter Falls", "Tarn"]
    assert mentioned("Otters fall into tarns.", titles, 2) == []


# -- experiments


def test_the_graph_finds_the_passage_that_shares_no_word_with_the_question(
    load: Load, data: Path, tmp_path: Path
) -> None:
    dataset = load("datasets").read_dataset(data / "hotpotqa")
    outcomes = load("multihop").run_multihop(dataset, "passages", HashingEmbedder(256), 2, tmp_path)
    # The first question names p1, which names p2, which has none of the question's rare words.
    assert outcomes.shares["words"][0] == 0.5
    assert outcomes.shares["words + graph"][0] == 1.0
    assert outcomes.about == {"memories": 4, "entities": 3, "edges": 2 * 5}
    assert set(map(len, outcomes.shares.values())) == {2}


def test_a_sentence_stands_for_its_passage(load: Load, data: Path, tmp_path: Path) -> None:
    dataset = load("datasets").read_dataset(data / "hotpotqa")
    outcomes = load("multihop").run_multihop(
        dataset, "sentences", HashingEmbedder(256), 5, tmp_path
    )
    assert outcomes.about["memories"] == 1 + 1 + 1 + 2  # short sentences are none by themselves
    assert outcomes.shares["words and vectors"][1] == 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 1998 to 2004", (1998, 2004)),
        ("in 2004, before that 1998", (1998, 2004)),
        ("1599 and 2100 and 19980 and room 4711", None),
        ("no year", None),
    ],
)
def test_years_are_the_first_and_the_last_of_a_text(
    load: Load, text: str, expected: tuple[int, int] | None
) -> None:
    assert load("timespans").years_of(text) == expected


def test_a_filter_on_years_leaves_other_years_out(load: Load, data: Path, tmp_path: Path) -> None:
    dataset = load("datasets").read_dataset(data / "timeqa")
    outcomes = load("timespans").run_timespans(
        dataset, "passages", "collection", HashingEmbedder(256), 1, tmp_path
    )
    # Only the second question names years, and only p4 is about them.
    assert outcomes.shares["vectors, meets span"] == [1.0]
    assert outcomes.shares["words and vectors, begins in span"] == [1.0]
    assert outcomes.about == {
        "memories": 4,
        "without a year": 1,
        "of the right passages begins span": "100%",
        "of the right passages meets span": "100%",
    }


def test_a_paragraph_without_a_year_takes_the_last_one_of_its_page(
    load: Load, tmp_path: Path
) -> None:
    datasets = load("datasets")
    passages = [
        datasets.Passage("a", "Mill", "The mill burned in 1901 and again in 1905."),
        datasets.Passage("b", "Mill", "It was built anew by the miller's daughter."),
        datasets.Passage("c", "Inn", "The inn was built by the innkeeper's daughter."),
    ]
    asked = datasets.Asked("q", "What was built by whose daughter in 1905?", "", {"b": 1})
    outcomes = load("timespans").run_timespans(
        datasets.Dataset(passages, [asked]),
        "passages",
        "collection",
        HashingEmbedder(256),
        1,
        tmp_path,
    )
    assert outcomes.shares["vectors, begins in span"] == [1.0]
    assert outcomes.about["without a year"] == 1


def test_offices_have_as_many_probes_and_answers_as_described(load: Load) -> None:
    outcomes = load("tenures").run_tenures(HashingEmbedder(64), "vector")
    assert outcomes.about == {"memories": 12 * 3 * 7}
    assert outcomes.groups.count("one answer") == 36
    assert len(outcomes.groups) == 108
    # A window never takes a right answer away, so no question gets worse by it.
    arm = outcomes.as_json()["arms"]["with the years"]
    assert arm["worse"] == 0


def test_headquarters_have_as_many_probes_and_memories_as_described(load: Load) -> None:
    outcomes = load("tenures").run_headquarters(HashingEmbedder(64), "vector")
    assert outcomes.about == {"memories": 10 * 2 * 8 + 10 + 10}
    assert (outcomes.groups.count("one answer"), len(outcomes.groups)) == (20, 40)


def test_a_chain_is_walked_to_its_end(load: Load) -> None:
    outcomes = load("chains").run_chains(HashingEmbedder(256), "vector")
    assert set(outcomes.shares["decision"]) == {1.0}
    assert set(outcomes.shares["problem, why"]) == {1.0}
    assert len(load("chains").chains()) == 24


# -- the context compiler


def test_the_session_is_the_same_each_time_and_has_all_its_facts(load: Load) -> None:
    session = load("session")
    turns = session.turns()
    assert 12 <= len(turns) <= 20
    for one, other in pairwise(turns):
        assert other.transcript.startswith(one.transcript)
    session._whole.cache_clear()
    assert session.turns() == turns
    assert [fact for fact in session.facts() if fact not in turns[-1].transcript] == []


def test_facts_are_found_inline_or_behind_a_handle(load: Load) -> None:
    turn = load("session").Turn(
        "Which valve?",
        "System: Be brief.\nUser: Which valve?\nTool: "
        + "The pump room has a blue door. " * 30
        + "\nAssistant: Valve nine.\n",
    )
    tokens = load("tokens")
    kind = tokens.Kind("estimate", tokens.HeuristicEstimator(), tokens.Policy())
    facts = ["Be  brief", "valve nine", "blue door", "said by nobody"]
    [done] = tokens.run_tokens([turn], facts, kind, 40, len)
    assert (done.inline, done.by_handle, done.lost) == (2, 1, 0)
    assert (done.tokens_in, done.prefix) == (len(turn.transcript), "System: Be brief.\n")
    assert done.tokens_out < 40 * 4
    assert tokens.is_deterministic(turn, kind, 40)


def test_every_fact_of_the_session_survives_every_budget(load: Load) -> None:
    tokens, session = load("tokens"), load("session")
    kind = tokens.Kind("estimate", tokens.HeuristicEstimator(), tokens.Policy())
    for budget in tokens.BUDGETS:
        done = tokens.run_tokens(session.turns()[-2:], session.facts(), kind, budget, len)
        assert [one.lost for one in done] == [0, 0]
        assert done[0].prefix == done[1].prefix != ""


# -- the command


def test_the_command_prints_tables_and_writes_what_it_found(
    load: Load,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load("tokens"), "BUDGETS", (2_000,))
    monkeypatch.setattr(load("tokens"), "REPEATS", 2)
    monkeypatch.setattr(load("tokens"), "find_cl100k", lambda: None)
    monkeypatch.setattr(load("tokens"), "turns", lambda: load("session").turns()[:2])
    monkeypatch.setattr(load("service"), "GENERATED", load("service").GENERATED[-1:])
    file = tmp_path / "found.json"
    load("service").main(
        ["--data", str(data), "--collections", "hotpotqa,timeqa", "--json", str(file)]
    )
    printed = capsys.readouterr().out
    assert "| arm | hotpotqa (2) |" in printed
    assert "| arm | passages, collection (1) | passages, page (1) |" in printed
    assert "lost: 0; equal bytes in 2 repeats: True" in printed
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert told["about"]["embedder"] == "hashing-256"
    arms = told["experiments"]["Several passages, memories are passages"]["hotpotqa"]["arms"]
    assert arms["words"]["recall"][0] == 0.75  # no word leads to the second passage
    assert arms["words + graph"]["recall"] == [1.0, 1.0, 1.0]
    assert told["compiler"]["counted"] == "estimated"
