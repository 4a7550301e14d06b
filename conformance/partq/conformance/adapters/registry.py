"""From what a user types to a broker: ``reference``, ``mutant:NAME``, a URL, or ``module:Class``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from partq.conformance.adapters.names import (
    BROKERS,
    BUILT_IN,
    MUTANT,
    UnknownBroker,
    is_built_in,
    is_public,
    public_name,
)
from partq.conformance.adapters.protocol import Broker
from partq.conformance.adapters.questions import PATIENCE, NoAnswer, answer, within
from partq.conformance.history.codec_profiles import named_profile
from partq.model.profiles import PROFILES, UnknownProfile, profile


def open_broker(name: str) -> Broker:
    """The broker of that name, not yet opened. Raises `UnknownBroker`.

    ``module:Class`` is looked up among installed packages, and then in the current folder.
    """
    if name in BUILT_IN:
        from partq.conformance.adapters.reference import open_reference

        return open_reference(name)
    if name.startswith(MUTANT):
        from partq.conformance.adapters.mutants import open_mutant

        return open_mutant(name.removeprefix(MUTANT))
    if not is_public(name):
        raise UnknownBroker(f"{public_name(name)}: the password is not stored: give the broker's URL with it")
    if name.partition("://")[0].lower() in ("rabbitmq", "amqp") and "://" in name:
        from partq.conformance.adapters.rabbitmq import RabbitMQ

        return RabbitMQ(name)
    if module_of(name):
        return _third_party(name)
    raise UnknownBroker(f"no broker {public_name(name)!r}{_hint(name)}; known: {BROKERS}")


def module_of(name: str) -> str:
    """The module of a broker ``module:Class``; empty for all others."""
    module, colon, _ = name.partition(":")
    return module if colon and "://" not in name and not is_built_in(name) else ""


def _hint(name: str) -> str:
    """What may have been meant."""
    if near := get_close_matches(name, BUILT_IN, n=1):
        return f"; did you mean {near[0]}?"
    module, _, last = name.rpartition(".")
    if last == "py":
        return f"; for a class in {name} say {module.replace('/', '.')}:ItsName"
    if not (name and all(part.isidentifier() for part in name.split("."))):
        return ""
    if module and last[0].isupper():
        return f"; did you mean {module}:{last}?"
    return f"; for a class in your {name}.py say {name}:ItsName"


def claimed_profiles(broker: Broker) -> tuple[str, ...]:
    """The profiles that the broker says it can be run under. Raises `UnknownBroker` if it says nothing of the
    kind."""
    name = f"{type(broker).__name__}.profiles()"
    try:
        claimed: tuple[object, ...] = answer(lambda: tuple(broker.profiles()))
    except NoAnswer as error:
        raise UnknownBroker(f"{name}: {error}") from error
    try:
        return tuple(dict.fromkeys(named_profile(str(one), _folder_of(broker)) for one in claimed))
    except UnknownProfile as error:
        raise UnknownBroker(f"{name}: {error}") from None


def _folder_of(broker: Broker) -> Path:
    """Where the files of the module are whose class names the profile, the current folder for one without a
    file."""
    family = type(broker).__mro__
    owner = next((one for one in family if "profile" in vars(one) or "profiles" in vars(one)), family[0])
    module = sys.modules.get(owner.__module__)
    return Path(getattr(module, "__file__", None) or "x").parent


def refuse_unwritten(broker: Broker, profiles: Iterable[str]) -> None:
    """Raise `UnknownProfile` for the reference broker under a family that it is not written for: what it did
    would be nobody's fault."""
    from partq.conformance.adapters.reference import LiveReference, Reference

    strange = [name for name in profiles if not profile(name).modelled]
    if strange and isinstance(broker, Reference | LiveReference):
        known = ", ".join(name for name, family in PROFILES.items() if family.modelled)
        raise UnknownProfile(f"the reference broker has no profile {strange[0]}; it has {known}")


def _third_party(name: str) -> Broker:
    module_name, _, class_name = name.partition(":")
    if module_name.endswith(".py"):
        raise UnknownBroker(f"{name}: a module is named without .py: {module_name[:-3]}:{class_name}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # so that no folder there hides a package
    try:
        with within(PATIENCE, TimeoutError(f"no end after {PATIENCE:g} s")):
            module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UnknownBroker(f"cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    factory = getattr(module, class_name, None) if class_name else None
    if factory is None:
        where = f"module {module_name!r} ({getattr(module, '__file__', None)})"
        raise UnknownBroker(f"{where} has no {class_name!r}{_brokers_of(module)}")
    if not (isinstance(factory, type) and issubclass(factory, Broker)):
        raise UnknownBroker(f"{name} is not a subclass of partq.conformance.adapters.Broker")
    try:
        return answer(factory)
    except NoAnswer as error:
        raise UnknownBroker(f"cannot make {name}: {error}") from error


def _brokers_of(module: ModuleType) -> str:
    """Which brokers it has, for a hint."""
    found = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Broker) and value.__module__ == module.__name__
    ]
    return f"; say {' or '.join(f'{module.__name__}:{name}' for name in found)}" if found else ""
