"""Server-sent events: a page is told of longer work as it goes."""

import asyncio
import json
from collections.abc import AsyncIterator

from ldru.base.json import Json

SECONDS_BETWEEN_LOOKS = 0.05


class Story:
    """The events of one piece of work, for everybody who follows it, from the beginning."""

    def __init__(self) -> None:
        self._events: list[str] = []
        self.is_over = False

    def tell(self, kind: str, data: Json) -> None:
        """Add an event; any thread may."""
        self._events.append(f"event: {kind}\ndata: {json.dumps(data)}\n\n")

    async def follow(self) -> AsyncIterator[str]:
        """All events so far, and those to come until it is over."""
        seen = 0
        while True:
            is_over = self.is_over  # asked first: what is told before the end is not missed
            new = self._events[seen:]
            seen += len(new)
            for event in new:
                yield event
            if is_over:
                return
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
