"""A profile as people read and write it: TOML with a few words about each field. Pure: profile to text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from partq.conformance.frontends.toml_tables import value_text
from partq.model.family import OrderDomain, Profile
from partq.model.messages import KeyRule
from partq.model.profile_file import FLAGS, plain
from partq.model.requirements import catalogue, groups

TODO = "TODO: "

HEAD = """\
# What this broker promises. docs/profiles.md has all fields; partq profile check FILE checks it.
"""


NO_GROUND = """\
# page = "…"  # the title of one of [pages]
# says = "…"  # what it promises there
"""


def written(family: Profile, begins: bool = False) -> str:
    """The profile as TOML, its switches explained, those of a usual value included. ``begins``: there is room
    for the ground of each rule."""
    said = plain(family)
    head = HEAD + _lines({name: said[name] for name in ("schema", "name", "title")})
    if begins and isinstance(said["rules"], list):
        said["rules"] = {word: {} for word in said["rules"]}
    return "\n".join((head, *_parts(family, said, NO_GROUND if begins else "")))


def _parts(family: Profile, said: Mapping[str, Any], room: str) -> Iterator[str]:
    """The parts after the title."""
    if isinstance(said["rules"], list):
        rows = "".join(f"    {value_text(word)},  # {_about(word)}\n" for word in said["rules"])
        yield f"# The rules that bind, by ID or group (partq list rules).\nrules = [\n{rows}]\n"
    if added := said.get("adds_properties"):
        yield f"# Properties that the broker adds to a message.\nadds_properties = {value_text(added)}\n"
    yield f"[switches]\n{''.join(_switches(family))}"
    if entity := said.get("entity"):
        yield f"# A queue's settings where nothing else is said; times in ns.\n[entity]\n{_lines(entity)}"
    if (pages := said.get("pages", {})) or isinstance(said["rules"], dict):
        yield f"# The vendor's pages, title = https address.\n[pages]\n{_lines(pages)}"
    if isinstance(said["rules"], dict):
        for word, ground in said["rules"].items():
            yield f"# {_about(word)}\n[rules.{word}]\n{_lines(ground) or room}"
    for divergence in said.get("divergences", ()):
        yield f"[[divergences]]\n{_lines(divergence)}"


def _about(word: str) -> str:
    """A rule, a group or a column in words."""
    if word in catalogue():
        return f"{catalogue()[word].level.value}: {catalogue()[word].title}"
    return groups().get(word, f"the rules of {word}")


def _switches(family: Profile) -> Iterator[str]:
    valued: tuple[tuple[str, Any, str], ...] = (
        ("key_rule", family.key_rule.value, f"where a message has its key: {', '.join(KeyRule)}"),
        ("order", family.order.value, f"what is delivered in order (ORD): {', '.join(OrderDomain)}"),
        ("partitions", list(family.partitions), "how many partitions a queue may have; none: any number"),
        ("counter_bits", family.counter_bits, "of a sequence number; those above name the partition"),
    )
    flags = ((name, getattr(family, name), text) for name, text in FLAGS.items())
    for name, value, text in (*valued, *flags):
        yield f"{name} = {value_text(value)}  # {text}\n"


def _lines(table: Mapping[str, Any]) -> str:
    """Each name, quoted where TOML needs it, and its value."""
    names = {name: name if name.isidentifier() and name.isascii() else value_text(name) for name in table}
    return "".join(f"{names[name]} = {value_text(value)}\n" for name, value in table.items())
