"""What the library of a broker's clients adds to messages before it sends them: a message ID, where the
application gave none."""

from __future__ import annotations

from collections.abc import Sequence

from .clock import Clock
from .store import Content, Letter, Stored


class Library:
    """The library that all clients use."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def completed(self, contents: Sequence[Content]) -> Sequence[Content]:
        """The messages, those without an ID with one (KEY-6)."""
        if not any(content.without_id for content in contents):
            return contents
        return [self.identified(content) if content.without_id else content for content in contents]

    def identified(self, content: Content) -> Letter:
        """The message with the ID that it was assigned, or now is."""
        letter = content if isinstance(content, Letter) else Letter.of(content)
        if letter.message_id is None:
            letter.message_id = self.assigned(letter)
        return letter

    def assigned(self, letter: Letter) -> str:
        """A new ID."""
        return f"{int(self.clock.random() * 2**52):013x}"

    def shown(self, stored: Stored) -> str | None:
        """The ID that a receiver is shown, of a message that was sent without one."""
        content = stored.content
        return content.message_id if isinstance(content, Letter) else None
