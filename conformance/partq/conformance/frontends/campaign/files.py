"""A folder at any URI that the session's Hadoop file systems know, and the small files a driver writes.

Tables are Spark's business; what is in the files, `store`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from partq.conformance.frontends.campaign import jvm
from partq.conformance.frontends.campaign.errors import CampaignError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

PATTERN: Final = re.compile(r"[*?\[\]{}\\]")

CONDITIONAL: Final = "fs.option.create.conditional.overwrite"
"""The option by which a file is made only where there is none. Object stores have it (S3A), in which a file
is there, whole, once it is closed, and a rename is a copy."""

ASIDE: Final = "_aside."
"""Begins the name of a file that is not whole yet; Spark reads none that begins so."""

NEW: Final = "_new."
"""The same of one that becomes a file only where there is none: each session has its own."""


def local_path(name: str) -> Path | None:
    """The local path that is named, or None where it is a URI of another file system."""
    if not URI.match(name):
        return Path(name)
    return Path(re.sub("^file:/+", "/", name)) if name.startswith("file:/") else None


def exists(name: str) -> CampaignError:
    """What is raised where a campaign is to begin in a folder with something in it."""
    return CampaignError(f"{name} exists: give another folder, or --resume to finish what is missing in it")


def refuse_early(name: str) -> None:
    """Raises `CampaignError` where a campaign can't begin in that local folder, before Spark is started. Of
    others, and of what only starts with ``_``, the session knows."""
    path = local_path(name)
    if path is not None and path.is_dir() and any(not _HIDDEN.match(one.name) for one in path.iterdir()):
        raise exists(name)


_HIDDEN: Final = re.compile(r"[_.]|lock\.json$")


class Folder:
    """A folder, be it there or not. Names in it are relative, with ``/`` between. What the file system
    refuses is a `CampaignError`."""

    def __init__(self, session: SparkSession, name: str) -> None:
        local = local_path(name)
        self.name = name
        self.uri = (name if local is None else f"file://{local.resolve()}").rstrip("/")
        if PATTERN.search(self.uri):
            raise CampaignError(
                f"{name}: Spark takes the signs * ? [ ] {{ }} for a pattern: give another folder"
            )
        self.local = local is not None
        self._java: Any = session.sparkContext._jvm
        with self._naming(""):
            hadoop = session.sparkContext._jsc.hadoopConfiguration()
            self._files = self._path("").getFileSystem(hadoop)
            self._puts = bool(self._files.hasPathCapability(self._path(""), CONDITIONAL))
            if self.local:  # each file of a campaign is held against a digest of ours
                self._files.setWriteChecksum(False)
                self._files.setVerifyChecksum(False)

    def at(self, name: str) -> str:
        """The URI of what has that name."""
        return f"{self.uri}/{name}" if name else self.uri

    def exists(self, name: str = "") -> bool:
        """Whether there is a file or folder of that name."""
        with self._naming(name):
            return bool(self._files.exists(self._path(name)))

    def names(self, name: str = "") -> list[str]:
        """What is in a folder, sorted; nothing where there is none. A file is refused."""
        with self._naming(name):
            path = self._path(name)
            if not self._files.exists(path):
                return []
            if not self._files.getFileStatus(path).isDirectory():
                raise CampaignError(f"{self.name} is a file: give a folder")
            return sorted(status.getPath().getName() for status in self._files.listStatus(path))

    def read(self, name: str) -> str | None:
        """The text of a file, or None where there is none. What a kill left between the two steps of `write`
        is still aside."""
        place = next((place for place in (name, _beside(name, ASIDE)) if self.exists(place)), None)
        if place is None:
            return None
        with self._naming(name):
            stream = self._files.open(self._path(place))
            try:
                return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def write(self, name: str, text: str) -> None:
        """Make a file, or put it in the place of one, whole or not at all."""
        with self._naming(name):
            if self._puts:
                _put(self._files.create(self._path(name), True), text)
                return
            self._store(_beside(name, ASIDE), text)
            self._files.delete(self._path(name), False)  # nothing is renamed onto a file
            if not self._rename(_beside(name, ASIDE), name):
                raise CampaignError(f"{self.at(name)} can't be written: the file system refuses to rename")

    def create(self, name: str, text: str) -> None:
        """Make a file, whole or not at all. Raises `CampaignError` where there is one already."""
        with self._naming(name):
            if self._puts:
                self._put_first(name, text)
                return
            new = _beside(name, f"{NEW}{uuid4().hex}.")
            try:
                self._store(new, text)
                if not self._link(new, name):
                    raise self._taken(name)
            finally:
                self._files.delete(self._path(new), False)

    def delete(self, name: str = "") -> None:
        """Remove a file or folder and all that is in it, if it is there."""
        with self._naming(name):
            self._files.delete(self._path(name), True)

    def size(self, name: str) -> int:
        """The bytes in a folder."""
        with self._naming(name):
            return int(self._files.getContentSummary(self._path(name)).getLength())

    def copy(self, target: Path) -> None:
        """Copy all that is in the folder to a local one, which is made."""
        with self._naming(""):
            there = self._java.org.apache.hadoop.fs.Path(target.as_uri())
            self._files.copyToLocalFile(False, self._path(""), there, True)

    def sync(self, name: str) -> None:
        """Have the machine write a local folder's files down; other systems do so when a file is closed."""
        path = local_path(self.at(name))
        for place in () if path is None else (path, *path.rglob("*")):
            descriptor = os.open(place, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self.at(name))

    def _put_first(self, name: str, text: str) -> None:
        """Make the file unless another session does so first, even between this and the end of it."""
        builder = self._files.createFile(self._path(name)).recursive().overwrite(True)
        try:
            _put(builder.opt(CONDITIONAL, "true").build(), text)
        except Exception as error:
            if self._files.exists(self._path(name)):
                raise self._taken(name) from error
            raise

    def _taken(self, name: str) -> CampaignError:
        return CampaignError(f"{self.at(name)} exists: another session works on this campaign")

    def _store(self, name: str, text: str) -> None:
        """Write a file, on the disk once this returns."""
        _put(self._files.create(self._path(name), True), text)
        self.sync(name)

    def _link(self, new: str, name: str) -> bool:
        """Give the new file its name unless there is a file of it. A local rename would take its place."""
        if not self.local:
            return self._rename(new, name)
        try:
            os.link(*(str(local_path(self.at(one))) for one in (new, name)))
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            return not self._files.exists(self._path(name)) and self._rename(new, name)
        return True

    def _rename(self, before: str, after: str) -> bool:
        return bool(self._files.rename(self._path(before), self._path(after)))

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """What Java raises inside, as one line about that file."""
        try:
            yield
        except CampaignError:
            raise
        except Exception as error:
            where = self.name if not name else f"{self.name}/{name}"
            raise CampaignError(f"{where}: {jvm.cause(error)}") from error


def _beside(name: str, begin: str) -> str:
    """The name in the same folder that begins so."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{begin}{last}"


def _put(stream: Any, text: str) -> None:
    """Write all to an open stream, down to the disk, and close it."""
    stream.write(text.encode())
    stream.hflush()
    stream.close()
