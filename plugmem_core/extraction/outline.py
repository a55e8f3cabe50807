r"""`OutlineExtractor`: facts, relations and attributes written down line by line.

| line                                 | says                                           |
|--------------------------------------|------------------------------------------------|
| `edge: subject | predicate | object` | a relation                                     |
| `attr: entity | key | value`         | an attribute; the value is JSON                |
| `fact: text | topic, topic`          | a fact; `fact:` and the topics may be left out |
| blank                                | nothing                                        |

Parts are trimmed. Entities and topics are in lower case; predicates, keys and texts stay as
they are written. A part has no `|`; within JSON it is written `\u007c`. Keys that begin with
`_plugmem_` are the memory's own.
"""

import json
from typing import NoReturn

from pydantic import JsonValue

from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.extraction.protocol import (
    Attribute,
    ExtractedFact,
    Graph,
    Relation,
    canonical,
    check_passage,
)
from plugmem_core.inputs import check_metadata
from plugmem_core.model import RESERVED

MAX_ATTRIBUTE_BYTES = 65_536
"""Longest attribute, in bytes of JSON: an object of its key and its value."""

_EDGE = "edge: subject | predicate | object"
_ATTR = "attr: entity | key | value"
_FACT = "fact: text | topic, topic"


class OutlineExtractor:
    r"""Reads an outline: no model, no network, nothing guessed.

    One line that breaks the format refuses the whole passage, so that nothing is lost
    unnoticed. The module says what lines there are.

    >>> graph = OutlineExtractor().extract('''
    ...     Mara moved to Bern in May | Mara, Bern
    ...     edge: Mara | lives in | Bern
    ...     attr: Bern | altitude | 542
    ... ''')
    >>> graph.facts
    (ExtractedFact(text='Mara moved to Bern in May', topics=('mara', 'bern')),)
    >>> graph.relations
    (Relation(subject='mara', predicate='lives in', object='bern'),)
    >>> graph.attributes
    (Attribute(entity='bern', key='altitude', value=542),)
    """

    def extract(self, text: str) -> Graph:
        """Return what an outline says.

        Raises:
            WrongTypeError: It is no `str`.
            InvalidInputError: A line breaks the format; the message has its number, from 1 on.
            TooLargeError: The passage, or an attribute, is too long.
        """
        facts: list[ExtractedFact] = []
        relations: list[Relation] = []
        attributes: list[Attribute] = []
        for number, line in enumerate(check_passage(text).split("\n"), start=1):
            line = line.strip()
            if line.startswith("edge:"):
                subject, predicate, target = _three(line, number, _EDGE)
                relations.append(Relation(canonical(subject), predicate, canonical(target)))
            elif line.startswith("attr:"):
                entity, key, written = _three(line, number, _ATTR)
                value = _value(key, written, number)
                attributes.append(Attribute(canonical(entity), key, value))
            elif line:
                facts.append(_fact(line, number))
        return Graph(tuple(facts), tuple(relations), tuple(attributes))


def _three(line: str, number: int, form: str) -> list[str]:
    parts = [part.strip() for part in line.partition(":")[2].split("|")]
    if len(parts) != 3:
        _refuse(number, line, f"has {len(parts)} parts; give three: {form}")
    if not all(parts):
        _refuse(number, line, f"has a blank part; give all three: {form}")
    return parts


def _fact(line: str, number: int) -> ExtractedFact:
    text, _, topics = line.removeprefix("fact:").partition("|")
    if not text.strip():
        _refuse(number, line, f"has no text; give one: {_FACT}")
    names = (canonical(topic) for topic in topics.split(","))
    return ExtractedFact(text.strip(), tuple(name for name in names if name))


def _value(key: str, text: str, number: int) -> JsonValue:
    if key.startswith(RESERVED):
        _refuse(
            number,
            key,
            f"has a key of the memory's own; begin it with something else than {RESERVED}",
        )
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        _refuse(number, text, 'has a value that is no JSON; put text in quotes: "like this"')
    check_metadata({key: value}, f"line {number}", max_bytes=MAX_ATTRIBUTE_BYTES)
    return value


def _refuse(number: int, line: str, broken: str) -> NoReturn:
    raise InvalidInputError(f"line {number}, {shown(line)}, {broken}")
