"""Bounds of what a request may ask for, checked before any work begins."""

import math
import re

from ldru.base.errors import LdruError

LONGEST_REGEX = 200
MOST_COPIES = 1_000
"""How often `{n}` may repeat something, all of them multiplied."""

LONGEST_NAME = 60
LARGEST_MACHINE = 2_000
"""States of a machine, before it is made minimal."""

MOST_STATES = 60
MOST_ARROWS = 400
"""States and arrows of a machine that is drawn; larger ones are followed without a picture."""

LARGEST_MONOID = 1_000
LARGEST_WEIGHTS = 2**25
"""Bytes that a page is asked to load."""


class RequestError(LdruError):
    """A request that cannot be answered; the page shows the message."""


def check_regex(regex: str) -> str:
    """A regular expression that is small enough to be worked out at once."""
    if not 0 < len(regex) <= LONGEST_REGEX:
        raise RequestError(
            f"a regular expression here has 1 to {LONGEST_REGEX} characters, got {len(regex):,}"
        )
    counts = [int(number) for number in re.findall(r"\d{1,9}(?=\s*[,}])", regex)]
    if math.prod(max(1, count) for count in counts) > MOST_COPIES:
        raise RequestError(
            f"the repetitions of {regex[:40]!r} come to more than {MOST_COPIES:,} copies; the "
            "command line has no such limit"
        )
    return regex
