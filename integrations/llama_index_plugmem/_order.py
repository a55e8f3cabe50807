"""The order of the keys of metadata: a fact's are sorted, LlamaIndex's texts depend on theirs."""

import json
from collections.abc import Mapping
from typing import Any

from plugmem_core import Metadata

KEYS, NESTED = "keys", "metadata"


def lost_order(metadata: Metadata) -> dict[str, Any]:
    """Return what a fact's metadata, which is sorted by key, loses of what it was made of.

    Empty if nothing is lost, or for what is no JSON: the memory says what is wrong with it.
    """
    try:
        restored = json.loads(json.dumps(metadata, sort_keys=True))
    except (TypeError, ValueError):
        return {}
    if str(restored) == str(metadata):
        return {}
    keys = list(metadata)
    if str({key: restored[key] for key in keys}) == str(metadata):
        return {KEYS: keys}
    return {NESTED: json.dumps(metadata, ensure_ascii=False)}  # the order of nested keys, too


def in_order(metadata: Metadata, lost: Mapping[str, Any]) -> Metadata:
    """Return metadata as it was, by what `lost_order` told of it."""
    if NESTED in lost:
        restored: Metadata = json.loads(lost[NESTED])
        return restored
    return {key: metadata[key] for key in lost.get(KEYS, metadata)}
