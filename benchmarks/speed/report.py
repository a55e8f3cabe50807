"""Results as lines on the screen, and as tables between the markers of `benchmarks/README.md`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.sections import put_section
from benchmarks.speed.plot import log_log_plot
from benchmarks.speed.rows import Row
from benchmarks.speed.scaling import Point

README = Path(__file__).parent.parent / "README.md"
PLOT = README.with_name("scaling.svg")
END = "<!-- end of the results -->"


def print_row(row: Row) -> None:
    """Print an operation as soon as it was measured."""
    values = "  ".join(f"{name} {value:,.2f}" for name, value in row.values.items())
    ratio = "" if row.ratio is None else f"  ratio {row.ratio:.2f}"
    print(f"{row.name:28}{values}{ratio}  {_verdicts(row.verdicts)}", flush=True)


def print_point(point: Point) -> None:
    """Print what a size costs."""
    recalls = ", ".join(f"{name} {time:,.0f}" for name, time in point.recalls.items())
    print(
        f"{point.facts:,} facts: {point.load:,.0f} loaded a second, opened in "
        f"{point.open:,.1f} ms, memory {point.memory:,.0f} KiB, "
        f"files {point.files:,.0f} KiB; µs: {recalls}",
        flush=True,
    )


def print_stages(stages: Mapping[str, Mapping[str, float]]) -> None:
    """Print where the time goes."""
    print("\n".join(_stages_table(stages)))


def print_threads(found: Mapping[str, Mapping[str, float]]) -> None:
    """Print what threads gain, and how long an event loop waited."""
    print("\n".join(_threads_lines(found)))


def write_into_readme(results: dict[str, Any], readme: Path = README) -> None:
    """Put the tables of a run in the place of those of the run before, or behind all others."""
    if "scale" in results:
        name, lines = "scale", _scale_lines(results)
        points = {
            label: [(one["facts"], one["recalls"][label]) for one in results["scale"]]
            for label in results["scale"][0]["recalls"]
        }
        readme.with_name(PLOT.name).write_text(log_log_plot(points, "facts", "µs"), "utf-8")
    else:
        name = f"{results['corpus']} {results['facts']} {results['dim']}"
        lines = _run_lines(results)
    text = readme.read_text(encoding="utf-8")
    text = put_section(text, name, "\n".join(lines), before=END)
    readme.write_text(text, encoding="utf-8")


def _run_lines(results: dict[str, Any]) -> list[str]:
    rows = results["rows"]
    peers = list(dict.fromkeys(name for row in rows for name in row["values"]))
    vectors = f", vectors of {results['dim']} components" if results["dim"] else ""
    lines = [
        f"### {results['corpus'].capitalize()}, {results['facts']:,} facts{vectors}",
        "",
        _about(results["about"]),
        "",
        *_table(["", *peers, "ours / reference", "budget"]),
    ]
    for row in rows:
        values = [_number(row["values"].get(name)) for name in peers]
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(_line([row["name"], *values, ratio, _verdicts(row["verdicts"])]))
    lines += ["", "Percentiles in µs, and calls a second one after another:", ""]
    lines += _table(["", "peer", "p50", "p95", "p99", "a second"])
    for row in rows:
        for name in peers:
            if one := row["times"].get(name):
                shown = [_number(one[part]) for part in ("p50", "p95", "p99")]
                lines.append(_line([row["name"], name, *shown, f"{1e6 / one['p50']:,.0f}"]))
    if "stages" in results:
        lines += ["", "Where the time goes, median µs:", "", *_stages_table(results["stages"])]
    if "threads" in results:
        lines += ["", *_threads_lines(results["threads"])]
    return lines


def _scale_lines(results: dict[str, Any]) -> list[str]:
    points = [Point(**one) for one in results["scale"]]
    names = list(points[0].recalls)
    return [
        "### Growth",
        "",
        _about(results["about"]),
        "",
        *_table(["", *(f"{point.facts:,} facts" for point in points)]),
        _line(["loaded a second", *(_number(point.load) for point in points)]),
        _line(["open, ms", *(_number(point.open) for point in points)]),
        _line(["memory of the handle, KiB", *(_number(point.memory) for point in points)]),
        _line(["files, KiB", *(_number(point.files) for point in points)]),
        *(
            _line([f"{name}, µs", *(_number(point.recalls[name]) for point in points)])
            for name in names
        ),
        "",
        f"![median time by number of facts]({PLOT.name})",
    ]


def _stages_table(stages: Mapping[str, Mapping[str, float]]) -> list[str]:
    names = list(dict.fromkeys(stage for times in stages.values() for stage in times))
    lines = _table(["", *stages])
    for name in names:
        times = [f"{one[name]:.1f}" if name in one else "" for one in stages.values()]
        lines.append(_line([name, *times]))
    return lines


def _threads_lines(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    gains = ", ".join(f"{name} {gain:.2f}" for name, gain in found["gain of two threads"].items())
    waits = ", ".join(f"{name} {wait:.2f}" for name, wait in found["event loop, ms"].items())
    return [
        f"Two threads answer so many times as many questions as one: {gains}.",
        "",
        f"An event loop with async calls comes back to another task so many ms late: {waits}.",
    ]


def _about(about: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items() if value != "absent") + "."


def _table(heads: list[str]) -> list[str]:
    return [_line(heads), "|" + "---|" * len(heads)]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _verdicts(verdicts: list[tuple[str, bool]]) -> str:
    return "; ".join(f"{said}: {'kept' if kept else '**missed**'}" for said, kept in verdicts)
