"""The schema of a profile, which histories and programs embed."""

from __future__ import annotations

from typing import Final

from partq.conformance.schemas.shapes import (
    FLAG,
    NAME,
    TEXT,
    Schema,
    document,
    fields_of,
    list_of,
    ref,
    usual_settings,
    whole,
)
from partq.model import profile_file
from partq.model.conditions import CONDITIONS
from partq.model.messages import KeyRule
from partq.model.profiles import PROFILES, OrderDomain
from partq.model.requirements import catalogue

PROFILE: Final[Schema] = {"anyOf": [{"enum": list(PROFILES)}, ref("profile")]}
"""A built-in profile by name, or what a file says."""


def profile() -> Schema:
    title = f"{profile_file.SCHEMA}: what a family of brokers promises"
    return document("profile", title, **profiles()["profile"])


def profiles() -> dict[str, Schema]:
    """The definition of a profile."""
    ground = fields_of({"page": NAME, "says": NAME}, ("page", "says"))
    none: Schema = {"type": "object", "maxProperties": 0}
    words = {"enum": sorted(profile_file.words_for_rules())}
    switches: dict[str, Schema] = {
        **{name: {**FLAG, "description": text} for name, text in profile_file.FLAGS.items()},
        "key_rule": {"enum": [rule.value for rule in KeyRule]},
        "order": {"enum": [domain.value for domain in OrderDomain]},
        "counter_bits": whole(1, 64),
        "partitions": {"type": "array", "items": whole(1, profile_file.MOST_PARTITIONS)},
    }
    divergence: dict[str, Schema] = {
        "rule": {"enum": list(catalogue())},
        "condition": {"enum": list(CONDITIONS)},
        "reason": NAME,
        "cause": NAME,
    }
    properties: dict[str, Schema] = {
        "schema": {"const": profile_file.SCHEMA},
        "name": {
            "type": "string",
            "pattern": f"^{profile_file.NAME}$",
            "maxLength": profile_file.LONGEST_NAME,
        },
        "title": NAME,
        "rules": {
            "anyOf": [
                {**list_of(words, at_least=1), "uniqueItems": True},
                {
                    "type": "object",
                    "propertyNames": words,
                    "additionalProperties": {"anyOf": [none, ground]},
                    "minProperties": 1,
                },
            ]
        },
        "pages": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^https://"}},
        "switches": fields_of(switches),
        "entity": fields_of(usual_settings()),
        "adds_properties": list_of(TEXT),
        "divergences": list_of(fields_of(divergence, ("rule", "condition", "reason"))),
    }
    return {"profile": fields_of(properties, ("schema", "name", "title", "rules"))}
