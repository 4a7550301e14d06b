"""The page as a whole: what it says comes from the data, and data can't become markup."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from msgspec import structs
from samples import campaign, examples, long_history, run_folder

from partq.conformance.evaluation.counterexample import Counterexample
from partq.conformance.frontends.cli.report import gather
from partq.conformance.history import History, Record
from partq.conformance.verdict import Finding, Status, Verdict
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Delivery, Message
from partq.model.operations import Outcome
from partq.model.profiles import PROFILES
from partq.model.requirements import catalogue, sources
from partq.reports.html import render
from partq.reports.material import BlindSpots, Cell, Example, Figures, Kill, Lane, Material, Spread

EVIL = (
    "</script></style></title></svg></text><script>alert(1)</script>"
    "<img src=x onerror='alert(2)'> \" onmouseover=\"alert(3)\" x=' {{ 7*7 }} <!-- "
    "\u202etxt.exe\u202c \x00\x1b]]>&amp;"
)


PAGES = {url for source in sources().values() for url in source.pages.values()}


class Shape(HTMLParser):
    """The elements and attributes of a page, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[tuple[str, ...]] = set()
        self.counts: Counter[str] = Counter()
        self.links: list[str] = []
        self.hidden: list[str] = []
        self.copied: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []
        self.comments = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if (tag, attrs) == ("wbr", []):
            return  # where a name may be broken
        self.counts[tag] += 1
        self.elements.update((tag, name) for name, _ in attrs)
        self.elements.add((tag,))
        for name, value in attrs:
            if name in ("href", "src", "xlink:href", "action"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            if name == "hidden":
                self.hidden.append(dict(attrs).get("class") or tag)
            if name == "data-copies":
                self.copied.append(value or "")

    @property
    def inside(self) -> set[str]:
        """The places in the page that it has links to."""
        return {link.removeprefix("#") for link in self.links if link.startswith("#")}

    @property
    def outside(self) -> set[str]:
        """All other addresses."""
        return {link for link in self.links if not link.startswith("#")}

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments += 1


def material(word: str, killed: bool = False) -> Material:
    """A material with ``word`` wherever a broker, a program or a finding can put text."""
    key = f"key{word}"
    message = Message(f"id{word}", f"body{word}", None, key, (("QUEUE_PARTITION_KEY", key), (word, word)))
    other = Message(f"id{word}2", f"body{word}2")
    shown = Delivery(f"id{word}", word, seq=7, partition=3, lock=f"lock{word}", state=word, session_id=word)
    records = (
        Record(0, f"c{word}", "send", word, 1, 2, {"messages": (message, other), "txn": word}),
        Record(1, f"c{word}", "receive", word, 3, 4, {"max": 1}, Outcome.OK, None, (shown,)),
        Record(2, f"d{word}", "complete", word, 5, None, {"locks": (f"lock{word}",)}, Outcome.UNKNOWN, word),
        Record(3, "env", "frontend_lost", word, 6, 7, {"proc": f"c{word}"}),
        Record(4, "env", "assignment", word, 8, 8, {"partition": 3, "flow": word, "state": word}),
    )
    finding = Finding("ROUTE-1", f"title{word}", (0, 1), f"detail{word}", f"allowed{word}", f"cause{word}")
    history = History(long_history(4).header, records)
    steps = [
        {"proc": word, "op": word, "args": {"messages": [{"id": word, "partition_key": word}], "how": word}}
    ]
    program = {"steps": steps, "entity": {}, "seed": 1}
    verdicts = {id: Verdict(Status.NOT_EXERCISED, reason=word) for id in catalogue()}
    verdicts["ROUTE-1"] = Verdict(Status.VIOLATED, 3, (finding,), word)
    return Material(
        (Lane(f"broker{word}", f"profile{word}", verdicts, 1, 5), Lane(f"other{word}", word, verdicts, 1, 5)),
        1,
        Figures(1, 2, 3, 4.0, 5, 6, f"digest{word}", f"master{word}"),
        (Example(finding, f"broker{word}", word, history, program, f"replay{word}", 3, 9, {0: word}),),
        (Spread(f"broker{word}", f"profile{word}", 0, True, 5),),
        (Cell(f"broker{word}", f"profile{word}", f"id{word}", f"outcome{word}", f"fault{word}", 1, 2),),
        (BlindSpots(word, (word,), (word,)),),
        f"partq {word}",
        True,
        (word,),
        {f"host{word}": word},
        f"version{word}",
        kills=(Kill(f"mutant{word}", f"ROUTE-1{word}", word, 1, 2, (word,)),) if killed else (),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return campaign(tmp_path_factory.mktemp("campaign"))


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return render(gather(folder))


@pytest.mark.parametrize("killed", [False, True])
def test_no_element_or_attribute_arises_from_data(killed: bool) -> None:
    plain, evil = Shape(render(material("plain", killed))), Shape(render(material(EVIL, killed)))
    assert evil.elements == plain.elements
    assert evil.counts["script"] == 1
    assert evil.counts["style"] == 1
    assert evil.comments == 0
    assert evil.outside == PAGES
    assert "alert(1)" in "".join(evil.text), "the planted text is shown, as text"
    assert "{{ 7*7 }}" in "".join(evil.text), "and nothing evaluates it"


def test_markup_planted_in_a_stored_counterexample_stays_text(tmp_path: Path) -> None:
    example = examples()[0]
    evil = "<script>alert(1)</script>"
    sent = {"messages": (Message(evil, evil, session_id=evil, properties=((evil, evil),)),)}
    program = Program("azure-standard", (Step(evil, "send", sent), Step(evil, "abandon")))
    record = structs.replace(example.history.records[0], proc=evil, args=sent)
    planted = Counterexample(
        evil, program, example.finding._replace(title=evil), replace(example.history, records=(record,)), 1, 2
    )
    shape = Shape(render(gather(campaign(tmp_path / "<b>c", [planted]))))
    assert shape.counts["script"] == 1
    assert shape.counts["b"] == Shape(render(gather(campaign(tmp_path / "c", [planted])))).counts["b"]
    assert evil in "".join(shape.text)
    assert json.dumps(evil) in "".join(shape.text), "in the program as JSON"


def test_control_and_direction_characters_are_made_visible() -> None:
    page = render(material(EVIL))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert "⟨U+202E⟩txt.exe" in page


def test_lone_surrogates_do_not_break_the_file() -> None:
    render(material("\ud800")).encode("utf-8")


def test_the_page_needs_nothing_else(page: str) -> None:
    shape = Shape(page)
    assert not re.search(r"url\(|@import|\bsrc=", page)
    assert set(re.findall(r"https?://[^\s\"<>]*", page)) == PAGES, "in links alone"
    assert shape.outside == PAGES
    assert {"link", "img", "iframe", "object", "embed", "form", "base"}.isdisjoint(shape.counts)
    assert "default-src 'none'" in page


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    shape = Shape(page)
    assert len(shape.ids) == len(set(shape.ids))
    assert shape.inside <= set(shape.ids)


def test_the_script_makes_no_markup_of_text() -> None:
    script = (resources.files("partq.reports") / "static" / "report.js").read_text(encoding="utf-8")
    assert not re.search(r"HTML|document\.write|eval|Function\(|setAttribute\((?!\"role\")", script)
    assert not re.search(r"fetch|XMLHttp|import\(|Socket|Beacon|Worker|Storage|cookie", script), (
        "or asks for any"
    )


def test_without_its_script_the_page_lacks_only_what_the_script_does(page: str) -> None:
    shape = Shape(page)
    assert shape.hidden == ["search"]
    assert shape.counts["button"] == 0, "the script makes them"


def test_everything_to_copy_is_text_on_the_page(page: str, folder: Path) -> None:
    assert set(Shape(page).copied) == {"again", "seed"} | {
        f"counterexample-{n}-{what}" for n in (1, 2, 3) for what in ("program", "seed", "replay")
    }
    for example in gather(folder).examples:
        text = re.sub(r"<[^>]+>", "", page)
        assert example.replay in html.unescape(text)
        assert json.dumps(example.program, separators=(",", ":")) in html.unescape(text)


def test_requirements_findings_and_counterexamples_can_be_searched(page: str) -> None:
    kinds = Counter(re.findall('data-item="([a-z]+)"', page))
    assert kinds == {"requirement": len(catalogue()), "finding": 3, "counterexample": 3}
    assert re.search('<label for="search">.*<input id="search" type="search"', page, re.DOTALL)
    assert 'aria-describedby="matches"' in page and 'id="matches" role="status"' in page


def test_a_step_that_was_not_taken_says_so_and_why(page: str) -> None:
    (step,) = re.findall(r'<li class="untaken">(.*?)</li>', page)
    assert re.sub("<[^>]+>", "", step) == (
        "c1 abandon held lock 0 not taken: it held no such lock or transaction"
    )


def test_sources_lead_to_the_pages_of_their_vendors(page: str) -> None:
    url = "https://learn.microsoft.com/azure/service-bus-messaging/message-sequencing"
    assert page.count(f'<a href="{url}">') == 1 + sum("M" in row.sources for row in catalogue().values())
    assert '<a href="#source-D">Other documentation of the same vendor</a>' in page
    assert '<meta name="referrer" content="no-referrer">' in page


def test_what_applies_to_a_family_without_a_column_leads_to_the_page_that_says_so() -> None:
    verdicts = {id: Verdict(Status.PASS, 1) for id in catalogue()}
    page = render(Material((Lane("b", "rabbitmq", verdicts, 0),), 0))
    assert 'For rabbitmq: <a href="https://www.rabbitmq.com/docs/confirms">Consumer Ackn' in page
    assert Shape(page).outside == PAGES | set(PROFILES["rabbitmq"].pages.values())


def test_elements_are_closed_in_order(page: str) -> None:
    void = {"meta", "input", "br", "wbr"}
    stack: list[str] = []

    class Nesting(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in void:
                stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert stack.pop() == tag, self.getpos()

    Nesting().feed(page)
    assert stack == []


def test_every_row_of_the_catalogue_is_there(page: str) -> None:
    ids = Shape(page).ids
    assert [id for id in ids if id in catalogue()] == list(catalogue())


def test_status_is_told_in_words_and_signs(page: str) -> None:
    for sign, word in (("✗", "violated"), ("?", "undecided"), ("✓", "pass"), ("○", "not exercised")):
        assert f'<span class="glyph" aria-hidden="true">{sign}</span> {word}' in page


def test_figures_come_from_the_folder(page: str) -> None:
    for text in ("20,000", "1,043,381", "214", "Spark local[2]"):
        assert text in page
    assert re.search(r"\b[0-9a-f]{32}\b", page), "the digest"
    assert "21,647" in page, "operations a second: 1,043,381 in 48.2 s"
    assert "3 rules are violated: ROUTE-1, PEEK-2, REB-14" in page
    command = re.sub(r"<[^>]+>", "", page)
    assert "partq fuzz acme:Broker --traces 20000 --profile azure-standard" in command


def test_a_run_without_violations(tmp_path: Path) -> None:
    page = render(gather(run_folder(tmp_path / "run")))
    assert "Inconclusive" in page
    assert "undecided: SEQ-4" in page
    assert "Counterexamples" not in page


def test_an_unfinished_campaign_has_no_verdict(folder: Path) -> None:
    whole = gather(folder)
    page = render(replace(whole, lanes=(), complete=False))
    assert "Unfinished" in page
    assert "Not conformant" not in page
    assert 'id="verdicts"' not in page
    assert Shape(page).inside <= set(Shape(page).ids)


def test_counterexamples_come_before_the_verdicts(page: str) -> None:
    sections = [id for id in Shape(page).ids if id in ("counterexamples", "verdicts", "partitions", "limits")]
    assert sections == ["counterexamples", "verdicts", "partitions", "limits"]


def test_where_it_may_be_another_rule_the_page_says_so(folder: Path) -> None:
    """At the counterexample, in the list of the head, and in the rules' rows."""
    told = gather(folder)
    several = ("ROUTE-1", "KEY-2", "ROUTE-2")
    sure = Finding("ROUTE-1", "sure", (0,), "d", "a", "ROUTE-1/k")
    unsure = sure._replace(title="unsure", candidates=several)
    verdicts = {**told.lanes[0].verdicts, "ROUTE-1": Verdict(Status.VIOLATED, 9, (sure, sure, unsure))}
    drawn = tuple(replace(told.examples[0], finding=one) for one in (sure, unsure))
    page = render(replace(told, lanes=(replace(told.lanes[0], verdicts=verdicts),), examples=drawn))
    words = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "ROUTE-1 or KEY-2 or ROUTE-2 violated: which, this history cannot tell." in words
    assert words.count("ROUTE-1 or KEY-2 or ROUTE-2 unsure") == 1, "the list of the head"
    assert re.search(
        r"ROUTE-1 or KEY-2 or ROUTE-2 [\w-]* first seen in trace [\d,]+, shrunk [^.]* unsure", words
    )
    assert "ROUTE-1 or KEY-2 or ROUTE-2 violated: unsure" in words
    assert "sure 2×" in words


def test_the_fate_of_mutants_comes_first_and_leads_to_their_counterexamples(folder: Path) -> None:
    told = gather(folder)
    mutant = replace(told.examples[0], broker="mutant:astray")
    kills = (Kill("astray", "ROUTE-1", "azure-standard", 3, 8, ()),)
    page = render(replace(told, kills=kills, examples=(mutant,)))
    shape = Shape(page)
    assert shape.ids.index("mutants") < shape.ids.index("counterexamples") < shape.ids.index("verdicts")
    assert "#counterexample-1" in shape.links
    assert "partitions" not in shape.ids, "of many brokers together they say nothing"
    assert shape.inside <= set(shape.ids)


def test_many_lanes_share_one_column(folder: Path) -> None:
    lane = gather(folder).lanes[0]
    lanes = tuple(replace(lane, broker=f"mutant:m{n}") for n in range(30))
    page = render(replace(gather(folder), lanes=lanes))
    assert "all 30 together" in page
    assert "<h1>30 brokers</h1>" in page


@pytest.mark.parametrize("seed", ["1", "2"])
def test_equal_input_gives_equal_bytes_whatever_the_hash_seed(folder: Path, page: str, seed: str) -> None:
    code = (
        "import sys, pathlib\n"
        "from partq.conformance.frontends.cli.report import gather\n"
        "from partq.reports.html import render\n"
        "sys.stdout.buffer.write(render(gather(pathlib.Path(sys.argv[1]))).encode())\n"
    )
    again = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    assert again.stdout.decode() == page


def test_undecided_traces_are_listed_with_the_commands_that_run_them(tmp_path: Path) -> None:
    """Those of a folder that says nothing of any are not."""
    folder = campaign(tmp_path)
    assert 'id="undecided"' not in render(gather(folder))
    file = folder / "campaign.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    command = "partq fuzz acme:Broker --trace 41 --seed 7 --profile solace"
    first = [{"trace": 41, "profile": "solace", "seed": 9, "why": EVIL, "command": command}]
    data["undecided_traces"] = {"count": 3, "first": first}
    file.write_text(json.dumps(data), encoding="utf-8")
    shape = Shape(render(gather(folder)))
    assert "undecided-41" in shape.ids and "undecided-41" in shape.copied
    text = " ".join("".join(shape.text).split())
    assert "3 undecided traces" in text and command in text
    assert "alert(1)" not in "".join(shape.hidden)
