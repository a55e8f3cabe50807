"""A plot of lines over two logarithmic axes, as SVG, which needs no package."""

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT, TOP = 720, 400, 60, 40, 190, 20
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")


def log_log_plot(lines: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> str:
    """Return the SVG of some lines.

    Args:
        lines: Points by label; all coordinates are positive.
        x: What the horizontal axis shows.
        y: What the vertical one shows.

    >>> log_log_plot({"text": [(10, 1), (100, 10)]}, "facts", "µs").count("<polyline")
    1
    """
    across = _axis([point[0] for points in lines.values() for point in points])
    up = _axis([point[1] for points in lines.values() for point in points])
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(point: tuple[float, float]) -> tuple[float, float]:
        right = (math.log10(point[0]) - across[0]) / (across[1] - across[0])
        above = (math.log10(point[1]) - up[0]) / (up[1] - up[0])
        return LEFT + right * wide, TOP + (1 - above) * high

    parts = []
    for power in range(across[0], across[1] + 1):
        at, _ = place((10.0**power, 10.0 ** up[0]))
        parts.append(_rule(at, TOP, at, TOP + high))
        parts.append(_text(at, HEIGHT - BOTTOM + 18, f"{10**power:,} {x}", "middle"))
    for power in range(up[0], up[1] + 1):
        _, at = place((10.0 ** across[0], 10.0**power))
        parts.append(_rule(LEFT, at, LEFT + wide, at))
        parts.append(_text(LEFT - 6, at + 4, f"{10.0**power:g} {y}", "end"))
    for number, (label, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        joined = " ".join(f"{right:.1f},{down:.1f}" for right, down in map(place, points))
        parts.append(
            f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(_text(LEFT + wide + 12, TOP + 16 + 18 * number, label, "start", colour))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([svg, ground, *parts, "</svg>\n"])


def _axis(values: list[float]) -> tuple[int, int]:
    """Return the powers of ten that an axis begins and ends with."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {where}>{escape(text)}</text>"
