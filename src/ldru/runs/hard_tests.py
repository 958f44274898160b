"""Evaluate runs on kinds of test words, one row for each."""

from collections.abc import Callable, Sequence

from ldru.analysis.counterexamples import weak_words
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.evaluation.accuracy import Evaluation, PartResult
from ldru.models.ldru import LDRUClassifier
from ldru.runs.evaluate import evaluate_missing
from ldru.runs.run import Run
from ldru.tasks.kinds import KINDS, part_of

PAPER, ADVERSARIAL, ALL = "paper", "adversarial", "all"
TESTS = (PAPER, *KINDS, ADVERSARIAL)
"""What `ldru eval --test` takes, beside all of it."""


def check_test(name: str) -> tuple[str, ...]:
    """The kinds of words that a name stands for."""
    if name == ALL:
        return TESTS
    if name not in TESTS:
        raise LdruError(f"test words are of the kinds {', '.join([*TESTS, ALL])}, got {name!r}")
    return (name,)


def hard_tests(
    run: Run,
    tests: Sequence[str],
    lengths: Sequence[int],
    *,
    words: int,
    seed: int = 0,
    on_test: Callable[[str], None] | None = None,
) -> dict[str, Evaluation]:
    """A run on each kind of test words, at all lengths together; its record keeps all but the last.

    Adversarial words are of at most the longest training length: those whose right label an LDRU
    gives by the least margin, or not at all, among all states that its tree can meet. Other models
    have none.
    """
    task = run.language
    if list(tests) == [ADVERSARIAL] and not isinstance(run.model, LDRUClassifier):
        raise LdruError(
            f"{run.spec.name} has no states that meet in a tree: adversarial words come from them; "
            f"take another kind: {', '.join((PAPER, *KINDS))}"
        )
    found: dict[str, Evaluation] = {}
    for test in tests:
        if test == ADVERSARIAL:
            if isinstance(run.model, LDRUClassifier):
                found[test] = _adversarial(run)
        else:
            parts = lengths if test == PAPER else [part_of(test, length) for length in lengths]
            chosen = task.check_parts(parts)
            (found[test],) = evaluate_missing([run], chosen, words=words, seed=seed)
        if on_test is not None:
            on_test(test)
    return found


def rows_of_tests(run: Run, found: dict[str, Evaluation]) -> list[dict[str, Json]]:
    """A row for each kind: how many words there were, how many right, and the worst length."""
    rows: list[dict[str, Json]] = []
    for test, evaluation in found.items():
        results = list(evaluation.by_part.values())
        words, right = (sum(getattr(r, field) for r in results) for field in ("words", "correct"))
        worst = min(evaluation.by_part, key=lambda part: evaluation.by_part[part].accuracy)
        rows.append(
            {
                "run": run.spec.name,
                "test": test,
                "words": words,
                "wrong": words - right,
                "accuracy": right / words,
                "worst": str(worst).rpartition(":")[2],
                "worst_accuracy": evaluation.by_part[worst].accuracy,
            }
        )
    return rows


def _adversarial(run: Run) -> Evaluation:
    longest = run.spec.train.max_length
    words = weak_words(run.model, run.language, max_length=longest)
    counts: dict[int, list[int]] = {}
    for answer in run.predict(words):
        assert answer.expected is not None
        count = counts.setdefault(answer.expected, [0, 0])
        count[0] += 1
        count[1] += answer.label == answer.expected
    result = PartResult(
        words_by_class={label: count[0] for label, count in sorted(counts.items())},
        correct_by_class={label: count[1] for label, count in sorted(counts.items())},
    )
    return Evaluation(by_part={f"up to {longest}": result})
