"""A campaign's folder: Parquet tables by wave, a manifest a wave, and ``campaign.json``.

A wave is complete once its manifest is there, which is written last and says what each table holds. Whatever
contradicts a manifest is refused: nothing that was lost, cut or added makes a verdict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from partq.conformance.frontends.campaign import jvm, manifest, queries
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import NEW, Folder, exists
from partq.conformance.frontends.campaign.folding import Folded, Row, fingerprint
from partq.conformance.frontends.campaign.jobs import together
from partq.conformance.frontends.campaign.lock import LOCK
from partq.conformance.frontends.campaign.manifest import Fingerprint, Manifest
from partq.conformance.frontends.campaign.plan import SCHEMA, SUMMARY, Plan
from partq.conformance.frontends.campaign.tables import ROWS, STAGED, SUMMED, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGING: Final = "_staging"
FILE: Final = 128 * 2**20
"""Bytes of a wave's rows for each file of a table."""

_OWN: Final = re.compile(
    r"table=\w+|manifests|counterexamples|undecided|_.*|campaign\.json|lock\.json|mutants\.json|report\.html"
)
"""What a campaign's folder may hold."""


@dataclass(frozen=True, slots=True)
class Store:
    """One campaign in its folder. ``identity``: the digest of the plan and its code. ``group``: that of its
    jobs."""

    session: SparkSession
    folder: Folder
    plan: Plan
    identity: str
    group: str = field(default_factory=lambda: f"partq {uuid4().hex}")

    def describe(self, doing: str) -> None:
        """What this thread's jobs do from now on, for Spark's user interface."""
        self.session.sparkContext.setJobGroup(self.group, doing)

    # --- what is there ------------------------------------------------------------------------------

    def open(self, resume: bool) -> list[Manifest]:
        """Make the folder this campaign's; the manifests of its complete waves, each held against its tables.
        Raises `CampaignError` where the folder exists without ``resume``, or is not as this campaign left it.
        """
        if all(name == LOCK or name.startswith(NEW) for name in self.folder.names()):
            begun = {"schema": SCHEMA, "complete": False, "identity": self.identity}
            self.folder.create(SUMMARY, to_text({**begun, "plan": self.plan.to_json()}))
            return []
        if not resume:
            raise exists(self.folder.name)
        self._same_campaign()
        manifests = self.manifests()
        self._drop_unfinished(manifests)
        if manifests:
            self.folded(manifests)
        return manifests

    def recorded(self) -> str | None:
        """The digest that a complete campaign recorded, or None."""
        data = json.loads(self.folder.read(SUMMARY) or "{}")
        return str(data.get("digest")) if data.get("complete") else None

    def table(self, name: str) -> DataFrame:
        """All rows of a table, with their ``wave``."""
        place = self.folder.at(f"table={name}")
        columns = f"{TABLES[name].ddl}, `wave` bigint"  # told, for a table may have lost all its files
        return self.session.read.schema(columns).option("basePath", place).parquet(place)

    def discard(self) -> None:
        """Undo `open` where no wave was completed since, as far as nothing else is in the folder."""
        if all(_OWN.fullmatch(name) for name in self.folder.names()):
            self.folder.delete()

    def _same_campaign(self) -> None:
        file = f"{self.folder.name}/{SUMMARY}"
        try:
            known = json.loads(self.folder.read(SUMMARY) or "null")
            schema, there, identity = known["schema"], known.get("plan"), known.get("identity")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CampaignError(f"{file} is not a campaign that can be resumed: {error}") from None
        if schema != SCHEMA:
            raise CampaignError(
                f"{file} was begun by another version of partq ({schema}): give another folder"
            )
        if differ := _differences(there, json.loads(json.dumps(self.plan.to_json()))):
            raise CampaignError(
                f"{self.folder.name} holds another campaign: {differ}: resume it with the same arguments, or "
                "give another folder"
            )
        if identity != self.identity:
            raise CampaignError(
                f"{file} was begun by another version of partq, or of the broker's module: give another "
                "folder"
            )

    def manifests(self) -> list[Manifest]:
        """Those that are there, each as this campaign writes them."""
        found = []
        for name in self.folder.names(manifest.FOLDER):
            file = f"{manifest.FOLDER}/{name}"
            if name.startswith("_"):
                continue
            try:
                one = manifest.loads(self.folder.read(file) or "")
            except ValueError as error:
                raise CampaignError(f"{self.folder.name}/{file} is no manifest: {error}") from None
            self._fits(one, file)
            found.append(one)
        if pair := manifest.overlap(found):
            names = " and ".join(manifest.file_of(one.wave) for one in pair)
            raise CampaignError(f"{self.folder.name}: {names} are of the same traces")
        return found

    def _fits(self, one: Manifest, file: str) -> None:
        """Raises `CampaignError` where the manifest can't be one of this campaign's under that name."""
        wrong = None
        if one.plan != self.identity:
            wrong = "is of another campaign"
        elif file != manifest.file_of(one.wave):
            wrong = f"is that of wave {one.wave}"
        elif not 0 <= one.units.start < one.units.stop <= self.plan.units:
            wrong = f"names units {one.units.start} to {one.units.stop}, which the plan has not"
        elif not self._complete(one):
            wrong = f"counts {one.traces:,} traces, not {self.plan.planned(one.units):,}"
        if wrong:
            raise CampaignError(f"{self.folder.name}/{file} {wrong}")

    def _complete(self, one: Manifest) -> bool:
        planned = self.plan.planned(one.units)
        return one.traces == planned or (self.plan.ends_early and one.traces < planned)

    def _drop_unfinished(self, manifests: list[Manifest]) -> None:
        """Remove what a session that was killed left of the wave it was at. Raises `CampaignError` where
        something lies beside the waves."""
        self.folder.delete(STAGING)
        for below in ("", f"{manifest.FOLDER}/"):
            for name in self.folder.names(below):
                if name.startswith(NEW):
                    self.folder.delete(f"{below}{name}")
        known = {f"wave={one.wave}" for one in manifests}
        for table in TABLES:
            for name in self.folder.names(f"table={table}"):
                place = f"table={table}/{name}"
                if not name.startswith("wave="):
                    raise CampaignError(f"{self.folder.name}/{place} is not of this campaign: move it away")
                if name not in known:
                    self.folder.delete(place)

    def folded(self, manifests: Iterable[Manifest]) -> Folded:
        """All rows of the waves with these manifests. Raises `CampaignError` where a table does not hold what
        they say."""
        self.describe("all waves: rows against manifests")
        try:
            found = queries.folded({name: self.table(name) for name in TABLES})
        except Exception as error:
            raise CampaignError(f"{self.folder.name} can't be read: {jvm.cause(error)}") from error
        for one in manifests:
            for table, expected in one.tables.items():
                self._same(one, table, expected, found.fingerprint(one.wave, table))
            if one.findings != (counted := found.findings.get(one.wave, 0)):
                file = f"{self.folder.name}/{manifest.file_of(one.wave)}"
                raise CampaignError(f"{file} counts {one.findings:,} findings, its verdicts {counted:,}")
        return found

    def _same(self, one: Manifest, table: str, expected: Fingerprint, there: Fingerprint) -> None:
        if there == expected:
            return
        rows = f"{there.rows:,} rows, not {expected.rows:,}"
        what = f"has {rows if there.rows != expected.rows else 'other rows'} as when it was written"
        advice = f"delete {manifest.file_of(one.wave)} to have the wave run again"
        place = f"{self.folder.name}/table={table}/wave={one.wave}"
        raise CampaignError(f"{place} {what}: {advice}, or give another folder")

    # --- a wave -------------------------------------------------------------------------------------

    def staging(self, units: range) -> str:
        """Where the tasks' rows of those units go."""
        return self.folder.at(f"{STAGING}/wave={units.start}")

    def staged(self, units: range) -> range:
        """The first of those units, up to one of which nothing was staged."""
        rows = self._staged(units).select("unit").distinct().collect()
        there = {row["unit"] for row in rows}
        return range(units.start, next((unit for unit in units if unit not in there), units.stop))

    def complete(self, units: range, called: str = "wave") -> Manifest:
        """Make tables of what was staged for those units, and then their manifest. Raises `CampaignError`
        where rows are missing."""
        self.describe(f"{called}: sums")
        wave = units.start
        files = max(1, math.ceil(self.folder.size(f"{STAGING}/wave={wave}") / FILE))
        try:
            staged = self._staged(units)
            found = queries.folded_stage(staged, wave)
            sums = {name: found.sums(name) for name in SUMMED}
            frames = {name: self._frame(name, staged, sums, files) for name in TABLES}

            def write(name: str) -> None:
                self.describe(f"{called}: table {name}")
                self._write(name, wave, frames[name])

            together(write, TABLES)
        except Exception as error:
            raise CampaignError(f"{self.folder.name} can't be written: {jvm.cause(error)}") from error
        rows = {name: found.fingerprint(wave, name) for name in ROWS}
        tables = {**rows, **{name: fingerprint(sums[name]) for name in SUMMED}}
        one = Manifest(self.identity, units, tables, found.findings.get(wave, 0))
        file = manifest.file_of(one.wave)
        self._fits(one, file)
        self.folder.create(file, manifest.dumps(one))
        self.folder.delete(STAGING)
        return one

    def _staged(self, units: range) -> DataFrame:
        rows = self.session.read.schema(STAGED).parquet(self.staging(units))
        return rows.where(f"unit >= {units.start} and unit < {units.stop}")

    def _frame(self, name: str, staged: DataFrame, sums: Mapping[str, list[Row]], files: int) -> DataFrame:
        """The rows of a wave's table, in as many parts as it has files."""
        if name in sums:
            rows = pa.Table.from_pylist(sums[name], TABLES[name].schema)
            return self.session.createDataFrame(rows).coalesce(1)
        rows = staged.where(f"`{name}` is not null").select(f"`{name}`.*")
        return rows.coalesce(files).sortWithinPartitions("trace")

    def _write(self, name: str, wave: int, rows: DataFrame) -> None:
        place = f"table={name}/wave={wave}"
        rows.write.mode("overwrite").parquet(self.folder.at(place))
        self.folder.sync(place)


_OF_PLAN: Final = {
    "lanes": "broker, profiles or traces",
    "seed": "--seed",
    "length": "--length",
    "exact": "--exact",
    "profiles": "what a profile says",
}
"""What a user calls the parts of a plan."""


def _differences(there: Any, here: Mapping[str, Any]) -> str:
    """In what another plan differs from this one, in words; empty where it does not."""
    if not isinstance(there, dict):
        return "it has no plan"
    parts = [name for part, name in _OF_PLAN.items() if there.get(part) != here.get(part)]
    return f"other {', '.join(parts)}" if parts else "" if there == here else "another plan"


def to_text(data: Any) -> str:
    """Plain data as the text of a JSON file."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
