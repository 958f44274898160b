"""Certify a run, and consolidate it first where that is needed."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ldru.analysis.certificate import Certificate, certify, check_certifiable
from ldru.analysis.consolidation import consolidate, usual_steps
from ldru.base.errors import LdruError, RunError
from ldru.models.ldru import LDRUClassifier
from ldru.runs.run import Run
from ldru.runs.without_words import run_without_words

CERTIFICATE = "certificate.json"
"""In the folder of a run that is certified."""

ROUNDS = 4


class Certified(NamedTuple):
    """A run and the certificate of its weights, which may still be no proof.

    rounds: how often it was consolidated; 0 leaves the run as it was.
    """

    run: Run
    certificate: Certificate
    rounds: int


def certify_run(
    run: Run,
    *,
    rounds: int = ROUNDS,
    steps: int | None = None,
    on_round: Callable[[int, Certificate], None] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> Certified:
    """Certify a run's network, or the network that it becomes by consolidation.

    Its exact machine must be right at every length. Then the network is consolidated and certified
    again, so often at most, until it is proved; each time for twice as many steps.

    steps: of the first consolidation, see `consolidate`.
    """
    check_certifiable(run.model)
    if rounds < 0:
        raise LdruError(f"rounds must not be negative, got {rounds}")
    found = run.exact()
    if not found.is_correct:
        raise RunError(f"{run.spec.name} cannot be certified: {found.summary}")
    begin, model, number = time.monotonic(), run.model, 0
    assert isinstance(model, LDRUClassifier)
    certificate = certify(model, found)
    steps = usual_steps(found.algebra) if steps is None else steps
    while not certificate.is_certified and number < rounds:
        # A consolidation begins with large steps: one as short as the last would not come farther.
        model = consolidate(model, found, steps=steps * 2**number, seed=number, on_step=on_step)
        number += 1
        certificate = certify(model, found)
        if on_round is not None:
            on_round(number, certificate)
    if number:
        seconds = time.monotonic() - begin
        # The run of a consolidated network begins where the other ended.
        spec = replace(
            run.spec,
            init_from=run.spec.digest,
            consolidated=steps * (2**number - 1),
            counterexamples=(),
        )
        last = run.record.final.step + spec.consolidated
        run = run_without_words(spec, run.language, model, step=last, seconds=seconds)
    return Certified(run, certificate, number)
