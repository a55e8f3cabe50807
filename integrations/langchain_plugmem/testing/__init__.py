"""Test suites for those who write a store of their own; they need pytest.

| name               | what it is                                             |
|--------------------|--------------------------------------------------------|
| `StoreConformance` | what every LangGraph `BaseStore` should do, as a class |
| `WordEmbeddings`   | embeddings whose nearest texts can be told by hand     |
"""

import pytest

# Before the package is imported: a failed assert then shows what it compared.
pytest.register_assert_rewrite(f"{__name__}._stores")

try:
    from langchain_plugmem.testing._stores import StoreConformance
    from langchain_plugmem.testing._stores.words import WordEmbeddings
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("langchain_core", "langgraph"):
        raise
    raise ImportError(
        f"{__name__} needs langgraph; run: pip install 'plugmem-core[langgraph]'"
    ) from error

__all__ = ["StoreConformance", "WordEmbeddings"]
