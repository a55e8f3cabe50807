"""A message as JSON text that stands for it whole, and back.

It is LlamaIndex's own dump: where any value may stand, a model is the dictionary it dumps to,
a tuple or a set a list, bytes are base64, an instant is ISO-8601, NaN is `None`. The rest
comes back equal, with all keys in their order. So do lone surrogates, which UTF-8 cannot
write: each, also of a pair in two halves, is a mark and its code. And so do the paths of
files, which may be gone when the message is read.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    BaseRecursiveContentBlock,
    ChatMessage,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    VideoBlock,
)
from pydantic import BaseModel

_Media = ImageBlock | AudioBlock | VideoBlock | DocumentBlock

_MARK = "\x01"  # JSON text never holds it as it is
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def dump(message: ChatMessage) -> dict[str, Any]:
    """Return a message as what JSON can hold.

    Raises:
        ValueError, TypeError, AttributeError, RecursionError: LlamaIndex cannot dump it.
    """
    blocks = [block.model_copy(deep=True) for block in message.blocks]
    paths = [_take_path(block) for block in _media(blocks)]
    bare = ChatMessage.model_construct(
        role=MessageRole(message.role),
        additional_kwargs=_plain(message.additional_kwargs),
        blocks=blocks,
    )
    dumped = bare.model_dump(mode="json")
    return dumped if not any(paths) else dumped | {"paths": paths}


def restore(data: Mapping[str, Any]) -> ChatMessage:
    """Return the message of a dump."""
    fields = {name: value for name, value in data.items() if name != "paths"}
    message = ChatMessage.model_validate(fields)
    # Set afterwards: LlamaIndex refuses the path of a file that is gone meanwhile.
    for block, path in zip(_media(message.blocks), data.get("paths", ()), strict=False):
        if path is not None:
            block.path = Path(path)
    return message


def encode(data: Mapping[str, Any]) -> str:
    """Return a dump as text that UTF-8 can write and that has no NUL.

    Raises:
        ValueError, RecursionError: JSON cannot hold it.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def decode(text: str) -> Any:
    """Return the dump of a text."""
    return json.loads(_MARKED.sub(lambda found: chr(int(found[1], 16)), text))


def _plain(value: Any) -> Any:
    """Return a value as LlamaIndex dumps it, but at any depth."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return value


def _media(blocks: Iterable[ContentBlock]) -> Iterator[_Media]:
    """Yield the blocks that can name a file, also those inside others."""
    for block in blocks:
        if isinstance(block, _Media):
            yield block
        elif isinstance(block, BaseRecursiveContentBlock):
            yield from _media(block.nested_blocks)  # type: ignore[arg-type]  # too wide there


def _take_path(block: _Media) -> str | None:
    path = block.path
    if not isinstance(path, Path):
        return None
    block.path = None
    return str(path)
