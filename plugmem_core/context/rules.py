"""What is done with a fragment: the first rule of a table that applies."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from plugmem_core.context.logs import repeats
from plugmem_core.context.request import Fragment, Policy, RuleId

Action: TypeAlias = Literal["preserve", "cache", "abstract", "retrieve", "drop"]

NEGATIVE_CONSTRAINTS = (
    "never ",
    "must not",
    "do not",
    "don't",
    "ne pas",
    "ne jamais",
    "jamais ",
)
"""What marks a prohibition, in English and French; a trailing space asks for the end of a word."""

SUPERSEDED: RuleId = "retrieve.screenshot_superseded"
DUPLICATE: RuleId = "drop.duplicate"
NEAR_DUPLICATE: RuleId = "drop.near_duplicate"
EXTERNALIZE: RuleId = "budget.externalize"

_FENCE = "```"
_MANY_VALUES = 3
_with_digit = re.compile(r"[0-9]\S*")  # from the first digit of a token to its end
_PUNCTUATION = bytes(
    ord(" ") if chr(byte) in '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~' else byte for byte in range(256)
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table.

    Attributes:
        id: How decisions name it.
        action: What is done with a fragment it applies to.
        critical: Whether the fragment is packed first, and its loss is a high risk.
        applies: Whether it does.
        reason: Why, for the decision.
    """

    id: RuleId
    action: Action
    critical: bool
    applies: Callable[[Fragment, "Classifier"], bool]
    reason: str


class Classifier:
    """Finds the rule of a fragment, as a policy has it."""

    def __init__(self, policy: Policy) -> None:
        self.normalize = policy.normalize_log_timestamps
        self._phrases = _phrases((*NEGATIVE_CONSTRAINTS, *policy.negative_constraints))
        self._rules = _enabled(policy.disabled_rules)

    def rule_of(self, fragment: Fragment) -> Rule:
        """Return the first enabled rule that applies."""
        return next(rule for rule in self._rules if rule.applies(fragment, self))

    def forbids(self, text: str) -> bool:
        """Return whether a line of the text has one of the phrases that mark a prohibition."""
        prepared = _spaced(text).replace(b"\r\n", b"\n").replace(b"\n", b" \n") + b" "
        return any(phrase in prepared for phrase in self._phrases)


RULES = (
    Rule(
        id="media.atomic",
        action="preserve",
        critical=True,
        applies=lambda fragment, _: fragment.media is not None,
        reason="An image is kept whole.",
    ),
    Rule(
        id="preserve.marked_verbatim",
        action="preserve",
        critical=True,
        applies=lambda fragment, _: fragment.flag("verbatim"),
        reason="It is marked verbatim.",
    ),
    Rule(
        id="cache.stable_prefix",
        action="cache",
        critical=True,
        applies=lambda fragment, _: fragment.flag("cache"),
        reason="It is marked for the stable prefix.",
    ),
    Rule(
        id="preserve.code_fence",
        action="preserve",
        critical=True,
        applies=lambda fragment, _: fragment.kind == "code" or _FENCE in fragment.content,
        reason="It is code.",
    ),
    Rule(
        id="preserve.negative_constraint",
        action="preserve",
        critical=True,
        applies=lambda fragment, classifier: classifier.forbids(fragment.content),
        reason="It forbids something.",
    ),
    Rule(
        id="abstract.log_dedup",
        action="abstract",
        critical=False,
        applies=lambda fragment, classifier: (
            fragment.kind == "log" and repeats(fragment.content, normalize=classifier.normalize)
        ),
        reason="Lines of the log repeat.",
    ),
    Rule(
        id="preserve.exact_values",
        action="preserve",
        critical=True,
        applies=lambda fragment, _: _has_many_values(fragment.content),
        reason="It has several numbers.",
    ),
    Rule(
        id="preserve.url",
        action="preserve",
        critical=True,
        applies=lambda fragment, _: "http://" in fragment.content or "https://" in fragment.content,
        reason="It has a link.",
    ),
    Rule(
        id="preserve.default",
        action="preserve",
        critical=False,
        applies=lambda *_: True,
        reason="No other rule applies.",
    ),
)
"""In the order in which they are tried; the last one cannot be disabled."""


def _enabled(disabled: Collection[str]) -> tuple[Rule, ...]:
    *others, default = RULES
    return (*(rule for rule in others if rule.id not in disabled), default)


def _has_many_values(text: str) -> bool:
    return len(list(islice(_with_digit.finditer(text), _MANY_VALUES))) == _MANY_VALUES


def _phrases(texts: Iterable[str]) -> list[bytes]:
    return [_spaced(text) for text in texts]


def _spaced(text: str) -> bytes:
    # As bytes, because only those are translated fast; UTF-8 keeps ASCII apart from the rest.
    return text.lower().encode().translate(_PUNCTUATION)
