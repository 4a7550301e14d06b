"""What a campaign fails with."""

from __future__ import annotations

from partq.model.errors import UserError


class CampaignError(UserError):
    """A campaign can't be done: its folder, broker, Java, Spark or a chunk fails. The text says why, in one
    line, and what to do."""


class SparkFailed(CampaignError):
    """Spark itself failed: what is stored is good, and the rest can be done another time."""
