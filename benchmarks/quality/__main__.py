"""Which facts come first: ours and peers, over collections of questions with known answers.

python -m benchmarks.quality --data FOLDER [--encoder none|hashing|wordllama|minilm]
                             [--cache FOLDER] [--collections NAME,…] [--systems PATTERN,…]
                             [--baseline NAME] [--tune] [--json FILE] [--markdown FILE]

FOLDER is a collection, or has one in each of its folders: locomo.json, or corpus.jsonl,
queries.jsonl and qrels.tsv (or qrels/test.tsv), the format of BEIR. See docs/quality.md.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.embedders import EMBEDDERS
from benchmarks.quality.evaluation import evaluate
from benchmarks.quality.report import report
from benchmarks.quality.systems import NO_ENCODER
from benchmarks.sections import put_section

TITLE = "# Retrieval quality\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    options = vars(_parser().parse_args(arguments))
    json_file, markdown_file = options.pop("json"), options.pop("markdown")
    told = evaluate(options.pop("data"), **options)
    text = report(told)
    print(text)
    if json_file:
        json_file.write_text(json.dumps(told, indent=1), encoding="utf-8")
    if markdown_file:
        page = markdown_file.read_text(encoding="utf-8") if markdown_file.exists() else TITLE
        page = put_section(page, told["about"]["encoder"], text)
        markdown_file.write_text(page, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--encoder", choices=[NO_ENCODER, *EMBEDDERS], default=NO_ENCODER)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where vectors are kept")
    parser.add_argument(
        "--collections", type=_names, default=(), metavar="NAME,…", help="all by default"
    )
    parser.add_argument(
        "--systems",
        type=_names,
        default=("*",),
        metavar="PATTERN,…",
        help="names, with * and ?, or such as tuned:text_share=0.5;link_boost=0; all by default",
    )
    parser.add_argument("--baseline", metavar="NAME", help="what others are compared with")
    parser.add_argument("--tune", action="store_true", help="choose weights by cross-validation")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="put the tables of this encoder there"
    )
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


if __name__ == "__main__":
    main()
