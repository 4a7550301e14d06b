"""A campaign's folder, or a file of it, on another file system, at hand for who reads local ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from partq.conformance.frontends.campaign import jvm, spark
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import Folder, local_path


@contextmanager
def at_hand(name: str) -> Iterator[tuple[Path, Path, str]]:
    """The folder or file of that name, which may be a URI that was taken for a path, or a copy of it where it
    is not local; where what is made of it goes, and how to call it. Raises `CampaignError`."""
    uri = re.sub(r"^([\w+.-]{2,}):/(?!/)", r"\1://", name)
    if (path := local_path(uri)) is not None:
        yield path, path, str(path)
        return
    jvm.check("local[1]")
    with TemporaryDirectory() as place, spark.session("local[1]") as session:
        folder = Folder(session, uri)
        if not folder.exists():
            raise CampaignError(f"{uri}: there is nothing")
        copy = Path(place, uri.rstrip("/").rpartition("/")[2])  # for a report says the folder's name
        folder.copy(copy)
        yield copy, Path(), uri
