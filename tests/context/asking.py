"""Requests in a few words, images of any size, and a store that tells what is written."""

import base64
import struct
from collections.abc import Mapping
from typing import Any

from plugmem_core.context import CompiledContext, ContextCompiler, Decision, DictValues
from plugmem_core.text.fnv import fnv1a64


def request(*fragments: str | dict[str, Any], budget: int = 1_000, **fields: Any) -> dict[str, Any]:
    """A request; the fields of a policy may stand beside its own."""
    own = {"query", "project", "target_model", "memory_scope", "policy"}
    policy = {name: fields.pop(name) for name in [*fields] if name not in own}
    asked = {
        "query": "",
        "token_budget": budget,
        "fragments": [{"content": one} if isinstance(one, str) else one for one in fragments],
    }
    return asked | ({"policy": policy} if policy else {}) | fields


def compiled(*fragments: str | dict[str, Any], **fields: Any) -> CompiledContext:
    return ContextCompiler().compile(request(*fragments, **fields))


def decision(fragment: str | dict[str, Any], **fields: Any) -> Decision:
    return compiled(fragment, **fields).decisions[0]


def outcomes(result: CompiledContext) -> list[str]:
    return [f"{one.action} {one.rule_id} {one.risk}" for one in result.decisions]


def png(width: int, height: int, tail: bytes = b"") -> bytes:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR"
    return header + struct.pack(">II", width, height) + tail


def jpeg(width: int, height: int, marker: int = 0xC0) -> bytes:
    app = b"\xff\xe0\x00\x04ab"
    frame = bytes([0xFF, marker]) + struct.pack(">HBHH", 11, 8, height, width) + b"\x01\x01\x11\x00"
    return b"\xff\xd8" + app + frame


def image(data: bytes, caption: str = "", **fields: Any) -> dict[str, Any]:
    media = {"mime": "image/png", "bytes_b64": base64.b64encode(data).decode()}
    return {"content": caption, "media": media} | fields


def screenshot(data: bytes, target: Any, **fields: Any) -> dict[str, Any]:
    return image(data, kind="screenshot", metadata={"target": target}, **fields)


def image_hash(data: bytes) -> int:
    return fnv1a64(b"\xff" + data)


class DictStore(DictValues):
    """Remembers which keys were written."""

    def __init__(self) -> None:
        super().__init__()
        self.puts: list[tuple[str, list[str]]] = []

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: tuple[str, ...] = ()
    ) -> None:
        self.puts.append((collection, list(values)))
        super().put_values(collection, values, namespace=namespace)
