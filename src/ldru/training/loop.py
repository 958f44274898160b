"""The training loop: steps, validations, logs and checkpoints of one fleet."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from ldru.base.errors import RunError
from ldru.training.capture import CapturedSteps
from ldru.training.checkpoint import Checkpoint, Saved
from ldru.training.distributed import ALONE, Group
from ldru.training.execution import Execution
from ldru.training.fleet import Fleet, StepShape
from ldru.training.interruption import Interruption
from ldru.training.log import LogEntry
from ldru.training.member import Member

REPORT_EVERY = 50
"""Steps between two looks at the losses: each look waits for the device."""

IN_MEMORY = Execution()

Finished = Callable[[Member, dict[str, Tensor], list[LogEntry]], None]


def train_fleet(
    members: Sequence[Member],
    *,
    on_finish: Finished,
    device: torch.device | str = "cpu",
    execution: Execution = IN_MEMORY,
    checkpoint: Checkpoint | None = None,
    group: Group = ALONE,
) -> None:
    """Train every member to its own number of steps.

    on_finish: takes each member with its weights and log, as soon as it is done.
    execution: how often to save, and who watches.
    checkpoint: where to keep the state. When there is one already, training goes on from it with
        the members that are in it, and leaves the others alone.
    group: the processes that train this fleet together; the first one keeps the state.
    """
    trainer = Trainer(
        members, device=device, execution=execution, checkpoint=checkpoint, group=group
    )
    # Several processes would stop at different steps.
    can_keep = checkpoint is not None and group.size == 1
    with trainer.interruption if can_keep else nullcontext():
        while trainer.hand_over(on_finish):
            trainer.train_to_next_stop()
    if trainer.interruption.is_asked:  # when nothing was left to keep
        raise trainer.interruption.problem


class Trainer:
    """A fleet on its way, with what has been noted of it."""

    def __init__(
        self,
        members: Sequence[Member],
        *,
        device: torch.device | str,
        execution: Execution,
        checkpoint: Checkpoint | None,
        group: Group,
    ) -> None:
        self.checkpoint = checkpoint if group.is_first else None
        self.execution = execution
        self.logs: dict[str, list[LogEntry]] = {member.name: [] for member in members}
        saved = checkpoint.load() if checkpoint is not None and checkpoint.exists() else None
        self.data = {
            member.task.name: words.checksum
            for member in members
            if (words := member.task.training_set) is not None
        }
        if saved:
            with checkpoint.explained():  # type: ignore[union-attr]
                _check_saved(saved, members)
            _check_data(saved.data, self.data)
        self.step = saved.step if saved else 0
        self.fleet = Fleet(
            _members_of(saved, members) if saved else members, device=device, group=group
        )
        self.loss_sum = torch.zeros(2, len(self.fleet.members), dtype=torch.float64)
        if saved:
            self.logs = saved.logs
            self.loss_sum = saved.tensors.pop("loss_sum")
            with checkpoint.explained():  # type: ignore[union-attr]
                self.fleet.load_state(saved.tensors, saved.step)
        if self.checkpoint is not None:
            for name, log in self.logs.items():
                self.checkpoint.write_log(name, log, is_new=True)
        self.take_step = _stepper(self.fleet)
        self.interruption = Interruption()
        self.started_at = time.monotonic()
        self.saved_at = self.started_at if saved else None
        self.logged_at = dict.fromkeys(self.logs, self.started_at)

    def hand_over(self, on_finish: Finished) -> bool:
        """Let go of the members that have taken all their steps; whether any are left."""
        members = self.fleet.members
        running = [i for i, member in enumerate(members) if member.steps > self.step]
        for index, member in enumerate(members):
            if index not in running:
                on_finish(member, self.fleet.weights(index), self.logs[member.name])
        if running and len(running) < len(members):
            self.fleet = self.fleet.select(running)
            self.take_step = _stepper(self.fleet)
            self.loss_sum = self.loss_sum[:, running]
        return bool(running)

    def train_to_next_stop(self) -> None:
        """Take steps until a validation or the end of some member is due, and log it."""
        settings, members = self.fleet.settings, self.fleet.members
        end = min(_next(self.step, settings.validate_every), *(m.steps for m in members))
        while self.step < end:
            shapes = self.fleet.plan(self.step, min(end, _next(self.step, REPORT_EVERY)))
            try:
                losses = torch.stack(self._take_steps(shapes)).double().cpu()
            except torch.OutOfMemoryError as problem:
                raise RunError(_too_large(self.fleet)) from problem
            stop = self.step + len(losses)
            self._check_finite(losses)
            self._check_weights(stop)
            self.loss_sum[0] += losses.sum(dim=0)
            self.loss_sum[1] += len(losses)
            self.step = stop
            names = [member.name for member in members]
            for observer in self.execution.observers:
                observer.on_steps(stop, dict(zip(names, losses[-1].tolist(), strict=True)))
            if self.step < end:
                self._keep()
        self._log()
        is_over = all(member.steps <= self.step for member in members)
        self._keep(is_first=self.saved_at is None and not is_over)

    def _keep(self, *, is_first: bool = False) -> None:
        """Save the state when it is time to, and when training is interrupted.

        is_first: save it anyway; so it is after the first validation, when settings have shown that
            they work.
        """
        since = time.monotonic() - (self.saved_at or self.started_at)
        if is_first or since > self.execution.checkpoint_seconds or self.interruption.is_asked:
            self._save()
        if self.interruption.is_asked:
            raise self.interruption.problem

    def _take_steps(self, shapes: Sequence[StepShape]) -> list[Tensor]:
        """The losses of steps of these shapes, of fewer when interrupted."""
        losses: list[Tensor] = []
        for shape in shapes:
            losses.append(self.take_step(*shape))
            if self.interruption.is_asked:
                break
        return losses

    def _log(self) -> None:
        """Validate, and note it for the members whose turn it is."""
        validation_loss, accuracy = (column.tolist() for column in self.fleet.validate())
        rates = self.fleet.learning_rates()
        now = time.monotonic()
        entries = {}
        for index, member in enumerate(self.fleet.members):
            if self.step % self.fleet.settings.validate_every and self.step != member.steps:
                continue
            total, count = self.loss_sum[:, index].tolist()
            self.loss_sum[:, index] = 0
            entries[member.name] = LogEntry(
                step=self.step,
                loss=total / count,
                validation_loss=validation_loss[index],
                validation_accuracy=accuracy[index],
                learning_rate=rates[index],
                seconds=now - self.logged_at[member.name],
            )
            self.logged_at[member.name] = now
            self.logs[member.name].append(entries[member.name])
            if self.checkpoint is not None:
                self.checkpoint.write_log(member.name, [entries[member.name]], is_new=False)
        for observer in self.execution.observers:
            observer.on_log(entries)

    def _save(self) -> None:
        if self.checkpoint is not None:
            tensors = {**self.fleet.state(), "loss_sum": self.loss_sum}
            names = [member.name for member in self.fleet.members]
            self.checkpoint.save(
                Saved(tensors=tensors, names=names, step=self.step, logs=self.logs, data=self.data)
            )
        self.saved_at = time.monotonic()

    def _check_finite(self, losses: Tensor) -> None:
        bad = (~torch.isfinite(losses)).nonzero()
        if not len(bad):
            return
        row, column = bad[0].tolist()
        raise RunError(
            f"the loss of {self.fleet.members[column].name} became {losses[row, column].item()} "
            f"at step {self.step + row + 1}; {self._kept()}; {self._way_out()}"
        )

    def _check_weights(self, step: int) -> None:
        """A last update can spoil weights without a loss that shows it."""
        bad = (~torch.isfinite(self.fleet.parameters.matrix).all(dim=1)).nonzero()
        if len(bad):
            raise RunError(
                f"the weights of {self.fleet.members[int(bad[0])].name} are no longer finite "
                f"after step {step}; {self._kept()}; {self._way_out()}"
            )

    def _way_out(self) -> str:
        if self.fleet.device.type == "cuda" and self.fleet.settings.precision == "tf32":
            return "try a smaller learning rate, or precision float32, whose range is wider"
        return "try a smaller learning rate"

    def _kept(self) -> str:
        if self.checkpoint is None or not self.checkpoint.exists():
            return "nothing was kept"
        return f"step {self.checkpoint.load().step} is kept in {str(self.checkpoint.folder)!r}"


def _too_large(fleet: Fleet) -> str:
    """How many members would fit, from a step of one alone."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(fleet.device)
    before = torch.cuda.memory_allocated(fleet.device)
    alone = Fleet(fleet.members[:1], device=fleet.device)
    try:
        alone.step(alone.draws.longest(alone.settings))
    except torch.OutOfMemoryError:
        return (
            f"not even one model of this size fits into what is left of the memory of "
            f"{fleet.device}; try a smaller batch, or a smaller model"
        )
    one = torch.cuda.max_memory_allocated(fleet.device) - before
    free, _ = torch.cuda.mem_get_info(fleet.device)
    room = free + torch.cuda.memory_reserved(fleet.device)
    fit = min(len(fleet.members) - 1, int(0.8 * room / one))
    return (
        f"a fleet of {len(fleet.members)} does not fit into the memory of {fleet.device}; about "
        f"{max(1, fit)} members of this size would: train them in several calls"
    )


def _stepper(fleet: Fleet) -> Callable[[int, bool], Tensor]:
    """The way to take a fleet's steps: captured graphs on one GPU, else the fleet itself."""
    is_captured = fleet.device.type == "cuda" and fleet.group.size == 1
    return CapturedSteps(fleet).step if is_captured else fleet.step


def _members_of(saved: Saved, members: Sequence[Member]) -> list[Member]:
    """The members that a checkpoint holds, in its order."""
    by_name = {member.name: member for member in members}
    return [by_name[name] for name in saved.names]


def _check_saved(saved: Saved, members: Sequence[Member]) -> None:
    """Raise where a checkpoint cannot be of these members."""
    steps = {member.name: member.steps for member in members}
    strangers = [name for name in (*saved.names, *saved.logs) if name not in steps]
    if strangers:
        raise RunError(f"it holds {strangers[0]}, which was not asked for")
    if not saved.names or len(set(saved.names)) != len(saved.names):
        raise RunError("it names no member, or one twice")
    for name in saved.names:
        log = saved.logs.get(name)
        if log is None or saved.step > steps[name] or (saved.step == steps[name] and not log):
            raise RunError(f"step {saved.step} and the log of {name} do not fit together")
    total = saved.tensors.get("loss_sum")
    if total is None or total.shape != (2, len(saved.names)) or total.dtype != torch.float64:
        raise RunError("it has no sums of the losses of its members")


def _check_data(before: dict[str, str], now: dict[str, str]) -> None:
    """Raise where a data set is not the one that the first steps were taken on."""
    for name, checksum in before.items():
        if now.get(name, checksum) != checksum:
            raise RunError(
                f"this training began with other words of {name!r} (checksum {checksum}, now "
                f"{now[name]}); bring them back, or train in another folder"
            )


def _next(step: int, interval: int) -> int:
    """The next multiple of an interval after a step."""
    return (step // interval + 1) * interval
