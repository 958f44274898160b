"""A fleet: models of one architecture that train in lock-step, each as if it were alone.

Members have their own weights, data and dropout. Everything random is a function of (seed, stream,
step, index), so a member's words and masks do not depend on who else is in the fleet. Of tasks that
draw their words, the length of a step depends on the step alone, because the members share it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from ldru.base.errors import LdruError, RunError
from ldru.base.precision import products_in
from ldru.base.randomness import Stream, fold, seed_key
from ldru.evaluation.answers import ask
from ldru.layers.dropout import Dropout, Keyed, rate_buffers
from ldru.layers.seeded import drawn
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.data_task import DataTask
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Task, Tokens
from ldru.training.composed_words import ComposedWords
from ldru.training.distributed import ALONE, Group
from ldru.training.draws import make_draws
from ldru.training.draws.base import random_tree_steps
from ldru.training.draws.data import DataDraws
from ldru.training.draws.regular import RegularDraws
from ldru.training.fused_optimizer import make_optimizer
from ldru.training.hard_words import SEARCH_EVERY, HardWords
from ldru.training.loss import (
    cross_entropy,
    factor_cross_entropy,
    prefix_cross_entropy,
    within_classes,
)
from ldru.training.optimizer import Optimizer, StepSizes
from ldru.training.parameters import Layout, Parameters
from ldru.training.spec import TrainSpec, conflicts
from ldru.tree import RandomTrees

WITH_ASSOCIATIVITY, ALONG_TREES = "forward_with_associativity", "forward_along"
"""Methods of models that reduce words in a tree, by an operator."""

AT_EVERY_POSITION = "scan"
"""The method of models that answer to every prefix of a word."""

AT_EVERY_NODE, AT_EVERY_NODE_ALONG = "factors", "factors_along"
"""Methods of models that answer to all nodes of a tree."""

CLASSES_AT_EVERY_NODE, CLASSES_AT_EVERY_NODE_ALONG = "monoid_factors", "monoid_factors_along"
"""Methods of models that name the classes of all nodes in a monoid, too."""

MONOID_HEAD = "monoid_head."
"""What the parameters of a model are called that only its training has."""


class StepShape(NamedTuple):
    """The shape of a step: the length of its words, and whether trees are random."""

    length: int
    is_random: bool = False


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
        model = drawn(
            lambda: self.model_of(
                vocab_size=self.task.vocab_size,
                num_classes=self.task.num_classes,
                monoid_size=self.monoid_size,
            ),
            seed=word % 2**32,
        )
        if self.initial is not None:
            own = {k: v for k, v in model.state_dict().items() if k.startswith(MONOID_HEAD)}
            model.load_state_dict({**own, **self.initial})
        return model

    @property
    def monoid_size(self) -> int:
        """How many classes it is told of; 0 where it is told none."""
        if self.settings.labels != "classes":
            return 0
        if not isinstance(self.task, RegularTask):
            raise LdruError(
                f"{self.task.name!r} is a data set, whose words have no classes: train it with "
                "labels='words'"
            )
        try:
            return self.task.monoid.size
        except LdruError as problem:
            raise LdruError(
                f"{self.task.name!r} has no classes to tell, since {problem}; train it with "
                "labels='factors'"
            ) from problem

    def model_of(self, *, vocab_size: int, num_classes: int, monoid_size: int) -> nn.Module:
        """A model of some size, with a head for what its training is told of."""
        model = self.build(vocab_size=vocab_size, num_classes=num_classes)
        if monoid_size:
            _check_answers(model, self.settings.labels)
            model.add_monoid_head(monoid_size)  # type: ignore[operator]
        return model


class Fleet:
    """Members with their parameters, ready to step.

    group: the processes that share its batches.
    """

    def __init__(
        self,
        members: Sequence[Member],
        *,
        device: torch.device | str = "cpu",
        group: Group = ALONE,
    ) -> None:
        _check_alike(members)
        group.check(members[0].settings.batch_size)
        self.group = group
        self.members = list(members)
        self.settings = members[0].settings
        self.device = torch.device(device)
        self.dtype = self.settings.dtype
        models = [member.model() for member in members]
        # Large enough for every member; only its structure is used, so its weights leave no trace.
        with torch.random.fork_rng(devices=[]):
            skeleton = members[0].model_of(
                vocab_size=max(member.task.vocab_size for member in members),
                num_classes=max(member.task.num_classes for member in members),
                monoid_size=max(member.monoid_size for member in members),
            )
        self.skeleton = skeleton.to(device=self.device, dtype=self.dtype)
        states = [dict(model.named_parameters()) for model in models]
        shapes = [{name: tensor.shape for name, tensor in state.items()} for state in states]
        layout = Layout(self.skeleton, shapes, device=self.device)
        self.parameters = Parameters(layout, layout.matrix(states, dtype=self.dtype))
        self.optimizer = self._make_optimizer()
        self.average: Parameters | None = None
        if self.settings.average:
            self.average = Parameters(layout, self.parameters.matrix.clone())
        horizons = [max(1, round(m.settings.average * m.steps)) for m in members]
        self._horizons = torch.tensor(horizons, device=self.device)[:, None]
        self.step_number = torch.zeros((), dtype=torch.int64, device=self.device)
        self.draws = make_draws(
            [member.task for member in members],
            [member.seed for member in members],
            batch_size=self.settings.batch_size,
            device=self.device,
        )
        self.hard_words: HardWords | None = None
        if self.settings.hard_words:
            self.hard_words = self._make_hard_words()
        self.compositions: ComposedWords | None = None
        self._dropout_rates = self._stack_rates(models)
        self._random_layers = self._number_layers()
        self._full_rates = self._rate_buffers(torch.ones((), device=self.device))
        rises = [max(1.0, m.settings.dropout_rise * m.steps) for m in members]
        self._rise_steps = torch.tensor(rises, dtype=torch.float64, device=self.device)
        self._classes = torch.tensor([m.task.num_classes for m in members], device=self.device)
        sizes = [member.monoid_size for member in members]
        self._monoid_sizes = torch.tensor(sizes, device=self.device)
        self._associativity = torch.tensor(
            [m.settings.associativity for m in members], dtype=self.dtype, device=self.device
        )
        if self.settings.associativity:
            _check_method(self.skeleton, WITH_ASSOCIATIVITY, "associativity")
        if self.settings.random_trees:
            _check_method(self.skeleton, ALONG_TREES, "random_trees")
        if self.settings.labels != "words":
            self._check_labels()
        if self.settings.compositions:
            self.compositions = self._make_compositions()

    def plan(self, begin: int, end: int) -> list[StepShape]:
        """Make ready for steps begin..end - 1: the shape of each."""
        if self.hard_words is not None and begin % SEARCH_EVERY == 0:
            with products_in(self.settings.precision, device=self.device):
                self.hard_words.search(self.scores, self.step_number)
        if self.compositions is not None:
            self.compositions.draw(begin)
        lengths = self.draws.plan(begin, end, self.settings)
        are_random = random_tree_steps(begin, end, share=self.settings.random_trees)
        return list(map(StepShape, lengths, are_random))

    def step(self, length: int, is_random: bool = False) -> Tensor:
        """One training step on words of (up to) that length: the losses before it [members].

        is_random: along random trees.
        """
        batch = self.draw(length)
        with products_in(self.settings.precision, device=self.device):
            losses = self.losses_along_trees(batch) if is_random else self.losses(batch)
            gradients = torch.autograd.grad(
                losses.sum(), list(self.parameters.views.values()), materialize_grads=True
            )
        gradient = self.group.mean(self.parameters.gradient(gradients))
        self.optimizer.update(self.parameters.matrix, gradient, self.step_number)
        if self.average is not None:
            count = torch.minimum(self.step_number + 1, self._horizons)
            self.average.matrix.lerp_(self.parameters.matrix, 1 / count.to(self.dtype))
        self.step_number += 1
        return self.group.mean(losses.detach())

    def draw(self, length: int) -> PaddedBatch:
        """The words of the next step; of several processes, this one's share."""
        batch = self.draws.training(self.step_number, length, self.settings)
        if self.hard_words is not None:
            batch = self.hard_words.mix(batch, self.step_number, length)
        if self.compositions is not None:
            batch = self.compositions.mix(batch, self.step_number, length)
        return PaddedBatch(
            *(None if part is None else self.group.share(part, dim=1) for part in batch)  # type: ignore[arg-type]
        )

    def losses(self, batch: PaddedBatch) -> Tensor:
        """Of every member in training mode: cross entropy, and associativity if asked [members]."""
        words = (batch.tokens, batch.lengths)
        if self.settings.labels == "prefixes":
            scores = self._call(AT_EVERY_POSITION, *words, is_training=True)
            return prefix_cross_entropy(scores, self._prefix_labels(batch), self._classes)
        if self.settings.labels == "factors":
            factors = self._call(AT_EVERY_NODE, *words, is_training=True)
            return self._factor_losses(batch.tokens, *factors)
        if self.settings.labels == "classes":
            factors = self._call(CLASSES_AT_EVERY_NODE, *words, is_training=True)
            return self._class_losses(batch.tokens, *factors)
        if not self.settings.associativity:
            scores = self._call("forward", *words, is_training=True)
            return cross_entropy(scores, batch.labels, self._classes)
        scores, lost = self._call(WITH_ASSOCIATIVITY, *words, is_training=True)
        losses = cross_entropy(scores, batch.labels, self._classes)
        return losses + self._associativity * lost.mean(dim=1)

    def _prefix_labels(self, batch: PaddedBatch) -> Tensor:
        """The labels of all prefixes of words, -1 where there is none: [members, batch, length]."""
        assert isinstance(self.draws, RegularDraws)
        labels = self.draws.label_prefixes(batch.tokens)
        if batch.lengths is None:
            return labels
        place = torch.arange(labels.shape[2], device=self.device)
        return torch.where(place < batch.lengths[..., None], labels, -1)

    def losses_along_trees(self, batch: PaddedBatch) -> Tensor:
        """Cross entropy of every member in training mode, along random trees [members]."""
        rows = batch.tokens.shape[1] * self.group.size
        keys = self.group.share(self.draws.tree_keys(self.step_number, batch_size=rows), dim=1)
        words = (batch.tokens, batch.lengths)
        if self.settings.labels == "factors":
            factors = self._call(AT_EVERY_NODE_ALONG, *words, is_training=True, tree_keys=keys)
            return self._factor_losses(batch.tokens, *factors)
        if self.settings.labels == "classes":
            method = CLASSES_AT_EVERY_NODE_ALONG
            factors = self._call(method, *words, is_training=True, tree_keys=keys)
            return self._class_losses(batch.tokens, *factors)
        scores = self._call(ALONG_TREES, *words, is_training=True, tree_keys=keys)
        return cross_entropy(scores, batch.labels, self._classes)

    def _factor_losses(self, tokens: Tensor, scores: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        """Of stretches of words, as a model's `factors` gives them, each [members, rows, ...]."""
        labels = self.draws.label_factors(tokens, begin, end)
        return factor_cross_entropy(scores, labels, end - begin, self._classes)

    def _class_losses(
        self, tokens: Tensor, scores: Tensor, classes: Tensor, begin: Tensor, end: Tensor
    ) -> Tensor:
        """The losses of labels and of classes, as a model's `monoid_factors` has their scores."""
        assert isinstance(self.draws, RegularDraws)
        told = self.draws.classify_factors(tokens, begin, end)
        of_classes = factor_cross_entropy(classes, told, end - begin, self._monoid_sizes)
        return of_classes + self._factor_losses(tokens, scores, begin, end)

    def validate(self) -> tuple[Tensor, Tensor]:
        """Loss and accuracy on each member's validation words: [members], [members]."""
        batches = self.draws.validation(self.settings)
        precision = self.settings.precision
        scores = torch.cat([ask(self.scores, b, precision=precision) for b in batches], dim=1)
        labels = torch.cat([batch.labels for batch in batches], dim=1)
        loss = cross_entropy(scores, labels, self._classes)
        return loss, (scores.argmax(dim=-1) == labels).to(self.dtype).mean(dim=1)

    @torch.no_grad()
    def scores(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores without dropout: [members, batch, length] -> [members, batch, classes]."""
        scores = self._call("forward", tokens, lengths, is_training=False)
        return within_classes(scores, self._classes)

    def select(self, indices: Sequence[int]) -> "Fleet":
        """A fleet of some of the members, as they are now."""
        members = [self.members[index] for index in indices]
        fleet = Fleet(members, device=self.device, group=self.group)
        ours, theirs = self.parameters.layout, fleet.parameters.layout
        state = {
            # Without its largest member, a fleet needs less padding.
            name: theirs.matrix([ours.member(matrix, i) for i in indices], dtype=self.dtype)
            for name, matrix in self._matrices().items()
        }
        if self.hard_words is not None and fleet.hard_words is not None:
            state |= self.hard_words.rows(indices, longest=fleet.hard_words.longest)
        fleet.load_state(state, int(self.step_number))
        return fleet

    def state(self) -> dict[str, Tensor]:
        """The tensors that training changes, a row per member."""
        pools = {} if self.hard_words is None else self.hard_words.state
        return {**self._matrices(), **pools}

    def load_state(self, state: Mapping[str, Tensor], step: int) -> None:
        """Continue from a state of a fleet with the same members."""
        ours = self.state()
        if ours.keys() != state.keys():
            raise RunError(
                f"the saved state has {', '.join(state)}, this fleet's {', '.join(ours)}"
            )
        for name, tensor in ours.items():
            if (tensor.shape, tensor.dtype) != (state[name].shape, state[name].dtype):
                raise RunError(
                    f"the saved {name} are {state[name].dtype} {list(state[name].shape)}, this "
                    f"fleet's {tensor.dtype} {list(tensor.shape)}"
                )
        if self.hard_words is not None:
            self.hard_words.check(state)
        for name, tensor in ours.items():
            tensor.copy_(state[name])
        self.step_number.fill_(step)

    @property
    def kept(self) -> Parameters:
        """The weights that count: those of the last step, or their average."""
        is_average = self.settings.keep == "average" and self.average is not None
        return self.average if is_average else self.parameters  # type: ignore[return-value]

    def weights(self, index: int) -> dict[str, Tensor]:
        """The state dict of one member's own model, on the CPU, without what is for training."""
        member = self.parameters.layout.member(self.kept.matrix, index)
        return {
            name: tensor.cpu()
            for name, tensor in member.items()
            if not name.startswith(MONOID_HEAD)
        }

    def learning_rates(self) -> list[float]:
        """The rate of the next step of every member."""
        return self.optimizer.sizes.rate(self.step_number).flatten().tolist()

    def _call(
        self,
        method: str,
        tokens: Tensor,
        lengths: Tensor | None,
        *,
        is_training: bool,
        tree_keys: Tensor | None = None,
    ) -> Any:
        """Call a method of every member's model; results have an axis for the members.

        tree_keys: of random trees, for the method that takes them [members, batch, 2].
        """
        self.skeleton.train(is_training)
        views = (self.parameters if is_training else self.kept).views
        buffers = self._random_buffers(tokens.shape[1]) if is_training else {}
        given = (views, buffers, tokens, lengths, tree_keys)

        def call(
            views: dict,
            buffers: dict,
            tokens: Tensor,
            lengths: Tensor | None,
            tree_keys: Tensor | None,
        ) -> Any:
            state = {**views, **buffers}
            if tree_keys is None:
                return call_method(self.skeleton, method, state, tokens, lengths)
            share = self.settings.merge_share
            trees = RandomTrees(tree_keys, tokens.shape[1], lengths, share)
            return call_method(self.skeleton, method, state, tokens, trees, lengths)

        if len(self.members) == 1:  # nothing to map over; a plain call is faster
            alone = tree_map(lambda part: part[0] if isinstance(part, Tensor) else part, given)
            return tree_map(lambda tensor: tensor[None], call(*alone))
        axes = (0, 0, 0, *(None if part is None else 0 for part in (lengths, tree_keys)))
        return vmap(call, in_dims=axes)(*given)

    def _matrices(self) -> dict[str, Tensor]:
        """The tensors that a step changes, each [members, parameters]."""
        averages = {} if self.average is None else {"average": self.average.matrix}
        return {"parameters": self.parameters.matrix, **averages, **self.optimizer.state}

    def _check_labels(self) -> None:
        if isinstance(self.draws, DataDraws):
            _check_stretches(self.draws.tasks, self.settings.labels)
        _check_answers(self.skeleton, self.settings.labels)

    def _make_compositions(self) -> ComposedWords:
        assert isinstance(self.draws, RegularDraws), "labels of factors were checked before"
        share, longest = self.settings.compositions, self.settings.max_length
        return ComposedWords(self.draws, share=share, max_length=longest)

    def _make_hard_words(self) -> HardWords:
        if not isinstance(self.draws, RegularDraws):
            raise LdruError(
                f"{self.members[0].task.name!r} is a data set, which labels no other words: train "
                "it with hard_words=0"
            )
        hard = HardWords(
            self.draws, share=self.settings.hard_words, max_length=self.settings.max_length
        )
        for index, member in enumerate(self.members):
            hard.plant(index, member.counterexamples)
        return hard

    def _stack_rates(self, models: Sequence[nn.Module]) -> dict[str, Tensor]:
        """The dropout rates of all members, by the layer's name, if any drops: [members] each."""
        rates = {
            name: [model.get_submodule(name).rate for model in models]
            for name, module in self.skeleton.named_modules()
            if isinstance(module, Dropout)
        }
        return {
            name: torch.tensor(some, dtype=torch.float64, device=self.device)
            for name, some in rates.items()
            if any(some)
        }

    def _number_layers(self) -> dict[str, int]:
        """The random layers that do something, with their number among all.

        Numbers are part of every run's data: a layer draws the same whether others do or not.
        """
        keyed = {n: m for n, m in self.skeleton.named_modules() if isinstance(m, Keyed)}
        return {
            name: number
            for number, (name, layer) in enumerate(keyed.items())
            if name in self._dropout_rates or not isinstance(layer, Dropout)
        }

    def _rate_buffers(self, risen: Tensor) -> dict[str, Tensor]:
        """The buffers of dropout, of which each member has risen to a share of its rate."""
        return {
            f"{name}.{part}": buffer
            for name, rates in self._dropout_rates.items()
            for part, buffer in rate_buffers(rates * risen, dtype=self.dtype).items()
        }

    def _random_buffers(self, batch_size: int) -> dict[str, Tensor]:
        """This step's buffers of every random layer; each row of each layer has its own key."""
        if not self._random_layers:
            return {}
        keys = self.draws.row_keys(
            self.step_number,
            num_layers=1 + max(self._random_layers.values()),
            batch_size=batch_size * self.group.size,
        )
        keys = self.group.share(keys, dim=2)
        named = {f"{name}.keys": keys[number] for name, number in self._random_layers.items()}
        if not self.settings.dropout_rise:
            return {**named, **self._full_rates}
        risen = (self.step_number.double() / self._rise_steps).clamp(max=1)
        return {**named, **self._rate_buffers(risen)}

    def _make_optimizer(self) -> Optimizer:
        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=self.dtype, device=self.device)[:, None]

        sizes = StepSizes(
            learning_rate=column([member.settings.learning_rate or 0 for member in self.members]),
            warmup_steps=column([int(m.settings.warmup * m.steps) for m in self.members]),
            steps=column([m.steps for m in self.members]),
            decay=self.settings.decay,
            l2=self.settings.l2,
            weight_decay=self.settings.weight_decay,
            clip=self.settings.clip,
            centralise=self.settings.centralise,
            is_amsgrad=self.settings.optimizer == "amsgrad",
        )
        return make_optimizer(self.parameters.layout, self.parameters.matrix, sizes=sizes)


def _check_alike(members: Sequence[Member]) -> None:
    """Members may differ in task, seed, dropout and what `conflicts` leaves free."""
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


def _check_method(model: nn.Module, method: str, setting: str) -> None:
    """Raise unless a model has what a setting asks for."""
    if not hasattr(model, method):
        raise LdruError(
            f"{type(model).__name__} reduces words by no operator in a tree: train it with "
            f"{setting}=0"
        )


def _check_stretches(tasks: Sequence[DataTask], labels: str) -> None:
    """Raise unless data sets label what a model is to be told of."""
    ways = {task.label_stretches for task in tasks}
    if None in ways:
        raise LdruError(
            f"{tasks[0].name!r} is a data set, which labels whole words: train it with "
            "labels='words'"
        )
    if labels != "factors":
        raise LdruError(
            f"{tasks[0].name!r} is a data set, which labels stretches of words, but no {labels}: "
            "train it with labels='words' or 'factors'"
        )
    if len(ways) > 1:
        raise LdruError(
            f"members of a fleet label stretches in one way, {', '.join(t.name for t in tasks)} "
            "have several: train each by itself"
        )


def _check_answers(model: nn.Module, labels: str) -> None:
    """Raise unless a model answers to what it is to be told."""
    answers = {
        "prefixes": AT_EVERY_POSITION,
        "factors": AT_EVERY_NODE,
        "classes": CLASSES_AT_EVERY_NODE,
    }
    if not hasattr(model, answers[labels]):
        raise LdruError(
            f"{type(model).__name__} gives no answer to {labels} of words: train it with "
            "labels='words', or take the model ldru"
        )


def call_method(
    module: nn.Module,
    method: str,
    state: Mapping[str, Tensor],
    *arguments: Tensor | RandomTrees | None,
) -> Any:
    """Call a method of a module with these parameters and buffers in place of its own."""
    prefixed = {f"module.{name}": value for name, value in state.items()}
    return functional_call(_Method(module, method), prefixed, arguments)


class _Method(nn.Module):
    """A module whose call is a method of another: `functional_call` knows calls alone."""

    def __init__(self, module: nn.Module, method: str) -> None:
        super().__init__()
        self.module, self.method = module, method

    def forward(self, *arguments: Tensor | RandomTrees | None) -> Any:
        return getattr(self.module, self.method)(*arguments)
