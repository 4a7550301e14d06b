"""The generator: what it may write is weighed, and what is weighed may be written."""

from __future__ import annotations

import pytest

from partq.conformance.workload import generator, themes, weights
from partq.conformance.workload.generator import generate
from partq.conformance.workload.trouble_phrases import FAULTS, MECHANISMS
from partq.model.profiles import PROFILES, profile


def test_every_phrase_has_a_weight_in_a_theme_and_every_theme_a_profile() -> None:
    assert {phrase for theme in themes.THEMES.values() for phrase in theme} == set(themes.PHRASES)
    assert {theme for family in PROFILES.values() for theme in themes.themes_of(family)} == set(themes.THEMES)


def test_a_mechanism_is_a_theme_where_its_rule_binds() -> None:
    of_rules = {"scheduling", "deferral", "expiry", "deadletters"}
    assert of_rules <= {*themes.themes_of(profile("azure-premium"))}
    assert not of_rules & {*themes.themes_of(profile("partitioned-queue"))}


def test_a_theme_that_takes_programs_leaves_the_others_what_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    about = {name: weights.Theme(name, "", {}) for name in "ab"}
    monkeypatch.setattr(generator, "ABOUT", about | {"new": weights.Theme("new", "", {}, one_in=12)})
    names = ("a", "b", "b")
    before = [generator._theme(names, generator.Seeded(seed), seed) for seed in range(1200)]
    now = [generator._theme((*names, "new"), generator.Seeded(seed), seed) for seed in range(1200)]
    assert 60 < now.count("new") < 140
    assert {(old, new) for old, new in zip(before, now, strict=True) if old != new} == {
        ("a", "new"),
        ("b", "new"),
    }
    assert generator._theme(("new",), generator.Seeded(1), 1) == "new"


def test_every_fault_and_mechanism_is_paired() -> None:
    assert set(weights.PAIRS) == set(FAULTS)
    assert {mechanism for pairs in weights.PAIRS.values() for mechanism in pairs} == set(MECHANISMS)


def test_lengths_are_drawn_unless_given() -> None:
    sizes = {len(generator.generate("azure-flat", seed).steps) for seed in range(200)}
    assert min(sizes) < 40 and max(sizes) > 120
    assert len(generator.generate("azure-flat", 1, length=1).steps) < 20


def test_programs_have_nothing_that_the_profile_is_silent_about() -> None:
    for seed in range(200):
        steps = generate("partitioned-queue", seed).steps
        assert not {"peek", "begin", "commit", "rollback"} & {step.op for step in steps}


def test_themes_that_the_profile_does_not_have_are_an_error() -> None:
    only = {"forwarding": themes.THEMES["forwarding"]}
    assert generate("azure-premium", 1, length=2, themes=only).steps
    with pytest.raises(ValueError, match="azure-flat has none of the themes forwarding"):
        generate("azure-flat", 1, themes=only)
