"""Ctrl-C or SIGTERM during training: the step is finished and its state kept before either acts.

Schedulers of clusters end a job with SIGTERM, some seconds before they kill it.
"""

import signal
import threading
from types import FrameType
from typing import Any, Self

USUAL: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""What the signals do of themselves."""


class Interruption:
    """While entered, takes note of the first Ctrl-C or SIGTERM; the next acts at once, as ever.

    is_asked: whether there was one. Who sees it leaves a whole state behind, and raises
        `KeyboardInterrupt`. Where a signal is another's business (a handler of the program's own,
        a thread), nothing changes.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._ours: list[signal.Signals] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._ours = [one for one, usual in USUAL.items() if signal.getsignal(one) is usual]
        for one in self._ours:
            signal.signal(one, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_asked = True
        self._give_back()

    def _give_back(self) -> None:
        for one in self._ours:
            signal.signal(one, USUAL[one])
