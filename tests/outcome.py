"""What came of a call that may fail in one way only."""

import ldru


def outcome(call, *arguments):
    """What a call gave, and no problem; or nothing, and what its `LdruError` says."""
    try:
        return call(*arguments), ""
    except ldru.LdruError as problem:
        return None, str(problem)
