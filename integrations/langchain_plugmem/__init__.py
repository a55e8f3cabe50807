"""LangChain adapters of plugmem-core; needs `pip install 'plugmem-core[langchain]'`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_plugmem.retrievers import PlugmemRetriever

__all__ = ["PlugmemRetriever"]

_HOMES = {"PlugmemRetriever": "langchain_plugmem.retrievers"}


def __getattr__(name: str) -> Any:
    # On first use, so that a missing extra is named instead of one of its modules.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        raise ImportError(
            f"{name} needs langchain-core; run: pip install 'plugmem-core[langchain]'"
        ) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
