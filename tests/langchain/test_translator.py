"""`PlugmemTranslator`: every comparator and operator, alone and in a self-query retriever."""

from datetime import date
from typing import Any

import pytest
from langchain_classic.retrievers import SelfQueryRetriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
)

from langchain_plugmem import PlugmemTranslator, PlugmemVectorStore
from plugmem_core import InvalidFilterError, InvalidInputError


def is_(attribute: str, comparator: Comparator, value: Any) -> Comparison:
    return Comparison(comparator=comparator, attribute=attribute, value=value)


def all_of(*arguments: FilterDirective) -> Operation:
    return Operation(operator=Operator.AND, arguments=list(arguments))


def any_of(*arguments: FilterDirective) -> Operation:
    return Operation(operator=Operator.OR, arguments=list(arguments))


def not_(*arguments: FilterDirective) -> Operation:
    return Operation(operator=Operator.NOT, arguments=list(arguments))


def day(text: str) -> dict[str, str]:
    """A date as the parser of LangChain gives it."""
    return {"date": text, "type": "date"}


FILMS = [
    Document(
        "A film about tea",
        id="tea",
        metadata={"year": 1999, "genre": "drama", "cast": ["Ann", "Bo"], "shown": "1999-05-01"},
    ),
    Document(
        "A film about milk",
        id="milk",
        metadata={"year": 2010, "genre": "comedy", "cast": ["Cy"], "shown": "2010-01-01"},
    ),
    Document(
        "A film about rain",
        id="rain",
        metadata={"year": 2020, "genre": "drama", "cast": ["Bo"], "shown": "2020-02-02T20:15:00"},
    ),
    Document("A film about nothing", id="nothing", metadata={"by": {"name": "Dee"}}),
]

YEAR_2010 = is_("year", Comparator.EQ, 2010)
DRAMA = is_("genre", Comparator.EQ, "drama")

CASES: list[tuple[FilterDirective, dict[str, Any], set[str]]] = [
    (YEAR_2010, {"year": {"$eq": 2010}}, {"milk"}),
    (is_("year", Comparator.NE, 2010), {"year": {"$ne": 2010}}, {"tea", "rain", "nothing"}),
    (is_("year", Comparator.GT, 2010), {"year": {"$gt": 2010}}, {"rain"}),
    (is_("year", Comparator.GTE, 2010), {"year": {"$gte": 2010}}, {"milk", "rain"}),
    (is_("year", Comparator.LT, 2010), {"year": {"$lt": 2010}}, {"tea"}),
    (is_("year", Comparator.LTE, 2010), {"year": {"$lte": 2010}}, {"tea", "milk"}),
    (is_("cast", Comparator.CONTAIN, "Bo"), {"cast": {"$contains": "Bo"}}, {"tea", "rain"}),
    (is_("genre", Comparator.LIKE, "dr%"), {"genre": {"$like": "dr%"}}, {"tea", "rain"}),
    (
        is_("year", Comparator.IN, [1999, 2020]),
        {"year": {"$in": [1999, 2020]}},
        {"tea", "rain"},
    ),
    (
        is_("year", Comparator.NIN, [1999, 2020]),
        {"year": {"$nin": [1999, 2020]}},
        {"milk", "nothing"},
    ),
    (is_("by.name", Comparator.EQ, "Dee"), {"by.name": {"$eq": "Dee"}}, {"nothing"}),
    (
        all_of(DRAMA, is_("year", Comparator.GT, 2000)),
        {"$and": [{"genre": {"$eq": "drama"}}, {"year": {"$gt": 2000}}]},
        {"rain"},
    ),
    (
        any_of(YEAR_2010, DRAMA),
        {"$or": [{"year": {"$eq": 2010}}, {"genre": {"$eq": "drama"}}]},
        {"tea", "milk", "rain"},
    ),
    (not_(DRAMA), {"$not": {"genre": {"$eq": "drama"}}}, {"milk", "nothing"}),
    (
        all_of(not_(any_of(YEAR_2010, is_("year", Comparator.GT, 2015))), DRAMA),
        {
            "$and": [
                {"$not": {"$or": [{"year": {"$eq": 2010}}, {"year": {"$gt": 2015}}]}},
                {"genre": {"$eq": "drama"}},
            ]
        },
        {"tea"},
    ),
    (
        is_("shown", Comparator.GTE, day("2010-01-01")),
        {"shown": {"$gte": "2010-01-01"}},
        {"milk", "rain"},
    ),
    (
        is_("shown", Comparator.LT, {"datetime": "2020-02-02T20:15:01", "type": "datetime"}),
        {"shown": {"$lt": "2020-02-02T20:15:01"}},
        {"tea", "milk", "rain"},
    ),
    (
        is_("shown", Comparator.IN, [day("2010-01-01"), day("1999-05-01")]),
        {"shown": {"$in": ["2010-01-01", "1999-05-01"]}},
        {"tea", "milk"},
    ),
]


@pytest.fixture
def store() -> PlugmemVectorStore:
    store = PlugmemVectorStore.open(":memory:")
    store.add_documents(FILMS)
    return store


def retriever_for(
    store: PlugmemVectorStore, query: StructuredQuery, **settings: Any
) -> SelfQueryRetriever:
    """A self-query retriever whose model always gives this answer."""

    def answer(_: Any) -> StructuredQuery:
        return query

    return SelfQueryRetriever(
        query_constructor=RunnableLambda(answer),  # type: ignore[call-arg] # an alias
        vectorstore=store,
        structured_query_translator=PlugmemTranslator(),
        **settings,
    )


def ids_of(documents: list[Document]) -> set[str | None]:
    return {document.id for document in documents}


def test_every_comparator_and_operator_has_a_case() -> None:
    def names(directive: FilterDirective) -> set[str]:
        if isinstance(directive, Comparison):
            return {directive.comparator}
        assert isinstance(directive, Operation)
        return {directive.operator}.union(*map(names, directive.arguments))

    covered = set().union(*(names(directive) for directive, *_ in CASES))
    assert covered == {*Comparator, *Operator}
    assert covered == {
        *PlugmemTranslator.allowed_comparators,
        *PlugmemTranslator.allowed_operators,
    }


@pytest.mark.parametrize(("directive", "expected", "found"), CASES, ids=[str(c[1]) for c in CASES])
async def test_a_filter_finds_the_same_translated_and_end_to_end(
    store: PlugmemVectorStore, directive: FilterDirective, expected: dict[str, Any], found: set[str]
) -> None:
    query = StructuredQuery(query="film", filter=directive, limit=None)
    translated = PlugmemTranslator().visit_structured_query(query)
    assert translated == ("film", {"filter": expected})
    retriever = retriever_for(store, query)
    assert ids_of(retriever.invoke("which film?")) == found
    assert ids_of(await retriever.ainvoke("which film?")) == found


def test_a_query_without_a_filter_has_no_arguments(store: PlugmemVectorStore) -> None:
    query = StructuredQuery(query="tea", filter=None, limit=None)
    assert PlugmemTranslator().visit_structured_query(query) == ("tea", {})
    assert ids_of(retriever_for(store, query).invoke("?")) == {"tea"}


async def test_a_filter_alone_answers(store: PlugmemVectorStore) -> None:
    query = StructuredQuery(query=" ", filter=DRAMA, limit=None)
    assert ids_of(retriever_for(store, query).invoke("?")) == {"tea", "rain"}
    assert ids_of(await retriever_for(store, query).ainvoke("?")) == {"tea", "rain"}


def test_the_limit_and_the_retrievers_settings_reach_the_search(store: PlugmemVectorStore) -> None:
    query = StructuredQuery(query="film", filter=None, limit=2)
    assert len(retriever_for(store, query).invoke("?")) == 2
    unlimited = StructuredQuery(query="film about rain", filter=DRAMA, limit=None)
    settings = {"search_kwargs": {"k": 1, "mode": "text"}}
    assert ids_of(retriever_for(store, unlimited, **settings).invoke("?")) == {"rain"}
    diverse = retriever_for(store, unlimited, search_type="mmr", search_kwargs={"k": 2})
    assert ids_of(diverse.invoke("?")) == {"tea", "rain"}


@pytest.mark.parametrize("arguments", [(), (YEAR_2010, DRAMA)], ids=["none", "two"])
def test_a_not_takes_one_argument(arguments: tuple[FilterDirective, ...]) -> None:
    with pytest.raises(InvalidInputError, match=f"not has {len(arguments)} arguments"):
        not_(*arguments).accept(PlugmemTranslator())


@pytest.mark.parametrize(
    "directive",
    [
        is_("$or", Comparator.IN, [{"genre": "drama"}]),
        is_("$not", Comparator.EQ, {"genre": "comedy"}),
        is_("$and", Comparator.CONTAIN, "drama"),
        is_("year", Comparator.IN, 2010),
        is_("year", Comparator.LIKE, 2010),
        is_("year", Comparator.GT, None),
        is_("shown", Comparator.GT, date(2010, 1, 1)),
        is_("year", Comparator.EQ, float("nan")),
        all_of(),
        any_of(),
    ],
    ids=str,
)
async def test_what_a_model_makes_up_is_refused_and_never_syntax(
    store: PlugmemVectorStore, directive: FilterDirective
) -> None:
    retriever = retriever_for(store, StructuredQuery(query="film", filter=directive, limit=None))
    with pytest.raises(InvalidFilterError):
        retriever.invoke("?")
    with pytest.raises(InvalidFilterError):
        await retriever.ainvoke("?")


@pytest.mark.parametrize(
    "value", [{"type": "date"}, {"type": "datetime", "date": "2010-01-01"}, {"type": ["date"]}]
)
def test_an_object_that_only_looks_like_a_date_is_a_value(
    store: PlugmemVectorStore, value: dict[str, Any]
) -> None:
    store.add_texts(["A film about dates"], [{"shown": value}], ids=["dates"])
    query = StructuredQuery(query="film", filter=is_("shown", Comparator.EQ, value), limit=None)
    assert ids_of(retriever_for(store, query).invoke("?")) == {"dates"}
