"""Test suites for those who write a store of their own; they need pytest.

| name               | what it is                                             |
|--------------------|--------------------------------------------------------|
| `StoreConformance` | what every LangGraph `BaseStore` should do, as a class |
| `WordEmbeddings`   | embeddings whose nearest texts can be told by hand     |
"""

import pytest

# Before the package is imported: a failed assert then shows what it compared.
pytest.register_assert_rewrite(f"{__name__}._stores")

from langchain_plugmem.testing._stores import StoreConformance  # noqa: E402 - as above
from langchain_plugmem.testing._stores.words import WordEmbeddings  # noqa: E402 - as above

__all__ = ["StoreConformance", "WordEmbeddings"]
