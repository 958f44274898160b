"""A member of a fleet: one model to train, with its task, seed and settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.base.randomness import Stream, fold, seed_key
from ldru.layers.seeded import drawn
from ldru.tasks.data_task import DataTask
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Task, Tokens
from ldru.training.lessons import check_answers
from ldru.training.spec import TrainSpec, conflicts

CLASS_HEAD = "class_head."
"""What the parameters of a model are called that only its training has."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One model to train.

    name: unique in its fleet.
    build: makes the model for a vocabulary and a number of classes.
    settings: resolved for the task.
    initial: weights to start from instead of drawn ones.
    counterexamples: words that are among its hard ones from the start, as tokens [length] each.
    """

    name: str
    task: Task
    build: Callable[..., nn.Module]
    seed: int
    settings: TrainSpec
    initial: Mapping[str, Tensor] | None = None
    counterexamples: Sequence[Tokens] = ()

    @property
    def steps(self) -> int:
        assert self.settings.steps is not None
        return self.settings.steps

    def model(self) -> nn.Module:
        """The untrained model in its own size: a function of the seed."""
        word = int(fold(seed_key(self.seed), Stream.WEIGHTS)[0])
        model = drawn(lambda: common_model([self]), seed=word % 2**32)
        if self.initial is not None:
            own = {k: v for k, v in model.state_dict().items() if k.startswith(CLASS_HEAD)}
            model.load_state_dict({**own, **self.initial})
        return model

    @property
    def stretch_classes(self) -> int:
        """How many classes of stretches it is told of; 0 where it is told none."""
        if self.settings.labels != "classes":
            return 0
        if isinstance(self.task, DataTask):
            return self.task.num_classes  # stretches have the labels of words
        assert isinstance(self.task, RegularTask)
        try:
            return self.task.monoid.size
        except LdruError as problem:
            raise LdruError(
                f"{self.task.name!r} has no classes to tell, since {problem}; train it with "
                "labels='factors'"
            ) from problem


def common_model(members: Sequence[Member]) -> nn.Module:
    """A model large enough for every member, with a head for what its training is told of."""
    model = members[0].build(
        vocab_size=max(member.task.vocab_size for member in members),
        num_classes=max(member.task.num_classes for member in members),
    )
    stretch_classes = max(member.stretch_classes for member in members)
    if stretch_classes:
        check_answers(model, members[0].settings.labels)
        model.add_class_head(stretch_classes)  # type: ignore[operator]
    return model


def check_alike(members: Sequence[Member]) -> None:
    """Raise unless members differ in task, seed, dropout and what `conflicts` leaves free alone."""
    if not members:
        raise LdruError("a fleet needs at least one member")
    names = [member.name for member in members]
    if len(set(names)) != len(names):
        raise LdruError(f"two members of the fleet have the same name: {', '.join(sorted(names))}")
    first = members[0].settings
    for member in members[1:]:
        different = conflicts(first, member.settings)
        if different:
            ours, theirs = (getattr(s, different[0]) for s in (first, member.settings))
            raise LdruError(
                f"members of a fleet share {different[0]}: {members[0].name} has {ours}, "
                f"{member.name} {theirs}"
            )
