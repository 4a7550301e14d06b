"""One session at a time works on a campaign's folder: its lock is a file that is made where there is none.

A killed session leaves its lock. Another one on the same machine sees that its process is gone and takes the
lock over; elsewhere a person has to say so (``--break-lock``). Before a session writes tables, and before it
removes anything at its end, it looks whether the lock is still its own.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import Folder

LOCK: Final = "lock.json"


class Lock:
    """The lock of a session that began then (`keeping.made`), in that folder."""

    def __init__(self, folder: Folder, made: Mapping[str, str]) -> None:
        self._folder = folder
        process = {"process": os.getpid(), "born": _born(os.getpid()), "machine": _machine()}
        about = {"owner": _owner(), "host": made["host"], "since": made["started"], **process}
        self._text = json.dumps(about, indent=1) + "\n"

    def take(self, broken: bool) -> None:
        """Take it. Raises `CampaignError` where another session has it, unless its process is gone, or
        ``broken`` says that it is."""
        if (there := self._there()) is not None:
            if not (broken or _gone(there)):
                raise CampaignError(
                    f"{self._folder.name}: {_session(there)} works on this campaign: wait for its end, or "
                    "give --break-lock if it is certain to be gone"
                )
            self._folder.delete(LOCK)
        self._folder.create(LOCK, self._text)

    def lost(self) -> str:
        """Who has it now, in a line; empty where this session still has it."""
        there = self._there()
        if there == self._text:
            return ""
        return f"{self._folder.name}: {_session(there or '')} took this campaign over, so this session ends"

    def check(self) -> None:
        """Raises `CampaignError` where this session has it no more."""
        if told := self.lost():
            raise CampaignError(told)

    def release(self) -> None:
        """Remove it, if it is this session's, and a folder with nothing else in it."""
        with suppress(CampaignError):  # Spark may be gone, and with it the way to the folder
            if self._there() == self._text:
                self._folder.delete(LOCK)
            if not self._folder.names():
                self._folder.delete()

    def _there(self) -> str | None:
        return self._folder.read(LOCK) if LOCK in self._folder.names() else None


@contextmanager
def locked(folder: Folder, made: Mapping[str, str], broken: bool) -> Iterator[Lock]:
    """The folder's lock, taken meanwhile. ``broken``: whoever had it is gone."""
    lock = Lock(folder, made)
    lock.take(broken)  # whoever is refused gives nothing back
    try:
        yield lock
    finally:
        lock.release()


def _session(text: str) -> str:
    """The session whose lock holds that text, in words."""
    try:
        about = json.loads(text)
        return f"{about['owner']} on {about['host']} (process {about['process']}, since {about['since']})"
    except (ValueError, KeyError, TypeError):
        return "another session"


def _gone(text: str) -> bool:
    """Whether the session whose lock that is certainly has ended: it was on this machine, as it runs now."""
    try:
        about = json.loads(text)
        if not about["machine"] or about["machine"] != _machine():
            return False
        os.kill(int(about["process"]), 0)
        return bool(_born(about["process"]) != about["born"])
    except ProcessLookupError:
        return True
    except (ValueError, KeyError, TypeError, OSError):
        return False


def _born(process: int) -> str:
    """When the process began, in ticks since the machine did; empty where it has ended."""
    with suppress(OSError):
        state, *rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return "" if state == "Z" else rest[18]
    return ""


def _machine() -> str:
    """This machine since its start, and which of its processes are seen; empty where none says so."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return ""


def _owner() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
