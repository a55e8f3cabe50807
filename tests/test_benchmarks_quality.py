"""The measurement of retrieval: files are read as they are meant, and scores are right."""

import doctest
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Load

from plugmem_core.embed import HashingEmbedder

PASSAGES = [
    ("p1", "Otter Falls", "Otter Falls is a town in Norland. It was founded in 1871."),
    ("p2", "Norland", "Norland is ruled by Queen Ilse, who was crowned in 1990."),
    ("p3", "Tarn", "Tarn is a lake. Nobody lives there."),
    ("p4", "", "Fishing ended in 1955. Boats rest on the shore since."),
    ("p5", "", ""),
]
QUESTIONS = [
    ("q1", "Who rules the land of the town Otter Falls?", {"p1": 1, "p2": 2}),
    ("q2", "When did fishing end?", {"p4": 1}),
    ("q3", "A question without an answer?", {"p3": 0}),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a collection in the format of BEIR."""
    place = tmp_path / "data" / "towns"
    place.mkdir(parents=True)
    passages = [{"_id": one, "title": title, "text": text} for one, title, text in PASSAGES]
    questions = [{"_id": one, "text": text, "category": one} for one, text, _ in QUESTIONS]
    rows = [
        f"{one}\t{doc}\t{grade}" for one, _, graded in QUESTIONS for doc, grade in graded.items()
    ]
    write_lines(place / "corpus.jsonl", [json.dumps(one) for one in passages])
    write_lines(place / "queries.jsonl", [json.dumps(one) for one in questions])
    write_lines(place / "qrels.tsv", rows)
    return place


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def talk() -> dict[str, Any]:
    """Return a conversation of two sessions, and questions about it."""
    return {
        "sample_id": "talk",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "12:05 am on 8 May, 2023",
            "session_1": [
                {"dia_id": "D1:1", "speaker": "Ann", "text": "I bought a kayak."},
                {
                    "dia_id": "D1:2",
                    "speaker": "Bo",
                    "text": "Look!",
                    "blip_caption": "a photo of a heron",
                },
            ],
            "session_2_date_time": "1:56 pm on 1 June, 2023",
            "session_2": [{"dia_id": "D2:1", "speaker": "Ann", "text": "The kayak leaks."}],
            "session_3_date_time": "1:56 pm on 2 June, 2023",
        },
        "qa": [
            {"question": "What leaks?", "evidence": ["D:2:1", "D1:01; D9:9"], "category": 1},
            {"question": "What did Bo show?", "evidence": ["D1:2"], "category": 5},
            {"question": "Who sank?", "evidence": ["D", "D7:7"], "category": 4},
            {"question": "Who swam?", "evidence": [], "category": 4},
        ],
    }


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    place = tmp_path / "talks"
    write_lines(place / "locomo.json", [json.dumps([talk()])])
    return place


@pytest.mark.parametrize(
    "name",
    [
        *("datasets", "intervals", "names", "sections", "tables", "quality.choice"),
        *("quality.locomo", "quality.metrics", "quality.peers"),
    ],
)
def test_docstrings_show_what_their_examples_do(load: Load, name: str) -> None:
    told = doctest.testmod(load(name))
    assert told.attempted > 0
    assert told.failed == 0


# -- collections


def test_a_collection_has_graded_answers_and_leaves_unanswered_questions_out(
    load: Load, folder: Path
) -> None:
    read = load("quality.collections").read_collection(folder)
    assert read.name == "towns"
    assert [one.id for one in read.documents] == ["p1", "p2", "p3", "p4", "p5"]
    assert read.documents[0].text == f"Otter Falls. {PASSAGES[0][2]}"
    assert (read.documents[3].text, read.documents[3].entity) == (PASSAGES[3][2], None)
    asked = [(one.category, dict(one.grades)) for one in read.questions]
    assert asked == [("q1", {"p1": 1, "p2": 2}), ("q2", {"p4": 1})]


def test_judgements_are_also_read_from_the_folder_beir_has_with_their_head(
    load: Load, folder: Path
) -> None:
    rows = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    (folder / "qrels.tsv").unlink()
    write_lines(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *rows])
    dataset = load("datasets").read_dataset(folder)
    assert [dict(one.grades) for one in dataset.questions] == [{"p1": 1, "p2": 2}, {"p4": 1}]


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        (
            "qrels.tsv",
            "q1\tp1",
            r"qrels\.tsv, line 5: 'q1\\tp1' is not question, passage and grade",
        ),
        ("qrels.tsv", "q1\tp1\tgood", "line 5: .* is not question, passage and grade"),
        ("corpus.jsonl", '{"title": "x"}', r"corpus\.jsonl, line 6: .* no JSON object with _id"),
        ("queries.jsonl", "{", r"queries\.jsonl, line 4: '\{' is no JSON object"),
        ("queries.jsonl", "[1]", r"queries\.jsonl, line 4: '\[1\]' is no JSON object"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    load: Load, folder: Path, name: str, line: str, expected: str
) -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(SystemExit, match=expected):
        load("quality.collections").read_collection(folder)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_file_that_is_missing_is_named(load: Load, folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(SystemExit, match=name.replace(".", r"\.")):
        load("quality.collections").read_collection(folder)


def test_a_folder_is_a_collection_or_holds_some(
    load: Load, folder: Path, conversations: Path
) -> None:
    find = load("quality.collections").find_collections
    assert find(folder) == [folder]
    assert find(conversations.parent) == [conversations]
    assert find(folder.parent) == [folder]
    with pytest.raises(SystemExit, match="no collection"):
        find(folder.parent.parent / "none")


def test_turns_have_speaker_session_and_the_time_of_their_session(
    load: Load, conversations: Path
) -> None:
    read = load("quality.collections").read_collection(conversations)
    # 2023-05-08T00:05:00Z and 2023-06-01T13:56:00Z
    first, second = 1_683_504_300_000, 1_685_627_760_000
    assert [tuple(one) for one in read.documents] == [
        ("D1:1", "Ann: I bought a kayak.", "Ann", "talk", "1", first),
        ("D1:2", "Bo: Look! [image: a photo of a heron]", "Bo", "talk", "1", first),
        ("D2:1", "Ann: The kayak leaks.", "Ann", "talk", "2", second),
    ]
    assert {one.now for one in read.questions} == {second + 60_000}


def test_evidence_is_repaired_and_adversarial_questions_are_apart(
    load: Load, conversations: Path
) -> None:
    read = load("quality.collections").read_collection(conversations)
    assert [(one.text, dict(one.grades), one.category, one.apart) for one in read.questions] == [
        ("What leaks?", {"D2:1": 1, "D1:1": 1}, "multi-hop", False),
        ("What did Bo show?", {"D1:2": 1}, "adversarial", True),
    ]


# -- metrics and intervals


def test_scores_are_those_worked_out_by_hand(load: Load) -> None:
    grades = {"a": 3, "b": 1, "c": 1}
    found = ["x", "a", "y", "b", "z", "w", "c"]
    got = load("quality.metrics").measure(found, grades, tokens=12)
    gain = 7 / log2(3) + 1 / log2(5) + 1 / log2(8)
    best = 7 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert got.recall5 == pytest.approx(2 / 3)
    assert got.recall10 == 1.0
    assert got.ndcg10 == pytest.approx(gain / best)
    assert got.mrr10 == 0.5
    assert (got.all5, got.hit5, got.tokens) == (0.0, 1.0, 12.0)


def test_scores_of_nothing_and_of_the_best_order(load: Load) -> None:
    measure = load("quality.metrics").measure
    assert list(measure([], {"a": 1})) == [0.0] * 7
    assert list(measure(["a", "b"], {"a": 2, "b": 1})) == [1.0] * 6 + [0.0]


def test_what_lies_beyond_the_tenth_place_does_not_count(load: Load) -> None:
    found = [f"x{number}" for number in range(10)] + ["a"]
    assert list(load("quality.metrics").measure(found, {"a": 1})) == [0.0] * 7


def test_the_best_gain_is_that_of_as_many_as_are_asked_for(load: Load) -> None:
    grades = {f"a{number}": 1 for number in range(12)}
    assert load("quality.metrics").ndcg([f"a{number}" for number in range(10)], grades, 10) == 1.0


def test_p_is_the_share_of_sign_changes_that_reach_the_gain(load: Load) -> None:
    # Of the 32 ways to choose signs of five equal gains, two reach their sum: 1/16.
    p = load("intervals").permutation_p([0.5] * 5 + [0.0] * 7)
    assert p == pytest.approx(1 / 16, abs=0.01)
    # Of 8 ways, all but those where 3 is against both others: |3 + 1 - 2|, |3 - 1 + 2| reach 2.
    p = load("intervals").permutation_p([3.0, 1.0, -2.0])
    assert p == pytest.approx(6 / 8, abs=0.02)


def test_p_is_one_without_any_gain_and_repeats(load: Load) -> None:
    permutation_p = load("intervals").permutation_p
    assert permutation_p([0.0, 0.0]) == 1.0
    gains = [0.3, -0.1, 0.2, 0.4]
    assert permutation_p(gains) == permutation_p(gains)


# -- vectors


class Counting(HashingEmbedder):
    """Counts what it embeds."""

    def __init__(self) -> None:
        super().__init__(8)
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> list[np.ndarray]:
        self.texts += len(texts)
        return super().embed_documents(texts)


def test_the_same_texts_are_embedded_once(load: Load, tmp_path: Path) -> None:
    cache_of = load("quality.vectors").VectorCache
    embedder = Counting()
    made = cache_of(embedder, tmp_path / "kept").embed(["a b", "c"])
    again = cache_of(embedder, tmp_path / "kept").embed(["a b", "c"])
    assert np.array_equal(made, again)
    assert embedder.texts == 2
    cache_of(embedder, tmp_path / "kept").embed(["a", "b c"])
    assert embedder.texts == 4
    cache_of(embedder, None).embed(["a", "b c"])
    assert embedder.texts == 6


# -- systems


def test_fused_places_are_worth_what_reciprocal_ranks_say(load: Load) -> None:
    # 1/61 + 1/63 > 2/62 > 1/61 > 1/63
    assert load("quality.peers").fuse([[1, 2, 3], [4, 2, 1]]) == [1, 2, 4, 3]


def test_names_are_found_with_their_parentheses_or_without(load: Load) -> None:
    names = load("names").Names(["Tarn (lake)", "Tarn", "Mill (inn)"])
    assert names.find("the mill at Tarn (lake)") == ["Mill (inn)", "Tarn", "Tarn (lake)"]


@pytest.mark.parametrize(
    "system",
    [
        "rank-bm25",
        "dense",
        "reference",
        "tuned",
        "fusion alone",
        "plugmem words",
        "plugmem + links",
    ],
)
def test_each_system_finds_the_passage_with_the_words_of_the_question(
    load: Load, folder: Path, tmp_path: Path, system: str
) -> None:
    prepared = load("quality.systems").Prepared(
        load("quality.collections").read_collection(folder),
        load("quality.vectors").VectorCache(HashingEmbedder(256), None),
    )
    name = "plugmem + entities + links" if system == "plugmem + links" else system
    [chosen] = load("quality.choice").choose_systems([name])
    run = load("quality.measuring").run(chosen, prepared, tmp_path)
    assert [one.mrr10 for one in run.scores] == [1.0, 1.0]
    assert len(run.milliseconds) == 2


@pytest.mark.parametrize("system", ["rank-bm25", "tuned", "plugmem words"])
def test_a_question_sees_its_own_conversation_only(load: Load, tmp_path: Path, system: str) -> None:
    other = talk() | {"sample_id": "other"}
    write_lines(tmp_path / "two" / "locomo.json", [json.dumps([talk(), other])])
    read = load("quality.collections").read_collection(tmp_path / "two")
    prepared = load("quality.systems").Prepared(read)
    [chosen] = load("quality.choice").choose_systems([system])
    with chosen.open(prepared, tmp_path) as ask:
        for place in range(len(read.questions)):
            found = ask(place)
            assert 0 < len(found) == len(set(found)) <= 3


def test_facts_are_recorded_when_they_were_said(
    load: Load, conversations: Path, tmp_path: Path
) -> None:
    read = load("quality.collections").read_collection(conversations)
    [tuned] = load("quality.choice").choose_systems(["tuned"])
    with tuned.open(load("quality.systems").Prepared(read), tmp_path):
        pass
    memory = import_module("plugmem_core").Memory.open(*tmp_path.glob("ours*.db"))
    facts = list(memory.list_facts(namespace=("talk",)))
    assert {(one.key, one.entity, one.recorded_at, one.valid_from) for one in facts} == {
        (one.id, one.entity, one.at, one.at) for one in read.documents
    }
    assert {one.key: one.metadata for one in facts}["D2:1"] == {"session": "2"}
    memory.close()


def test_systems_are_chosen_by_name_by_pattern_and_by_knobs(load: Load) -> None:
    choose = load("quality.choice").choose_systems
    assert [one.name for one in choose(["dense", "rank*", "dense"])] == [
        "dense",
        "rank-bm25",
        "rank fusion",
        "rank fusion + stemming",
    ]
    assert [one.name for one in choose(["tuned:link_boost=0"])] == ["tuned:link_boost=0"]
    with pytest.raises(SystemExit, match="no system 'nonsense'; there are rank-bm25, "):
        choose(["nonsense"])


def test_every_signal_has_a_system_with_it_alone_and_one_without(load: Load) -> None:
    ours = load("quality.ours")
    names = {one.name for one in ours.our_systems()}
    for signal in ours.SIGNALS:
        assert {f"fusion + {signal}", f"tuned - {signal}"} <= names
    load("quality.ours").MemoryConfig(**ours.OFF)  # there are such knobs


# -- the whole measurement


def test_what_cannot_run_is_skipped_and_named(load: Load, folder: Path) -> None:
    told = load("quality").evaluate(
        folder, systems=["dense", "tuned:nonsense=1", "rank-bm25", "tuned:analyzer=klingon"]
    )
    assert list(told["collections"]["towns"]["systems"]) == ["rank-bm25"]
    assert told["skipped"]["dense"] == "it needs an --encoder"
    assert "nonsense" in told["skipped"]["tuned:nonsense=1"]
    assert "klingon" in told["skipped"]["tuned:analyzer=klingon"]


def test_a_system_is_skipped_whose_package_is_missing(
    load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers, choice = load("quality.peers"), load("quality.choice")

    @contextmanager
    def opened(prepared: Any, folder: Path) -> Iterator[Any]:
        yield import_module("no_such_package_anywhere")

    absent = load("quality.systems").System("absent", opened)
    monkeypatch.setattr(choice, "plain_peers", lambda: [absent, *peers.plain_peers()])
    told = load("quality").evaluate(folder, systems=["absent", "rank-bm25"])
    assert told["skipped"] == {"absent": "No module named 'no_such_package_anywhere'"}
    assert "Not measured: absent: No module" in load("quality").report(told)


def test_gains_are_over_the_baseline_and_apart_from_what_is_apart(load: Load) -> None:
    results, metrics = load("quality.results"), load("quality.metrics")
    question = load("quality.collections").Question
    questions = [
        question("?", {"a": 1}, "one"),
        question("?", {"a": 1}, "two"),
        question("?", {"a": 1}, "odd", apart=True),
    ]
    right, wrong = metrics.measure(["a"], {"a": 1}), metrics.measure([], {"a": 1})
    runs = {
        "old": results.Run([wrong, right, right], [1.0, 3.0, 2.0], 0.1),
        "new": results.Run([right, right, wrong], [1.0, 1.0, 1.0], 0.1),
    }
    told = results.sum_up(questions, runs, "old")
    old, new = told["systems"]["old"], told["systems"]["new"]
    assert (told["questions"], told["categories"]) == (2, {"one": 1, "two": 1, "odd": 1})
    assert (old["ndcg10"], new["ndcg10"], old["milliseconds"]) == (0.5, 1.0, 2.0)
    assert "gain" not in old
    assert (new["gain"]["value"], new["gain"]["better"], new["gain"]["worse"]) == (0.5, 1, 0)
    assert new["gain"]["p"] == 1.0  # of one question that differs, either sign is as large
    assert new["categories"]["odd"]["recall5"] == 0.0


def test_the_command_prints_tables_and_writes_what_it_found(
    load: Load, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, page = tmp_path / "found.json", tmp_path / "found.md"
    load("quality.__main__").main(
        [
            *("--data", str(folder.parent), "--encoder", "hashing"),
            *("--systems", "rank-bm25,dense,tuned", "--baseline", "dense"),
            *("--json", str(found), "--markdown", str(page)),
        ]
    )
    printed = capsys.readouterr().out
    assert page.read_text(encoding="utf-8") == (
        f"# Retrieval quality\n\n<!-- run: hashing -->\n\n{printed}\n<!-- end of the run -->\n"
    )
    assert "### towns, 2 questions" in printed
    assert "| nDCG@10 over dense |" in printed
    assert "q1 (1) |" in printed
    told: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    assert told["about"]["encoder"] == "hashing"
    tuned = told["collections"]["towns"]["systems"]["tuned"]
    assert tuned["recall10"] == 1.0  # ten of four passages are all of them
    assert tuned["tokens"] > 0


def test_a_run_takes_the_place_of_the_one_before_and_leaves_the_rest_of_the_page(
    load: Load,
) -> None:
    put = load("sections").put_section
    page = put(put("# Page\n\nWritten by hand.\n", "a", "1"), "b", "2") + "\nAt the end.\n"
    again = put(page, "a", "3\n")
    assert again == page.replace("\n1\n", "\n3\n")
    assert again.startswith("# Page\n\nWritten by hand.\n\n<!-- run: a -->\n\n3\n\n<!-- end")
    assert put("x [end]", "c", "4", before="[end]").endswith("<!-- end of the run -->\n\n[end]")


def test_collections_are_summed_up_side_by_side(load: Load, folder: Path) -> None:
    (folder.parent / "again").mkdir()
    for file in folder.iterdir():
        (folder.parent / "again" / file.name).write_bytes(file.read_bytes())
    told = load("quality").evaluate(folder.parent, systems=["rank-bm25"])
    assert list(told["collections"]) == ["again", "towns"]
    [row] = [line for line in load("quality").report(told).splitlines() if "again" in line][:1]
    assert row.split("|")[2:5] == [" again ", " towns ", " mean "]
    only = load("quality").evaluate(folder.parent, collections=["again"], systems=["rank-bm25"])
    assert list(only["collections"]) == ["again"]
    with pytest.raises(SystemExit, match="no collection 'lakes'; there are again, towns"):
        load("quality").evaluate(folder.parent, collections=["lakes"])


# -- weights


def test_each_fold_leaves_other_questions_out_and_all_are_left_out_once(
    load: Load, folder: Path, conversations: Path, tmp_path: Path
) -> None:
    tuning, systems = load("quality.tuning"), load("quality.systems")
    read = load("quality.collections").read_collection
    towns, talks = (systems.Prepared(read(one)) for one in (folder, conversations))
    both = tuning.make_folds([towns, talks])
    assert [(one.name, list(map(sorted, one.held))) for one in both] == [
        ("towns", [[0, 1], []]),
        ("talks", [[], [0]]),  # the adversarial question does not count
    ]
    assert [list(map(sorted, one.held)) for one in tuning.make_folds([towns])] == [[[0]], [[1]]]
    two = [talk(), talk() | {"sample_id": "other"}]
    write_lines(tmp_path / "two" / "locomo.json", [json.dumps(two)])
    folds = tuning.make_folds([systems.Prepared(read(tmp_path / "two"))])
    assert [(one.name, list(map(sorted, one.held))) for one in folds] == [
        ("talk", [[0]]),
        ("other", [[1]]),
    ]


def test_weights_are_chosen_one_knob_at_a_time_until_none_helps(load: Load) -> None:
    tuning = load("quality.tuning")

    def gains(weights: dict[str, float]) -> list[list[float]]:
        share = abs(weights.get("text_share", 0.45) - 0.6)
        return [[1 - share - abs(weights.get("link_boost", 0.7) - 0.5)]]

    chosen = tuning.choose(gains, lambda got: got[0][0])
    assert chosen == {"text_share": 0.6, "link_boost": 0.5}


def test_weights_are_never_chosen_by_the_questions_they_are_reported_on(
    load: Load, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning, systems = load("quality.tuning"), load("quality.systems")
    prepared = systems.Prepared(load("quality.collections").read_collection(folder))
    monkeypatch.setattr(tuning, "GRID", {"text_share": (0.6,)})
    # The first question gains by the knob, the second loses as much.
    monkeypatch.setattr(
        tuning,
        "_gains",
        lambda scores, _: [0.8, 0.2] if scores == "changed" else [0.5, 0.5],
    )

    class Answers:
        def __init__(self, scores: str) -> None:
            self.scores = scores

    def run(system: Any, prepared: Any, place: Path) -> Answers:
        return Answers(system)

    monkeypatch.setattr(tuning, "run", run)
    monkeypatch.setattr(
        tuning, "our_system", lambda _, knobs: "changed" if "text_share" in knobs else "default"
    )
    told = tuning.cross_validate([prepared], tmp_path)
    assert [(one["weights"], one["chosen"]) for one in told["folds"]] == [
        ({}, 0.5),  # chosen by the second question, which loses
        ({"text_share": 0.6}, 0.2),  # chosen by the first, paid by the second
    ]
    assert (told["default"], told["chosen"]) == (0.5, 0.35)


def test_cross_validation_runs_over_memories_and_is_reported(
    load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load("quality.tuning"), "GRID", {"text_share": (0.4, 0.6)})
    told = load("quality").evaluate(folder, encoder="hashing", systems=["tuned"], tune=True)
    assert told["tuning"]["tried"] == 3
    assert len(told["tuning"]["folds"]) == 2
    report = load("quality").report(told)
    assert "### Weights by cross-validation, 3 tried" in report
    assert "All questions together choose: " in report
