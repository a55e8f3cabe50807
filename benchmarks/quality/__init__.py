"""How well a memory answers: over collections of questions, beside other ways to search."""

from benchmarks.quality.evaluation import evaluate
from benchmarks.quality.report import report

__all__ = ["evaluate", "report"]
