"""A campaign's folder on another file system, at hand for who reads local ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from partq.conformance.frontends.campaign import jvm, spark
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import URI, Folder, local_path


@contextmanager
def at_hand(name: str) -> Iterator[Path]:
    """The folder of that name, or a copy of it where it is not local. Raises `CampaignError`."""
    uri = re.sub(r"^([\w+.-]{2,}):/(?!/)", r"\1://", name) if URI.match(name) else name
    if (path := local_path(uri)) is not None:
        yield path
        return
    jvm.check("local[1]")
    with TemporaryDirectory() as place, spark.session("local[1]") as session:
        folder = Folder(session, uri)
        if not folder.names():
            raise CampaignError(f"{uri}: there is nothing")
        copy = Path(place, uri.rstrip("/").rpartition("/")[2])  # for a report says the folder's name
        folder.copy(copy)
        yield copy
