"""What the schemas are made of: texts, numbers, lists, objects, and what several of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from partq.model.messages import MAX_INT, MAX_SEQ
from partq.model.operations import SUBSCRIPTION
from partq.model.profiles import ENTITY_BOUNDS, ENTITY_FLAGS, RULE

Schema = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

TEXT: Final[Schema] = {"type": "string"}
NAME: Final[Schema] = {"type": "string", "minLength": 1}
FLAG: Final[Schema] = {"type": "boolean"}


def whole(low: int, high: int) -> Schema:
    """A whole number between two limits, both included."""
    return {"type": "integer", "minimum": low, "maximum": high}


COUNT: Final = whole(0, MAX_INT)
TIME: Final = whole(-MAX_INT - 1, MAX_INT)
SEQ: Final = whole(0, MAX_SEQ)
PAIRS: Final[Schema] = {
    "type": "array",
    "items": {"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2},
}


def fields_of(properties: Mapping[str, Schema], required: Iterable[str] = (), **more: Any) -> Schema:
    """An object of these fields and no others."""
    needed = list(required)
    return {
        "type": "object",
        "properties": dict(properties),
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
        **more,
    }


def document(name: str, title: str, **schema: Any) -> Schema:
    """A schema of its own."""
    return {"$schema": DRAFT, "$id": f"urn:partq:{name}:1", "title": title, **schema}


def list_of(items: Schema, at_least: int = 0) -> Schema:
    """A list of such items."""
    return {"type": "array", "items": items, **({"minItems": at_least} if at_least else {})}


def ref(name: str) -> Schema:
    """What the schema itself defines."""
    return {"$ref": f"#/$defs/{name}"}


def usual_settings() -> dict[str, Schema]:
    """What a profile may say of every entity."""
    settings = {name: whole(low, high) for name, (low, high, _) in ENTITY_BOUNDS.items()}
    return {**settings, **dict.fromkeys(ENTITY_FLAGS, FLAG)}


def entity_settings() -> Schema:
    """An entity's settings."""
    rules: Schema = {"type": "object", "additionalProperties": {**TEXT, "pattern": f"^({RULE.pattern})$"}}
    chain = list_of({**TEXT, "pattern": rf"^({SUBSCRIPTION})?[^/\s]+$"})
    return fields_of({**usual_settings(), "subscriptions": rules, "forward_to": chain})
