"""Pages that commands write parts of, and people the rest."""

import re

CLOSING = "<!-- end of the run -->"


def put_section(page: str, name: str, lines: str, before: str = "") -> str:
    """Return a page with what a run tells, in the place of what the run before of its name told.

    Args:
        page: What is there.
        name: Of the run; markers around the section have it, which readers do not see.
        lines: What the run tells.
        before: The mark that new sections go before; by default they go to the end.

    >>> print(put_section("# Found", "today", "Nothing."), end="")
    # Found
    <BLANKLINE>
    <!-- run: today -->
    <BLANKLINE>
    Nothing.
    <BLANKLINE>
    <!-- end of the run -->
    """
    opening = f"<!-- run: {name} -->"
    section = f"{opening}\n\n{lines.strip()}\n\n{CLOSING}"
    known = re.compile(re.escape(opening) + f".*?{CLOSING}", re.DOTALL)
    if known.search(page):
        return known.sub(lambda _: section, page)
    if before:
        return page.replace(before, f"{section}\n\n{before}")
    return f"{page.rstrip()}\n\n{section}\n"
