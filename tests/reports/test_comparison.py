"""The page of a comparison: self-contained, without a script, safe whatever names brokers have; each cell
leads to what spoke for it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from test_html import EVIL, Shape

from partq.conformance.verdict import Column, Comparison, Finding, Status, Verdict, compare
from partq.model.requirements import catalogue
from partq.reports.comparison import comparison_view, render
from partq.reports.text import breakable


def comparison(word: str = "", runs: bool = False) -> Comparison:
    """Two columns that differ in every way, with ``word`` wherever a broker or a file can put text; of one
    broker (``runs``) or of two."""
    finding = Finding("ROUTE-2", f"title{word}", (4, 9), f"detail{word}", f"allowed{word}", f"key{word}")
    first = {id: Verdict(Status.PASS, 1200) for id in catalogue()}
    last = {
        **first,
        "ROUTE-2": Verdict(Status.VIOLATED, 7, (finding,), found={f"key{word}": 1676}),
        "RCV-2": Verdict(Status.UNKNOWN, 7, reason=f"reason{word}", candidates=("RCV-2", "RCV-3")),
        "SEQ-1": Verdict(Status.NOT_EXERCISED),
        "SEQ-2": Verdict(Status.UNKNOWN, 7, reason=f"open{word}"),
        "REB-1": Verdict(Status.NOT_APPLICABLE, reason=f"lacks{word}"),
    }
    before = Column(f"before{word}", f"broker{word}", f"profile{word}", first)
    other = f"broker{word}" if runs else f"other{word}"
    after = Column(f"after{word}", other, f"profile{word}", last, 3, f"note{word}")
    return compare([[before], [after]])


@pytest.fixture(scope="module", params=[False, True], ids=["brokers", "runs"])
def page(request: pytest.FixtureRequest) -> str:
    return render(comparison(runs=request.param), "1.2")


@pytest.mark.parametrize("runs", [False, True])
def test_no_element_or_attribute_arises_from_data(runs: bool) -> None:
    plain, evil = (Shape(render(comparison(word, runs), word)) for word in ("plain", EVIL))
    assert evil.elements == plain.elements
    assert evil.counts["script"] == 0
    assert evil.comments == 0
    assert "alert(1)" in "".join(evil.text), "the planted text is shown, as text"
    assert "{{ 7*7 }}" in "".join(evil.text), "and nothing evaluates it"
    assert "⟨U+202E⟩txt.exe" in "".join(evil.text)


def test_the_page_needs_nothing_else(page: str) -> None:
    shape = Shape(page)
    assert not re.search(r"https?://|url\(|@import|\bsrc=", page)
    assert {"script", "link", "img", "iframe", "object", "embed", "form", "base"}.isdisjoint(shape.counts)
    assert "default-src 'none'" in page
    assert "script-src" not in page


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    shape = Shape(page)
    assert len(shape.ids) == len(set(shape.ids))
    assert all(link.startswith("#") for link in shape.links)
    assert {link.removeprefix("#") for link in shape.links} <= set(shape.ids)


def test_elements_are_closed_in_order(page: str) -> None:
    stack: list[str] = []

    class Nesting(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in {"meta", "input", "wbr"}:
                stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert stack.pop() == tag, self.getpos()

    Nesting().feed(page)
    assert stack == []


def test_cells_that_ask_for_attention_lead_to_what_spoke_for_them(page: str) -> None:
    links = Shape(page).links
    assert [link for link in links if re.search("-[AB]$", link)] == ["#ROUTE-2-B", "#RCV-2-B", "#SEQ-2-B"]
    told = re.search(
        '<div class="voice violated" id="ROUTE-2-B">.*?</div>\n    <p class="silent">', page, re.S
    )
    assert told
    for text in ("title", "detail", "allowed", "1,676×", "1,676 violations", "operations 4, 9"):
        assert text in told[0]


def test_statuses_are_told_in_words_and_signs(page: str) -> None:
    for sign, words in (("✗", "violated, 1,676 violations"), ("✓", "pass, exercised 1,200 times")):
        assert (
            f'<span class="glyph" aria-hidden="true">{sign}</span><span class="hidden">{words}</span>' in page
        )
    assert "RCV-2 or RCV-3 violated" in page


def test_every_rule_is_there_what_differs_first_and_the_rest_folded(page: str) -> None:
    ids = [id.removeprefix("row-") for id in Shape(page).ids if id.startswith("row-")]
    assert ids[:4] == ["ROUTE-2", "RCV-2", "SEQ-2", "SEQ-1"]
    assert sorted(ids) == sorted(catalogue())
    head, _, folded = page.partition('<tbody class="agreed">')
    assert 'id="row-SEQ-1"' in head
    assert 'id="row-KEY-1"' in folded
    assert f"Show the {len(catalogue()) - 4} rules" in page


def test_two_runs_say_what_became_of_the_rules() -> None:
    view = comparison_view(comparison(runs=True), "")
    told = {
        change.sign.status: [rule.id for rule, _ in change.rules] for change in view.regressions[0].changes
    }
    assert told == {
        "newly violated": ["ROUTE-2", "RCV-2"],
        "undecided now": ["SEQ-2"],
        "no longer exercised": ["SEQ-1", "REB-1"],
    }
    assert (view.headline.sign.css, view.headline.word) == ("violated", "Regression")


def test_long_names_break_between_their_words_on_narrow_pages() -> None:
    verdicts = dict.fromkeys(catalogue(), Verdict(Status.PASS, 1))
    one = Column("run", "my_company.broker:PartitionedQueue", "azure-premium", verdicts)
    text = render(compare([[one], [replace(one, broker="nats://localhost:4222/%2f?streams=4")]]), "1.2")
    assert text.count("my_<wbr>company.<wbr>broker:<wbr>Partitioned<wbr>Queue") == 2, "in both tables"
    assert "nats://<wbr>localhost:<wbr>4222/<wbr>%2f?<wbr>streams=<wbr>4" in text


def test_where_a_name_may_break_nothing_becomes_markup() -> None:
    assert breakable("a<b_c") == "a&lt;b_<wbr>c"
    assert breakable("\u202etxt:exe") == "⟨U+202E⟩txt:<wbr>exe"


def test_a_comparison_of_brokers_has_no_verdict() -> None:
    view = comparison_view(comparison(), "")
    assert (view.headline.sign.css, view.headline.word, view.regressions) == ("idle", "Compared", ())


def test_a_column_tells_how_else_its_run_ended(page: str) -> None:
    assert "ended with note" in page
