"""Who held which office when: what a filter on years and a walk over edges add, by themselves.

Two experiments on generated memories. In the first, the question names an organisation, an
office and years; in the second, only the city of the organisation, which another memory tells.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from benchmarks.outcomes import Outcomes
from plugmem_core.embed import Embedder
from plugmem_core.service import MemoryService, Mode, Predicate, memory_id

K = 5
FIRST_NAMES = (
    *("Amadou", "Beata", "Ciro", "Dagny", "Emre", "Farida", "Goran", "Hanna", "Ilkka", "Jelena"),
    *("Kwame", "Leena", "Milos", "Nadia", "Oskar", "Petra", "Rashid", "Sanna", "Tomas", "Ulrike"),
)
LAST_NAMES = (
    *("Abara", "Bielski", "Castellan", "Drummond", "Eklund", "Farkas", "Gadhavi", "Haugland"),
    *("Ibarra", "Jansons", "Kovalen", "Lindqvist", "Marchetti", "Novak", "Oyelaran", "Petrov"),
)
ORGANISATIONS = (
    *("Altan Foundry", "Brightwater Trust", "Corvid Press", "Dunmore Rail", "Elder Ferries"),
    *("Fenwick Mills", "Glasshouse Theatre", "Harrow Observatory", "Inland Surveys"),
    *("Juniper Bank", "Kestrel Airways", "Lowland Dairies"),
)
OFFICES = ("chair", "treasurer", "director")
CITY_OF = {
    "Zorvex": "Porto",
    "Quellin": "Tartu",
    "Tambrik": "Cork",
    "Ostrenka": "Lyon",
    "Vintara": "Gdansk",
    "Mokulo": "Bergen",
    "Perradyn": "Trieste",
    "Yathrex": "Ghent",
    "Belquor": "Malaga",
    "Drivanto": "Linz",
}
BOOST = 0.30
POOL = 12 * K + 16  # hits of which some are no holders


class Probe(NamedTuple):
    """A question, the years it is about, and the texts that answer it."""

    question: str
    first: int
    last: int
    gold: frozenset[str]


def names() -> Iterator[str]:
    """Yield names of people, no one twice."""
    for shift in range(len(LAST_NAMES)):
        for place, first in enumerate(FIRST_NAMES):
            yield f"{first} {LAST_NAMES[(place + shift) % len(LAST_NAMES)]}"


def run_tenures(embedder: Embedder, mode: Mode) -> Outcomes:
    """Ask for offices by organisation and years: 252 memories, 108 questions.

    Each of 12 organisations has 3 offices with 7 holders, 3 years apart. A question is about
    2009 and 1, 3 or 6 years around it, and has 1, 3 or 5 answers.
    """
    people = names()
    facts = [
        _fact(f"{next(people)} served as the {office} of {organisation} in {year}.", year)
        for organisation, office in product(ORGANISATIONS, OFFICES)
        for year in range(2000, 2021, 3)
    ]
    probes = [
        Probe(
            f"Who served as the {office} of {organisation} from {2009 - width} to {2009 + width}?",
            2009 - width,
            2009 + width,
            _gold(facts, f"the {office} of {organisation} ", 2009 - width, 2009 + width),
        )
        for organisation, office, width in product(ORGANISATIONS, OFFICES, (1, 3, 6))
    ]
    outcomes = Outcomes(about={"memories": len(facts)}, bases={"with the years": "text alone"})
    with MemoryService.open(":memory:", embedder=embedder) as service:
        service.remember_many(facts)
        for probe in probes:
            outcomes.groups.append(_answers(probe))
            for arm, given in (("text alone", []), ("with the years", _within(probe))):
                found = service.recall_where(probe.question, given, K, mode=mode)
                outcomes.add(arm, {one.content for one in found}, probe.gold)
    return outcomes


def run_headquarters(embedder: Embedder, mode: Mode) -> Outcomes:
    """Ask for offices by the city of a company and years: 180 memories, 40 questions.

    Each of 10 companies has its city in one memory, and 2 offices with 8 holders, 4 years
    apart. Edges lead from a memory of the company to all of these and back. A question is about
    2001 and 2 or 8 years around it, and has 1 or 5 answers.
    """
    offices = OFFICES[:2]
    people = names()
    facts = [
        _fact(f"{next(people)} served as the {office} of {company} in {year}.", year)
        for company, office in product(CITY_OF, offices)
        for year in range(1985, 2014, 4)
    ]
    probes = [
        Probe(
            f"Who was the {office} of the company headquartered in {city} "
            f"from {2001 - width} to {2001 + width}?",
            2001 - width,
            2001 + width,
            _gold(facts, f"the {office} of {company} ", 2001 - width, 2001 + width),
        )
        for (company, city), office, width in product(CITY_OF.items(), offices, (2, 8))
    ]
    outcomes = Outcomes(about={"memories": len(facts) + 2 * len(CITY_OF)})
    outcomes.bases = dict.fromkeys(("with the years", "with the graph", "with both"), "text alone")
    with MemoryService.open(":memory:", embedder=embedder) as service:
        service.remember_many(facts)
        for company, city in CITY_OF.items():
            _join(service, company, city, [one["fact"] for one in facts])
        for probe in probes:
            outcomes.groups.append(_answers(probe))
            # What has no year is let through, or the walk could not begin at the city.
            window = {"$or": [{"year": {"$exists": False}}, _window(probe)]}
            for arm, where, boost in (
                ("text alone", None, 0.0),
                ("with the years", window, 0.0),
                ("with the graph", None, BOOST),
                ("with both", window, BOOST),
            ):
                found = service.recall_fused(
                    probe.question, POOL, where, graph_boost=boost, pool=POOL, mode=mode
                )
                holders = (one.content for one in found if "year" in (one.metadata or {}))
                outcomes.add(arm, set(islice(holders, K)), probe.gold)
    return outcomes


def _join(service: MemoryService, company: str, city: str, facts: Sequence[str]) -> None:
    hub = service.remember(f"Company: {company}")
    place = service.remember(f"The company {company} is headquartered in {city}.")
    holders = [memory_id(fact) for fact in facts if f" of {company} " in fact]
    for one in (place, *holders):
        service.relate(hub, one, "has")
        service.relate(one, hub, "belongs to")


def _answers(probe: Probe) -> str:
    return "one answer" if len(probe.gold) == 1 else "several"


def _fact(text: str, year: int) -> dict[str, Any]:
    return {"fact": text, "metadata": {"year": year}}


def _gold(facts: Sequence[dict[str, Any]], phrase: str, first: int, last: int) -> frozenset[str]:
    return frozenset(
        fact["fact"]
        for fact in facts
        if phrase in fact["fact"] and first <= fact["metadata"]["year"] <= last
    )


def _within(probe: Probe) -> list[Predicate]:
    return [Predicate("year", "ge", probe.first), Predicate("year", "le", probe.last)]


def _window(probe: Probe) -> dict[str, Any]:
    return {"year": {"$gte": probe.first, "$lte": probe.last}}
