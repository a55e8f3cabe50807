"""Random histories: what an untidy user might do to a memory, and ask of it.

The vocabulary is small on purpose. Words, tags, relations and entities share names, because the
reference keeps one dictionary for all of them and walks edges in its order; instants repeat,
because ties are where two engines part.

What the two engines are meant to do differently (`test_differences.py`) is not generated here.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

from .operations import (
    AddLink,
    Forget,
    Link,
    Maintain,
    NewFact,
    Operation,
    Recall,
    Remember,
    RememberGuarded,
    RememberMany,
    RemoveTag,
    Reopen,
    Revise,
    Unlink,
    Vector,
    Write,
)

T = TypeVar("T")
State: TypeAlias = Literal["current", "closed", "forgotten"]

DAY = 86_400_000
START = 1_700_000_000_000  # 2023-11-14T22:13:20Z

# fmt: off
WORDS = (
    "the", "pump", "near", "valve", "feeds", "tank", "owns", "a", "report", "Nadia", "leaks", "red",
    "green", "tea", "market", "drain", "north", "greenhouse", "Owen", "moved", "keys", "desk",
    "two", "don't", "café", "3.14", "gpt-4o", "snake_case", "ёлка", "東京タワー",
    "user@example.com", "C++", "Zürich", "mara", "sibling_of", "harbor", "fog", "ridge", "bus",
    "tick",
)
"""From the most to the least frequent."""
# fmt: on
UNKNOWN_WORDS = ("zebra", "quux", "9999", "大阪")
ENTITIES = (
    ("pump",),
    ("valve", "VALVE", " Valve "),
    ("Nadia", "nadia", "NADIA"),
    ("North Greenhouse", "NORTH greenhouse", "north-greenhouse"),
    ("tank",),
    ("Owen", "owen"),
    ("feeds",),
    ("Café Luna", "cafe luna"),
    ("drain",),
    ("red tea",),
    ("旅行",),
    ("sea",),
)
"""Spellings of each entity."""
UNKNOWN_ENTITIES = ("Nobody", "atlantis")
RELATIONS = ("feeds", "near", "owns", "Near", "sibling_of", "reports to", "red", "valve", "knows")
PLAIN_RELATIONS = ("flows to", "made_of", "Kin", "kin", "seen:at")
"""Relations whose names are nothing else."""
TAGS = ("owns", "red", "site:north", "Keep", "keep", "a b", "drop")
UNKNOWN_TAGS = ("Site:North", "nothing")
BATCH = 100
FIRST_WRITES = 20
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1), (-1, 0), (2, 1), (9, 1))
CLOCK_STEPS = (0, 0, 0, 0, 1, 1, 40, 1_000, 3_600_000, DAY, DAY, 30 * DAY, 200 * DAY, 2_000 * DAY)
VALIDITY_OFFSETS = (0, -1, 1, -DAY, DAY, -40 * DAY, 40 * DAY, -400 * DAY, 400 * DAY)
TIGHT_BUDGETS = (0, 8, 9, 12, 20, 40, 90, 200)
BUDGETS = (512, 512, 4_000, 100_000)


@dataclass(frozen=True, slots=True)
class Profile:
    """What kind of history to write.

    Attributes:
        name: For the test's name.
        dim: Length of the vectors, 0 for none.
        clock_steps: Milliseconds by which the clock may move before a step.
        reopens: Whether the file is closed and opened again now and then.
        maintains: Whether the forgotten is purged now and then.
        tunes: Whether the knobs of recall are drawn at random.
        hub: Share of names that are all the first entity's.
        relations: What edges are called.
        dated: Whether every query says as of when.
    """

    name: str
    dim: int = 0
    clock_steps: Sequence[int] = CLOCK_STEPS
    reopens: bool = False
    maintains: bool = False
    tunes: bool = False
    hub: float = 0.0
    relations: Sequence[str] = RELATIONS
    dated: bool = False


@dataclass(slots=True)
class _Known:
    """A fact as the author believes both engines keep it."""

    fact: NewFact
    valid_from: int
    state: State = "current"


@dataclass(slots=True)
class Author:
    """Writes one history step by step; the same seed writes the same history.

    It learns from the outcomes which ids exist, because a guarded write may be blocked and an
    unknown id as provenance would break the reference's file.
    """

    seed: str
    profile: Profile
    _random: random.Random = field(init=False)
    _now: int = field(init=False, default=START)
    _facts: list[_Known] = field(init=False, default_factory=list)
    _edges: list[tuple[str, str, str]] = field(init=False, default_factory=list)
    _instants: list[int] = field(init=False, default_factory=lambda: [START])
    _said: set[tuple[str | None, str]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def knobs(self) -> dict[str, float]:
        """Return the configuration of this history, by our names."""
        if not self.profile.tunes:
            return {}
        pick = self._random.choice
        return {
            "bm25_k1": pick((0.5, 1.2, 2.0)),
            "bm25_b": pick((0.0, 0.4, 1.0)),
            "rrf_k": pick((1, 10, 200)),
            "w_bm25": pick((0.0, 0.5, 3.0)),
            "w_vector": pick((0.0, 1.0, 2.5)),
            "w_graph": pick((0.0, 0.7, 1.0)),
            "w_time": pick((0.0, 0.1, 1.0)),
            "w_recency": pick((0.0, 0.25, 2.0)),
            "half_life_days": pick((1, 30, 365)),
            "graph_depth": pick((0, 1, 3)),
            "graph_decay": pick((0.3, 0.9, 1.0)),
            "similar_cosine": pick((0.0, 0.5, 0.99)),
            "similar_jaccard": pick((0.0, 0.3, 0.8)),
        }

    def history(self, *, queries: int, facts: int = 0) -> Iterator[Operation]:
        """Yield the steps; `learn` each outcome before taking the next one.

        Args:
            queries: How many recalls are among them.
            facts: How many facts are remembered first, in batches.
        """
        for start in range(0, facts, BATCH):
            self._tick()
            # Two words are in nearly every text: common enough to be dropped from a query.
            size = min(BATCH, facts - start)
            yield RememberMany(self._now, self._new_facts(size, words=4, common=True))
        for _ in range(FIRST_WRITES):
            yield self.write()
        while queries:
            if self._chance(0.5):
                queries -= 1
                yield self.query()
            else:
                yield self.write()

    def write(self) -> Write:
        """Return the next write."""
        self._tick()
        weights: dict[Callable[[], Write], float] = {
            self._remember: 30,
            self._remember_guarded: 6,
            self._remember_many: 4,
            self._revise: 16,
            self._forget: 7,
            self._link: 12,
            self._relink: 4,
            self._unlink: 8,
            self._remove_tag: 3,
            self._maintain: 4 if self.profile.maintains else 0,
            self._reopen: 4 if self.profile.reopens else 0,
        }
        (verb,) = self._random.choices(list(weights), list(weights.values()))
        return verb()

    def query(self) -> Recall:
        """Return the next query; it always names a source."""
        self._tick()
        chance = self._chance
        text = self._query_text() if chance(0.7) else None
        entities = self._anchors() if chance(0.45) else ()
        window = self._window() if chance(0.25) else None
        vector = self._vector() if self.profile.dim and chance(0.4) else None
        if text is None and not entities and window is None and vector is None:
            text = self._query_text()
        return Recall(
            at=self._now,
            text=text,
            k=self._random.choice((1, 2, 3, 5, 8, 8, 20, 64)),
            tags=self._filter_tags() if chance(0.15) else (),
            entities=entities,
            as_of=self._instant() if self.profile.dated or chance(0.35) else None,
            range=window,
            closed=chance(0.25),
            token_budget=self._random.choice(TIGHT_BUDGETS if chance(0.25) else BUDGETS),
            graph_depth=self._random.choice((None, 0, 1, 2, 3)),
            vector=vector,
        )

    def learn(self, operation: Operation, outcome: Any) -> None:
        """Take note of what a step did, from what the reference answered."""
        match operation:
            case Remember(at=at, fact=fact):
                self._store(fact, at)
            case RememberGuarded(at=at, fact=fact) if not outcome["blocked"]:
                self._store(fact, at)
            case RememberMany(at=at, facts=facts):
                for fact in facts:
                    self._store(fact, at)
            case Revise(at=at, id=target, fact=fact) if not _refused(outcome):
                self._end(self._facts[target], "closed")
                self._store(fact, at)
            case Forget(id=target) if not _refused(outcome):
                self._end(self._facts[target], "forgotten")
            case AddLink(src=src, relation=relation, dst=dst):
                self._edges.append((src, relation, dst))
            case RemoveTag(at=at, tag=tag):
                self._retag(tag, at)

    # --- what the author believes -----------------------------------------------------------

    def _store(self, fact: NewFact, at: int) -> None:
        valid_from = at if fact.valid_from is None else fact.valid_from
        self._facts.append(_Known(fact, valid_from))
        self._said.add(_statement(fact.text, fact.entity))
        self._edges += [(fact.entity or "", relation, target) for relation, target in fact.links]
        self._instants += [at, valid_from]

    def _end(self, known: _Known, state: State) -> None:
        if known.state == "current":
            self._said.discard(_statement(known.fact.text, known.fact.entity))
        known.state = state

    def _retag(self, tag: str, at: int) -> None:
        for known in [one for one in self._facts if one.state == "current"]:
            if tag in known.fact.tags:
                self._end(known, "closed")
                tags = tuple(other for other in known.fact.tags if other != tag)
                self._store(NewFact(known.fact.text, known.fact.entity, tags), at)

    # --- writes -----------------------------------------------------------------------------

    def _remember(self) -> Write:
        return Remember(self._now, *self._new_facts(1))

    def _remember_guarded(self) -> Write:
        return RememberGuarded(self._now, *self._new_facts(1))

    def _remember_many(self) -> Write:
        return RememberMany(self._now, self._new_facts(self._random.randint(2, 6)))

    def _revise(self) -> Write:
        target = self._target()
        if target is None:
            return self._remember()
        fact = self._new_fact()
        if fact.valid_from is not None and target < len(self._facts):
            later = max(fact.valid_from, self._facts[target].valid_from)
            fact = replace(fact, valid_from=later)
        return Revise(self._now, target, fact)

    def _forget(self) -> Write:
        target = self._target()
        return self._remember() if target is None else Forget(self._now, target)

    def _link(self) -> Write:
        return AddLink(
            self._now, self._entity(), self._relation(), self._entity(), self._provenance()
        )

    def _relink(self) -> Write:
        if not self._edges:
            return self._link()
        return AddLink(self._now, *self._random.choice(self._edges), self._provenance())

    def _unlink(self) -> Write:
        if self._edges and self._chance(0.85):
            return Unlink(self._now, *self._random.choice(self._edges))
        return Unlink(self._now, self._entity(), self._relation(), self._entity())

    def _remove_tag(self) -> Write:
        return RemoveTag(self._now, self._random.choice(TAGS + UNKNOWN_TAGS))

    def _maintain(self) -> Write:
        return Maintain(self._now)

    def _reopen(self) -> Write:
        return Reopen(self._now)

    # --- arguments --------------------------------------------------------------------------

    def _new_facts(
        self, count: int, *, words: int = 8, common: bool = False
    ) -> tuple[NewFact, ...]:
        facts: list[NewFact] = []
        for _ in range(count):
            facts.append(self._new_fact(facts, words=words, common=common))
        return tuple(facts)

    def _new_fact(
        self, batch: Sequence[NewFact] = (), *, words: int = 8, common: bool = False
    ) -> NewFact:
        entity = self._entity() if self._chance(0.7) else None
        text = self._text(words, common=common)
        if self._facts and self._chance(0.15):
            like = self._random.choice(self._facts).fact
            entity, text = like.entity, self._variation(like.text)
        # Saying the same again is a difference on purpose; saying it of another entity is not.
        said = self._said | {_statement(fact.text, fact.entity) for fact in batch}
        while _statement(text, entity) in said:
            text = f"{text} {self._random.choice(WORDS)}"
        return NewFact(
            text=text,
            entity=entity,
            tags=self._some(TAGS, 3) if self._chance(0.4) else (),
            links=self._links() if entity is not None and self._chance(0.35) else (),
            metadata={"source": self._random.choice(WORDS)} if self._chance(0.1) else None,
            valid_from=self._validity() if self._chance(0.35) else None,
            vector=self._vector() if self.profile.dim and self._chance(0.7) else None,
        )

    def _text(self, most: int, *, common: bool) -> str:
        if self._facts and self._chance(0.1):
            return self._random.choice(self._facts).fact.text
        words = self._words(self._random.randint(1, most))
        if common:
            words += [word for word in ("common", "usual") if self._chance(0.9)]
            words.append(f"rare{self._random.randrange(300)}")
        return " ".join(words)

    def _variation(self, text: str) -> str:
        words = text.split()
        words[self._random.randrange(len(words))] = self._random.choice(WORDS)
        return " ".join(words)

    def _words(self, count: int) -> list[str]:
        weights = [1 / (rank + 2) for rank in range(len(WORDS))]
        return self._random.choices(WORDS, weights, k=count)

    def _query_text(self) -> str:
        words = self._words(self._random.randint(1, 5))
        if self._chance(0.15):
            words.append(self._random.choice(UNKNOWN_WORDS))
        if self._chance(0.1):
            words = words[:1] * 3
        if self._chance(0.15):
            words.append(self._random.choice(("common", "usual", "rare7")))
        return " ".join(words)

    def _entity(self) -> str:
        if self._chance(self.profile.hub):
            return ENTITIES[0][0]
        weights = [1 / (rank + 2) for rank in range(len(ENTITIES))]
        (spellings,) = self._random.choices(ENTITIES, weights)
        return self._random.choice(spellings)

    def _anchors(self) -> tuple[str, ...]:
        anchors = [self._entity() for _ in range(self._random.randint(1, 3))]
        if self._chance(0.1):
            anchors.append(self._random.choice(UNKNOWN_ENTITIES))
        return tuple(anchors)

    def _relation(self) -> str:
        return self._random.choice(self.profile.relations)

    def _links(self) -> tuple[Link, ...]:
        return tuple((self._relation(), self._entity()) for _ in range(self._random.randint(1, 3)))

    def _provenance(self) -> int | None:
        kept = [i for i, known in enumerate(self._facts) if known.state != "forgotten"]
        return self._random.choice(kept) if kept and self._chance(0.5) else None

    def _target(self) -> int | None:
        """Return an id to revise or forget: mostly a current one, at times a wrong one."""
        if not self._facts:
            return None
        current = [i for i, known in enumerate(self._facts) if known.state == "current"]
        if current and self._chance(0.85):
            return self._random.choice(current)
        return self._random.randrange(len(self._facts) + 2)

    def _filter_tags(self) -> tuple[str, ...]:
        tags = self._some(TAGS, 2 if self._chance(0.3) else 1)
        return (*tags, self._random.choice(UNKNOWN_TAGS)) if self._chance(0.1) else tags

    def _vector(self) -> Vector:
        """Return a vector near one of a few directions, so that equal and opposite ones occur."""
        x, y = self._random.choice(DIRECTIONS)
        vector = [float(x), float(y), *(0.0 for _ in range(self.profile.dim - 2))]
        if self._chance(0.5):
            place = self._random.randrange(self.profile.dim)
            vector[place] += self._random.uniform(-0.4, 0.4)
        return tuple(vector)

    def _validity(self) -> int:
        if self._chance(0.3):
            return self._random.choice(self._instants)
        return self._now + self._random.choice(VALIDITY_OFFSETS)

    def _instant(self) -> int:
        """Return an instant at which, or just beside which, something happened."""
        known = self._random.choice((self._now, *self._instants[-40:], *self._instants))
        return known + self._random.choice((0, 0, 0, -1, 1, DAY))

    def _window(self) -> tuple[int, int]:
        start, end = sorted((self._instant(), self._instant()))
        return start, end

    def _some(self, choices: Sequence[T], most: int) -> tuple[T, ...]:
        return tuple(self._random.choices(choices, k=self._random.randint(1, most)))

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _tick(self) -> None:
        self._now += self._random.choice(self.profile.clock_steps)


def _statement(text: str, entity: str | None) -> tuple[str | None, str]:
    """Return what makes two facts say the same: the text, and the entity in any spelling."""
    return next((names[0] for names in ENTITIES if entity in names), entity), text


def _refused(outcome: Any) -> bool:
    return isinstance(outcome, dict) and "refused" in outcome
