"""Tables in Markdown that can be read as they are, too."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers.

    >>> print(table(["system", "recall"], [["ours", "0.5"]]))
    | system | recall |
    |--------|-------:|
    | ours   |    0.5 |
    """
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    rule = [
        "-" * (width + 2) if at == 0 else "-" * (width + 1) + ":" for at, width in enumerate(widths)
    ]
    lines = [_line(head, widths), f"|{'|'.join(rule)}|", *(_line(row, widths) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return f"| {' | '.join(padded)} |"
