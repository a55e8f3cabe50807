"""Names in prose: runs of capitalised words, identifiers, quoted titles."""

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from plugmem_core.extraction.prose.lexemes import Lexeme, Sentence, is_initial
from plugmem_core.extraction.prose.words import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    CALENDAR,
    DOUBTING,
    IMPERATIVES,
    NOT_NAMES,
    PARTICLES,
    PAST,
    SINGULAR,
    STARTERS,
    UNCOUNTED,
)

MAX_WORDS = 6
"""Most words of a name; longer runs are headlines."""

MAX_QUOTED = 24
"""Most lexemes between quotation marks; longer ones are speech."""

_QUOTES = {"“": "”", "„": "“”", "«": "»", "‹": "›", "「": "」", "『": "』", "《": "》", '"': '"'}
_CLOSING = frozenset("".join(_QUOTES.values()))
_SPEECH = frozenset(".,:;!?…。")
_ABSTRACT = ("tion", "sion", "ment", "ness", "ity", "ism", "ance", "ence", "ing", "ship", "ture")
_PLURAL = ("s", "people")


class Run(NamedTuple):
    """A run of capitalised words: the places of its first and last lexeme."""

    first: int
    last: int
    initial: bool  # whether it begins a sentence, where any word has a capital
    heading: bool  # whether it is a line of its own, or a label before a colon


def find_quoted(lexemes: list[Lexeme]) -> Iterator[tuple[int, int]]:
    """Yield the places of the first and last lexeme of each quoted name.

    What is quoted is a name if it is short, begins with a capital or in a script without
    case, and is no sentence; what a comma or colon introduces is somebody's speech.
    """
    place = 0
    while place < len(lexemes):
        close = _closing(lexemes, place)
        if close is None:
            place += 1
            continue
        if not _is_introduced(lexemes, place) and _is_title(lexemes[place + 1 : close]):
            yield place + 1, close - 1
        place = close + 1


def find_runs(lexemes: list[Lexeme], sentences: list[Sentence], taken: set[int]) -> Iterator[Run]:
    """Yield the runs of capitalised words that may be names, in order.

    A run takes in small words between capitals (University of Bern) and initials
    (J. R. R. Tolkien). What is `taken` belongs to no run.
    """
    for sentence in sentences:
        shouted = _is_shouted(lexemes, sentence)
        capitals = {
            place
            for place in range(sentence.first, sentence.stop)
            if place not in taken and _is_capital(lexemes[place], shouted=shouted)
        }
        # Looked for once, and not before each run: a long text may be one sentence.
        opening = _first_word(lexemes, sentence)
        place = sentence.first
        while place < sentence.stop:
            if place not in capitals:
                place += 1
                continue
            last = _run_end(lexemes, place, sentence.stop, capitals)
            yield _run(lexemes, place, last, sentence, begins=place == opening)
            place = last + 1


def choose_names(
    lexemes: list[Lexeme], runs: list[Run], parts: Set[Run] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Yield the places of the first and last lexeme of each run that is a name.

    Args:
        lexemes: The text.
        runs: What may be names.
        parts: Those that stand beside a known name: they may be the rest of a longer one, so
            they are names only if they are elsewhere.
    """
    plain = {lexeme.text for lexeme in lexemes if lexeme.text.islower()}
    whole = [run for run in runs if run not in parts]
    inside = {
        lexemes[place].text
        for run in whole
        if not run.heading
        for place in range(run.first + run.initial, run.last + 1)
    }
    # Who does something in one sentence is a name in the others, too.
    inside |= {
        lexemes[run.first].text
        for run in whole
        if run.first == run.last and _is_subject(lexemes, run.first, inside, plain)
    }
    for run in runs:
        chosen = _trimmed(lexemes, run, inside, plain)
        if chosen is not None and (run not in parts or _is_all_in(lexemes, chosen, inside)):
            yield chosen


def find_parts(
    lexemes: list[Lexeme],
    sentences: list[Sentence],
    runs: list[Run],
    known: Iterable[tuple[int, int]],
) -> set[Run]:
    """Return the runs that would be one name with a known one: `City` in New York City."""
    stops = {
        place: sentence.stop
        for sentence in sentences
        for place in range(sentence.first, sentence.stop)
    }
    spans = list(known)
    behind = {_joined(lexemes, last, stops[last]) for _, last in spans}
    begun = {first for first, _ in spans}
    return {
        run
        for run in runs
        if run.first in behind or _joined(lexemes, run.last, stops[run.last]) in begun
    }


def is_identifier(word: str) -> bool:
    """Return whether a word is spelled as no plain word is: `iPhone`, `ISO-27001`, `C++`."""
    return any(letter.isupper() for letter in word) and (
        word.endswith(("+", "#"))
        or any(letter.isdigit() for letter in word)
        or any(letter.isupper() for part in word.split("-") for letter in part[1:])
    )


def is_verb(word: str) -> bool:
    """Return whether a word has the form of an English verb in the third person or the past."""
    if word in AUXILIARIES or word in PAST:
        return True
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return False
    return word.endswith("ed") or (word[-1] == "s" and not word.endswith(("ss", "us", "is")))


def after_adverbs(words: list[str]) -> list[str]:
    """Return words without those that may stand before a verb: `never`, `no longer`."""
    start = 0
    while start < len(words):
        if words[start : start + 2] == ["no", "longer"]:
            start += 2
        elif words[start] in ADVERBS or words[start] in DOUBTING:
            start += 1
        else:
            break
    return words[start:]


def _closing(lexemes: list[Lexeme], place: int) -> int | None:
    """Return the place of the mark that closes the quotation that opens here."""
    closing = _QUOTES.get(lexemes[place].text)
    if closing is None or lexemes[place].kind != "mark":
        return None
    for other in range(place + 1, min(place + MAX_QUOTED + 2, len(lexemes))):
        if lexemes[other].kind == "mark" and lexemes[other].text in closing:
            return other
    return None


def _is_introduced(lexemes: list[Lexeme], place: int) -> bool:
    """Return whether a comma or colon stands before a quotation; in a list, another one does."""
    before = [lexeme.text for lexeme in lexemes[max(place - 2, 0) : place]]
    listed = before[0] in _CLOSING if len(before) == 2 else False
    return before[-1:] in ([","], [":"]) and not listed


def _is_title(quoted: list[Lexeme]) -> bool:
    words = [lexeme for lexeme in quoted if lexeme.kind == "word"]
    if not words or any(lexeme.text in _SPEECH for lexeme in quoted):
        return False
    first = words[0].text
    caseless = first.lower() == first.upper() and first[0].isalpha()
    if caseless:
        return True
    plain = len(words) == 1 and first.lower() in STARTERS
    return first[0].isupper() and not plain and len(words) <= MAX_WORDS


def _is_capital(lexeme: Lexeme, *, shouted: bool) -> bool:
    word = lexeme.text
    lower = word.lower()
    if lexeme.kind != "word" or lower in CALENDAR or lower in NOT_NAMES:
        return False
    if not word[0].isalpha() or not any(letter.isupper() for letter in word):
        return False
    if shouted and word.isupper():
        return False
    if not word[0].isupper():
        return is_identifier(word)
    # Not "Stand-up" or "Bern-based"
    parts = [part for part in word.split("-") if part]
    return all(not part[0].islower() or part in PARTICLES for part in parts)


def _is_shouted(lexemes: list[Lexeme], sentence: Sentence) -> bool:
    words = [
        lexeme.text
        for lexeme in lexemes[sentence.first : sentence.stop]
        if lexeme.kind == "word" and len(lexeme.text) > 1 and lexeme.text.isalpha()
    ]
    loud = sum(word.isupper() for word in words)
    return loud >= 3 and 2 * loud > len(words)


def _run_end(lexemes: list[Lexeme], place: int, stop: int, capitals: set[int]) -> int:
    last = place
    while (following := _joined(lexemes, last, stop)) in capitals:
        last = following
    return last


def _joined(lexemes: list[Lexeme], place: int, stop: int) -> int:
    """Return the place of the word that would go on with a name; `stop` if there is none."""
    following = place + 1
    if following >= stop:
        return following
    mark = lexemes[following].text
    if mark == "." and is_initial(lexemes[place].text):
        return following + 1
    if mark == "&":
        return following + 1
    while following < min(place + 3, stop) and lexemes[following].text in PARTICLES:
        following += 1
    # "of the", but no other article inside a name
    lone = following > place + 1 and lexemes[place + 1].text == "the"
    return stop if lone else following


def _first_word(lexemes: list[Lexeme], sentence: Sentence) -> int | None:
    places = range(sentence.first, sentence.stop)
    return next((place for place in places if lexemes[place].kind != "mark"), None)


def _run(lexemes: list[Lexeme], first: int, last: int, sentence: Sentence, *, begins: bool) -> Run:
    quoted = first > sentence.first and lexemes[first - 1].text in _QUOTES
    closed = all(lexemes[place].text == ":" for place in range(last + 1, sentence.stop))
    label = sentence.end in ("\n", ":") and closed
    return Run(first, last, begins or quoted, begins and label)


def _trimmed(
    lexemes: list[Lexeme], run: Run, inside: set[str], plain: set[str]
) -> tuple[int, int] | None:
    """Return the part of a run that is a name, if any is."""
    first, initial = run.first, run.initial
    while first < run.last and _leads(lexemes, first, inside, plain, initial=initial):
        first, initial = _after(lexemes, first, run.last), False
    words = [lexeme.text for lexeme in lexemes[first : run.last + 1] if lexeme.kind == "word"]
    if len(words) > MAX_WORDS or (run.heading and not inside.issuperset(words)):
        return None
    if len(words) > 1:
        return first, run.last
    return (first, run.last) if _stands(lexemes, first, inside, initial=initial) else None


def _leads(
    lexemes: list[Lexeme], place: int, inside: set[str], plain: set[str], *, initial: bool
) -> bool:
    """Return whether a word only stands before a name."""
    word = lexemes[place].text
    lower = word.lower()
    if lower in ARTICLES:
        return True
    if not initial or is_identifier(word):
        return False
    gerund = len(word) > 4 and word.endswith("ing")
    some = word.endswith("s") and lexemes[place + 1].text == "of"  # Shares of Apple
    led = lower in STARTERS or lower in PAST or lower in IMPERATIVES
    return led or (word not in inside and (lower in plain or gerund or some))


def _after(lexemes: list[Lexeme], place: int, last: int) -> int:
    """Return the place of the next capital of a run."""
    place += 1
    while place <= last and lexemes[place].text.islower():
        place += 1
    return place


def _stands(lexemes: list[Lexeme], place: int, inside: set[str], *, initial: bool) -> bool:
    """Return whether a single word is a name."""
    word = lexemes[place].text
    if len(word) == 1 or word.lower() in ARTICLES:
        return False
    return not initial or is_identifier(word) or word in inside


def _is_all_in(lexemes: list[Lexeme], span: tuple[int, int], names: set[str]) -> bool:
    first, last = span
    return all(lexemes[place].text in names for place in range(first, last + 1))


def _is_subject(lexemes: list[Lexeme], place: int, names: set[str], plain: set[str]) -> bool:
    """Return whether a word that begins a sentence is the name of who does something.

    An English noun in the singular has an article unless it is a name, or names what is not
    counted. So a lone word before a verb in the third person, a possessive, or a relative
    clause about a person is a name, if it is no such noun and no plural.
    """
    word = lexemes[place].text.lower()
    following = after_adverbs([lexeme.text for lexeme in lexemes[place + 1 : place + 6]])
    common = word in STARTERS or word in UNCOUNTED or word in plain or word.endswith(_ABSTRACT)
    if common or not following:
        return False
    if following[0] in ("'s", "’s") or following[:2] == [",", "who"]:
        return True
    if following[0] == "and" and len(following) > 1:
        return following[1] in names and not word.endswith(_PLURAL)
    return _does(word, following)


def _does(word: str, following: list[str]) -> bool:
    verb = following[0]
    if not is_verb(verb):
        return False
    if verb in AUXILIARIES:
        return verb in SINGULAR or not word.endswith(_PLURAL)
    if len(following) > 1 and (following[1] in AUXILIARIES or following[1] == ":"):
        return False  # "Garden tools are", "Release notes:"; what looked like a verb is a plural
    return verb[-1] == "s" or not word.endswith(_PLURAL)
