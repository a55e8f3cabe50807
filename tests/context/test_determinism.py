"""Equal requests give equal bytes in every process."""

import os
import subprocess
import sys

PROGRAM = """
from plugmem_core.context import ContextCompiler

words = ["oil", "pump", "valve", "never 1 2 3", "https://x.y", "up\\nup", "Oil", "word " * 99]
fragments = [
    {"content": word, "kind": kind, "metadata": {"b": 1, "a": 2, "cache": kind is None}}
    for word in words
    for kind in (None, "log", "code")
]
asked = {
    "query": "valve oil pump of the 3 bars",
    "fragments": fragments,
    "token_budget": 150,
    "target_model": "m",
    "policy": {"pricing": {"version": "1", "currency": "EUR", "models": {"m": 1, "n": 2}}},
}
print(ContextCompiler().compile(asked).model_dump_json())
turns = "System: be brief\\nUser: " + "up\\n" * 9 + "```\\ncode\\n```\\nAI: done"
asked = {"query": "code", "transcript": turns, "token_budget": 20}
print(ContextCompiler().compile_transcript(asked).model_dump_json())
"""


def test_results_do_not_depend_on_the_seed_of_hashes() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(printed) == 1
    assert b'"content"' in printed.pop()
