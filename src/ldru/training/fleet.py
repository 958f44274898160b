"""A fleet: models of one architecture that train in lock-step, each as if it were alone.

Members have their own weights, data and dropout. Everything random is a function of (seed, stream,
step, index), so a member's words and masks do not depend on who else is in the fleet. Of tasks that
draw their words, the length of a step depends on the step alone, because the members share it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from ldru.base.errors import LdruError, RunError
from ldru.base.precision import products_in
from ldru.evaluation.answers import ask
from ldru.tasks.batch import PaddedBatch
from ldru.training.composed_words import ComposedWords
from ldru.training.distributed import ALONE, Group
from ldru.training.draws import make_draws
from ldru.training.draws.base import random_tree_steps
from ldru.training.draws.regular import RegularDraws
from ldru.training.fused_optimizer import make_optimizer
from ldru.training.hard_words import SEARCH_EVERY, HardWords
from ldru.training.lessons import Lessons
from ldru.training.loss import cross_entropy, within_classes
from ldru.training.member import CLASS_HEAD, Member, check_alike, common_model
from ldru.training.muon import Muon
from ldru.training.optimizer import Optimizer, StepSizes
from ldru.training.parameters import Layout, Parameters
from ldru.training.random_layers import RandomLayers
from ldru.tree import RandomTrees


class StepShape(NamedTuple):
    """The shape of a step: the length of its words, and whether trees are random."""

    length: int
    is_random: bool = False


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
        check_alike(members)
        group.check(members[0].settings.batch_size)
        self.group = group
        self.members = list(members)
        self.settings = members[0].settings
        self.device = torch.device(device)
        self.dtype = self.settings.dtype
        models = [member.model() for member in members]
        # Only its structure is used, so that its weights leave no trace.
        with torch.random.fork_rng(devices=[]):
            self.skeleton = common_model(members).to(device=self.device, dtype=self.dtype)
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
        self.hard_words = self._make_hard_words() if self.settings.hard_words else None
        self.random_layers = RandomLayers(
            models,
            rises=[member.settings.dropout_rise * member.steps for member in members],
            dtype=self.dtype,
            device=self.device,
        )
        self._classes = torch.tensor([m.task.num_classes for m in members], device=self.device)
        self.lessons = Lessons(
            self.settings,
            self.draws,
            self.skeleton,
            classes=self._classes,
            stretch_classes=torch.tensor([m.stretch_classes for m in members], device=self.device),
            associativity=torch.tensor(
                [m.settings.associativity for m in members], dtype=self.dtype, device=self.device
            ),
        )
        self.compositions = self._make_compositions() if self.settings.compositions else None

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
            losses = self.losses(batch, is_random=is_random)
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

    def losses(self, batch: PaddedBatch, *, is_random: bool = False) -> Tensor:
        """The losses of members in training mode, of their answers to a step's words [members].

        is_random: along random trees.
        """
        lesson, keys = self.lessons.balanced, None
        if is_random:
            rows = batch.tokens.shape[1] * self.group.size
            lesson = self.lessons.random
            keys = self.group.share(self.draws.tree_keys(self.step_number, batch_size=rows), dim=1)
        words = (batch.tokens, batch.lengths)
        answers = self._call(lesson.method, *words, is_training=True, tree_keys=keys)
        return lesson.losses(batch, answers)

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
            name: tensor.cpu() for name, tensor in member.items() if not name.startswith(CLASS_HEAD)
        }

    def random_buffers(self, batch_size: int) -> dict[str, Tensor]:
        """The next step's buffers of every random layer, by name, for the words of this process."""
        return self.random_layers.buffers(
            self.draws, self.step_number, batch_size=batch_size, group=self.group
        )

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
        buffers = self.random_buffers(tokens.shape[1]) if is_training else {}
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

    def _make_compositions(self) -> ComposedWords:
        draws, settings = self._labelling_draws("compositions"), self.settings
        return ComposedWords(draws, share=settings.compositions, max_length=settings.max_length)

    def _make_hard_words(self) -> HardWords:
        draws, settings = self._labelling_draws("hard_words"), self.settings
        hard = HardWords(draws, share=settings.hard_words, max_length=settings.max_length)
        for index, member in enumerate(self.members):
            hard.plant(index, member.counterexamples)
        return hard

    def _labelling_draws(self, setting: str) -> RegularDraws:
        """The draws, of tasks that label the words which a setting asks for."""
        if not isinstance(self.draws, RegularDraws):
            raise LdruError(
                f"{self.members[0].task.name!r} is a data set, which labels no other words: train "
                f"it with {setting}=0"
            )
        return self.draws

    def _make_optimizer(self) -> Optimizer | Muon:
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
            is_amsgrad=self.settings.optimizer != "adam",
        )
        layout, matrix = self.parameters.layout, self.parameters.matrix
        found = make_optimizer(layout, matrix, sizes=sizes)
        return Muon(layout, matrix, rest=found) if self.settings.optimizer == "muon" else found


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
