"""Ctrl-C during training: the step is finished and its state kept before it takes effect."""

import signal
import threading
from types import FrameType
from typing import Self


class Interruption:
    """While entered, takes note of the first Ctrl-C; the next one acts at once, as ever.

    is_asked: whether there was one. Who sees it leaves a whole state behind, and raises
        `KeyboardInterrupt`. Where signals are another's business (a handler of the program's own,
        a thread), nothing changes.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._is_ours = False

    def __enter__(self) -> Self:
        self._is_ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._is_ours:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
