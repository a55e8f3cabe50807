"""Decisions, the changes they led to, and the problems those caused: two edges, no shared word."""

from typing import NamedTuple

from benchmarks.outcomes import Outcomes
from plugmem_core.embed import Embedder
from plugmem_core.service import MemoryService, Mode

K = 10
BOOSTS = {f"problem, graph at {boost}": boost for boost in (0.15, 0.5, 1.0)}

# What was decided, what was changed for it, what came of that.
CHAINS = (
    "move invoices to the cloud|nightly exports now use gzip|suppliers got blank pages"
    ";lease electric vans|the depot rewired its feeder|forklifts stop charging at noon"
    ";merge the two call centres|queue rules follow language|Danish speakers wait longest"
    ";print menus on demand|laminator replaced by an inkjet|ink smears at table nine"
    ";open the archive to students|reading room doors unlock by card|humidity alarms fire daily"
    ";drop paper time sheets|clocks sync over radio|shifts end five minutes early"
    ";heat the pool with waste steam|valve four feeds both basins|toddlers complain of cold showers"
    ";adopt metric drawings|the lathe firmware was reset|flanges arrive oversized"
    ";sell season tickets online|turnstiles scan phone screens|glare blocks the north gate"
    ";plant hedges along the runway|mowing contract renegotiated|starlings roost by lamp seven"
    ";host lectures in the chapel|microphones share one mixer|organ hum drowns speakers"
    ";outsource payroll to Brno|holiday tables were translated|bonuses paid twice in May"
    ";stock gluten free flour|silo two was partitioned|dough sticks inside chute B"
    ";install quieter compressors|rubber mounts under each unit|cracks appear above bay three"
    ";let tenants choose meters|gateway polls every minute|billing rows vanish after midnight"
    ";catalogue maps by region|barcodes shortened to six digits|duplicates of Tuscany pile up"
    ";teach pottery on Sundays|kiln schedule shifted to dawn|glazes bubble on tall vases"
    ";filter spam at the border|greylisting delays strangers|couriers miss pickup codes"
    ";recycle rinse water|sensors calibrated for salt|brass fittings turn green"
    ";fly the inspection drone weekly|batteries stored beside boilers|footage ends mid roof"
    ";pool interpreters between wards|rota lives in a spreadsheet|night admissions lack Tamil"
    ";lower the stage by a metre|trapdoor motor reversed|curtain snags during act two"
    ";buy milk from one farm|tankers unload before sunrise|cheese ripens unevenly"
    ";number trails by difficulty|signposts repainted in ochre|hikers overlook ridge turnoff"
)


class Chain(NamedTuple):
    """Three texts, each of which led to the next."""

    decision: str
    change: str
    problem: str


def chains() -> list[Chain]:
    """Return the chains; a decision is told in a sentence."""
    parts = [line.split("|") for line in CHAINS.split(";")]
    return [Chain(f"We decided to {what}", change, came) for what, change, came in parts]


def run_chains(embedder: Embedder, mode: Mode) -> Outcomes:
    """Ask what came of each decision, and look for decision and problem among 10 of 72 memories."""
    outcomes = Outcomes(bases=dict.fromkeys(BOOSTS, "problem") | {"problem, why": "problem"})
    with MemoryService.open(":memory:", embedder=embedder) as service:
        for chain in chains():
            _remember(service, chain)
        for chain in chains():
            question = chain.decision.replace("We decided", "What came of the decision") + "?"
            found = {one.content for one in service.recall(question, K, mode=mode)}
            outcomes.add("decision", found, {chain.decision})
            outcomes.add("problem", found, {chain.problem})
            for name, boost in BOOSTS.items():
                fused = service.recall_fused(question, K, graph_boost=boost, mode=mode)
                outcomes.add(name, {one.content for one in fused}, {chain.problem})
            trail = {node.content for node in service.why(question, mode=mode).nodes}
            outcomes.add("problem, why", trail, {chain.problem})
    return outcomes


def _remember(service: MemoryService, chain: Chain) -> None:
    problem = service.remember(chain.problem)
    change = service.remember(chain.change, links=[(problem, "caused")])
    service.remember(chain.decision, links=[(change, "led to")])
