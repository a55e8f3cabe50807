"""The stretches of time that questions name."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plugmem_core.clock import MAX_MS, MIN_MS
from plugmem_core.text.dates import MAX_WINDOWS, windows_in

NOW = "2024-05-15"  # a Wednesday


def ms(day: str) -> int:
    return round(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1_000)


def read(text: str, now: str = NOW) -> list[tuple[str, str]]:
    """First day and the day after the last one, of each window."""
    return [
        (f"{datetime.fromtimestamp(one.start / 1_000, UTC):%Y-%m-%d}",
         f"{datetime.fromtimestamp(one.end / 1_000, UTC):%Y-%m-%d}")
        for one in windows_in(text, ms(now))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did she do on 2023-05-07?", "2023-05-07", "2023-05-08"),
        ("in 2023-05", "2023-05-01", "2023-06-01"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("on the 7th of May, 2023", "2023-05-07", "2023-05-08"),
        ("May 7, 2023", "2023-05-07", "2023-05-08"),
        ("on May 3rd", "2024-05-03", "2024-05-04"),
        ("on June 3rd", "2023-06-03", "2023-06-04"),
        ("on 29 February 2024", "2024-02-29", "2024-03-01"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("early in December 1999", "1999-12-01", "2000-01-01"),
        ("in May", "2024-05-01", "2024-06-01"),
        ("last May", "2023-05-01", "2023-06-01"),
        ("in July", "2023-07-01", "2023-08-01"),
        ("during september", "2023-09-01", "2023-10-01"),
        ("im Januar 2020", "2020-01-01", "2020-02-01"),
        ("en juillet 2021", "2021-07-01", "2021-08-01"),
        ("en septiembre de 2021", "2021-09-01", "2021-10-01"),
        ("el 3 de mayo de 2021", "2021-05-03", "2021-05-04"),
        ("le 3 février 2021", "2021-02-03", "2021-02-04"),
        ("am 3. März 2021", "2021-03-03", "2021-03-04"),
        ("on 25.12.2023", "2023-12-25", "2023-12-26"),
        ("on 12/25/2023", "2023-12-25", "2023-12-26"),
        ("on 5.5.2023", "2023-05-05", "2023-05-06"),
        ("on 3/5/2023", "2023-01-01", "2024-01-01"),
        ("2023/05/07", "2023-05-07", "2023-05-08"),
        ("on May 2", "2024-05-02", "2024-05-03"),
        ("from May to July 2023", "2023-05-01", "2023-08-01"),
        ("from November to January 2023", "2022-11-01", "2023-02-01"),
        ("from May 2021 until July 2023", "2021-05-01", "2023-08-01"),
        ("between March and April", "2024-03-01", "2024-05-01"),
        ("between May and July", "2023-05-01", "2023-08-01"),
        ("in the summer of 2020", "2020-06-01", "2020-09-01"),
        ("winter 2020", "2020-12-01", "2021-03-01"),
        ("in 1984", "1984-01-01", "1985-01-01"),
        ("between 1990 and 1995", "1990-01-01", "1996-01-01"),
        ("from 1990 to 1995", "1990-01-01", "1996-01-01"),
        ("1990–1995", "1990-01-01", "1996-01-01"),
        ("in the 1980s", "1980-01-01", "1990-01-01"),
        ("in the 19th century", "1801-01-01", "1901-01-01"),
        ("in the nineteenth century", "1801-01-01", "1901-01-01"),
        ("in the 90s", "1990-01-01", "2000-01-01"),
        ("1990-95", "1990-01-01", "1996-01-01"),
        ("Q3 2023", "2023-07-01", "2023-10-01"),
        ("in the third quarter of 2023", "2023-07-01", "2023-10-01"),
        ("Q3", "2023-07-01", "2023-10-01"),
        ("Q1", "2024-01-01", "2024-04-01"),
        ("what happened today", "2024-05-15", "2024-05-16"),
        ("yesterday", "2024-05-14", "2024-05-15"),
        ("the day before yesterday", "2024-05-13", "2024-05-14"),
        ("tomorrow", "2024-05-16", "2024-05-17"),
        ("last night", "2024-05-14", "2024-05-15"),
        ("this morning", "2024-05-15", "2024-05-16"),
        ("two days ago", "2024-05-13", "2024-05-14"),
        ("a couple of weeks ago", "2024-04-28", "2024-05-05"),
        ("3 months ago", "2024-02-01", "2024-03-01"),
        ("twenty years ago", "2004-01-01", "2005-01-01"),
        ("a year ago", "2023-01-01", "2024-01-01"),
        ("in the last 3 days", "2024-05-12", "2024-05-16"),
        ("last week", "2024-05-06", "2024-05-13"),
        ("this week", "2024-05-13", "2024-05-20"),
        ("next week", "2024-05-20", "2024-05-27"),
        ("last weekend", "2024-05-11", "2024-05-13"),
        ("last month", "2024-04-01", "2024-05-01"),
        ("this year", "2024-01-01", "2025-01-01"),
        ("last quarter", "2024-01-01", "2024-04-01"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("last spring", "2023-03-01", "2023-06-01"),
        ("this spring", "2024-03-01", "2024-06-01"),
        ("last winter", "2023-12-01", "2024-03-01"),
        ("next autumn", "2024-09-01", "2024-12-01"),
        ("last Friday", "2024-05-10", "2024-05-11"),
        ("last Wednesday", "2024-05-08", "2024-05-09"),
        ("next Friday", "2024-05-17", "2024-05-18"),
        ("on Friday", "2024-05-10", "2024-05-11"),
        ("on Wednesday", "2024-05-15", "2024-05-16"),
        ("this Monday", "2024-05-13", "2024-05-14"),
    ],
)  # fmt: skip
def test_a_date_is_the_stretch_it_names(text: str, start: str, end: str) -> None:
    assert read(text)[:1] == [(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        "may I march on?",
        "so that they may 2 times a day",
        "past the last post",
        "what does Mara drink",
        "route 66 and the 13",
        "it lasts this long",
        "the 9th century",
        "call 555-2023-11",
        "12345 and 999",
        "",
    ],
)
def test_what_is_no_date_names_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("before 1990", (1985, 1990)),
        ("after 1990", (1990, 1995)),
        ("since 2001", (2001, 2024)),
        ("from 2004 to 2005", (2004, 2005)),
        ("before May 1990", (1985, 1990)),
        ("since May 2001", (2001, 2024)),
        ("since May", None),
        ("from May to June 2004", (2004, 2004)),
        ("winter 2004", (2004, 2005)),
        ("in March 1985", (1985, 1985)),
        ("on May 3rd", None),
        ("last year", None),
    ],
)
def test_a_year_that_is_named_is_looked_for_in_texts(
    text: str, years: tuple[int, int] | None
) -> None:
    assert [one.years for one in windows_in(text, ms(NOW))] == [years]


def test_a_span_of_months_in_several_years_is_itself_and_both_its_ends() -> None:
    found = windows_in("from Nov 2021 to Feb 2023", ms(NOW))
    assert [one.years for one in found] == [None, (2021, 2021), (2023, 2023)]
    assert (found[0].start, found[0].end) == (ms("2021-11-01"), ms("2023-03-01"))
    assert (found[1].end, found[2].start) == (ms("2021-12-01"), ms("2023-02-01"))


def test_open_ends_reach_to_the_ends_of_time() -> None:
    [before] = windows_in("before 1990", ms(NOW))
    [since] = windows_in("since 1990", ms(NOW))
    [month] = windows_in("since March 1990", ms(NOW))
    assert (month.start, month.end) == (ms("1990-03-01"), MAX_MS)
    assert (before.start, before.end) == (MIN_MS, ms("1990-01-01"))
    assert (since.start, since.end) == (ms("1990-01-01"), MAX_MS)


def test_a_question_may_name_several_but_each_once() -> None:
    found = read("Was it 3 May 2023 or in June 2021, or in 1999?")
    assert found == [
        ("2023-05-03", "2023-05-04"), ("2021-06-01", "2021-07-01"), ("1999-01-01", "2000-01-01"),
    ]  # fmt: skip


PIECES = """
    in may 31 february 2023 1990 to between and before q3 ago two last next friday week summer
    century 19th the 1980s 90s since on monday night from spring 25.12.2023
    - , yesterday 0 99 9999 2099 december year
"""


@given(
    st.lists(st.sampled_from(PIECES.split()), max_size=8).map(" ".join) | st.text(max_size=60),
    st.integers(MIN_MS, MAX_MS),
)
@example("999 years ago", MIN_MS)
@example("next year", MAX_MS)
@example("december 2099", MAX_MS)
def test_any_text_at_any_instant_names_whole_windows(text: str, now: int) -> None:
    found = windows_in(text, now)
    assert len(found) <= MAX_WINDOWS
    for one in found:
        assert MIN_MS <= one.start < one.end <= MAX_MS + 1
        assert one.years is None or 1_000 <= one.years[0] <= one.years[1] <= 2_199
