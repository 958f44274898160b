"""The command line: parses, calls one public function, prints.

Results go to standard output, progress to standard error. Exit code 0 done, 1 failed, 2 misused.
"""

import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NoReturn

import ldru
from ldru.analysis.extraction import TOLERANCES, Extraction, check_tolerances
from ldru.config import Json, to_json
from ldru.errors import LdruError, MissingExtraError, unknown_name
from ldru.evaluation import METRICS, Evaluation, LengthResult, Part, parse_lengths
from ldru.experiments.analysing import (
    analyse_associativity,
    analyse_embeddings,
    embeddings_json,
)
from ldru.experiments.analysis_figures import (
    associativity_figure,
    coverage_figure,
    embeddings_figure,
    heatmaps_figure,
)
from ldru.experiments.bench_models import bench_models
from ldru.experiments.bench_text import bench_text
from ldru.experiments.benchmarks import bench_fleet, bench_scaling, machine
from ldru.experiments.board import Board
from ldru.experiments.defaults import default_model, default_training
from ldru.experiments.engines import make_engine
from ldru.experiments.evaluating import evaluate_runs, together
from ldru.experiments.figures import (
    BENCHMARK_FIGURES,
    accuracy_figure,
    check_figure_path,
    monoid_figure,
    save_figure,
)
from ldru.experiments.heatmaps import heatmaps
from ldru.experiments.observers import ProgressBar, counting, make_trackers
from ldru.experiments.output import write_table
from ldru.experiments.packing import pack, unpack
from ldru.experiments.predicting import predict_stream
from ldru.experiments.presets import TABLES
from ldru.experiments.records import evaluation_json
from ldru.experiments.rendering import as_markdown, cell_results
from ldru.experiments.reproduction import FLEET_SIZE, make_plan
from ldru.experiments.results import Results, State
from ldru.experiments.run import Run
from ldru.experiments.summary import summarise
from ldru.experiments.table import Table as PaperTable
from ldru.experiments.task_coverage import coverage, coverage_rows, wanted_rows
from ldru.experiments.training import check_seed, find_device
from ldru.files import write_text
from ldru.models import MODELS, ModelSpec, model_spec
from ldru.tasks import DataTask, Task
from ldru.tasks.find import data_task
from ldru.tasks.text import TEXT_SETS, prepare
from ldru.tasks.text.store import keep_vocabulary
from ldru.training.distributed import this_process
from ldru.training.loop import CHECKPOINT_SECONDS
from ldru.training.spec import TrainSpec

try:
    import tyro
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from tyro.conf import FlagCreatePairsOff, OmitArgPrefixes, Positional
except ImportError as problem:
    raise SystemExit(f"error: {MissingExtraError(package=problem.name or 'tyro', extra='')}") from (
        problem
    )

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

LARGEST_PRINTED_MONOID = 30
LARGEST_PRINTED_CLASSES = 10


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language: a task's name, a regular expression or a machine file.

    Args:
        task: a name from `ldru tasks`.
        regex: a regular expression instead, e.g. '(01)*'.
        alphabet: the symbols of the regular expression, where it does not name them all.
        machine: a machine's JSON file instead.
    """

    task: Positional[str | None] = None
    regex: str | None = None
    alphabet: str | None = None
    machine: Path | None = None

    def find(self) -> Task:
        found = ldru.task(self.task, regex=self.regex, alphabet=self.alphabet, path=self.machine)
        if isinstance(found, DataTask):
            raise LdruError(f"{found.name!r} is a data set and no regular language")
        return found


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """List the tasks of the paper with the sizes of their machines.

    Args:
        json: print JSON.
    """

    json: bool = False

    def __call__(self) -> None:
        rows = [
            {
                "task": task.name,
                "symbols": task.vocab_size,
                "classes": task.num_classes,
                "states": task.machine.num_states,
                "monoid": ldru.monoid(task.machine).size,
                "steps": task.recommended.steps,
            }
            for task in ldru.TASKS.values()
        ]
        note = (
            "dyck_N and prefix_P_Q work for any N, P, Q; --regex and --machine for the rest.\n"
            "listops_100k, listops_500k, listops_1m: ListOps with that many training words.\n"
            f"{', '.join(TEXT_SETS)}: texts, see docs/text.md."
        )
        print_rows(rows, as_json=self.json, note=note)


@dataclass(frozen=True, kw_only=True)
class Models:
    """List the models with their sizes at the paper's settings (2 symbols, 2 classes).

    Args:
        json: print JSON.
    """

    json: bool = False

    def __call__(self) -> None:
        rows: list[dict[str, Json]] = []
        for name, kind in MODELS.items():
            model = ldru.build(name, vocab_size=2, num_classes=2)
            rows.append(
                {
                    "model": name,
                    "parameters": sum(p.numel() for p in model.parameters()),
                    "paper": kind.paper_parameters,
                    "note": kind.note,
                }
            )
            if self.json:
                rows[-1]["settings"] = to_json(model_spec(name))
        note = "`ldru train TASK --model MODEL --help` shows a model's settings."
        print_rows(rows, as_json=self.json, note=note)


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train models on tasks, evaluate them by length and keep each as a run folder.

    Args:
        tasks: names from `ldru tasks`; several train at once. A data set such as sst2 comes right
            behind `train`; it has settings of its own, and is evaluated on its test sets.
        regex: a regular expression instead of a name, e.g. '(01)*'.
        alphabet: the symbols of the regular expression, where it does not name them all.
        machine: a machine's JSON file instead of a name.
        data: a folder of texts, to be tokenised unless that was done (see `ldru prepare`).
        vocabulary: its vocab.txt, where it has none.
        model: a name from `ldru models`; its settings are options too.
        seeds: one model each.
        out: folder for the run folders.
        resume: keep finished runs and go on from the last checkpoint.
        init_from: a run folder whose weights to start from.
        lengths: lengths to evaluate, e.g. 41:500.
        words: test words per length.
        device: cpu or cuda; by default a GPU where there is one.
        checkpoint_seconds: how much work a sudden end may cost.
        track: tensorboard, wandb.
        json: print JSON.
    """

    tasks: Positional[tuple[str, ...]] = ()
    regex: str | None = None
    alphabet: str | None = None
    machine: Path | None = None
    data: str | None = None
    vocabulary: Path | None = None
    model: str = "ldru"
    seeds: tuple[int, ...] = (0,)
    out: Path = Path("runs")
    resume: bool = False
    init_from: Path | None = None
    lengths: str = "1:500"
    words: int = 512
    device: str | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    track: tuple[str, ...] = ()
    json: bool = False
    train: OmitArgPrefixes[TrainSpec] = field(default_factory=TrainSpec)
    is_data: ClassVar[bool] = False

    def __call__(self) -> None:
        lengths: Sequence[Part] = parse_lengths(self.lengths)
        check_words(self.words)
        tasks = [ldru.task(name) for name in self.tasks]
        if self.regex is not None or self.machine is not None or self.alphabet is not None:
            tasks.append(ldru.task(regex=self.regex, alphabet=self.alphabet, path=self.machine))
        if not tasks:
            raise LdruError("name a task (see `ldru tasks`), or give --regex or --machine")
        data = [task for task in tasks if isinstance(task, DataTask)]
        if bool(data) != self.is_data:
            raise LdruError(f"name the data set {data[0].name!r} right behind `train`")
        if self.data is not None:
            for task in tasks:
                prepare(task.name, data=self.data, vocabulary=self.vocabulary)
        is_first = this_process().is_first
        trackers = make_trackers(self.track if is_first else (), folder=self.out)
        steps = max(self.train.resolved(task).steps or 0 for task in tasks)
        with ProgressBar(steps=steps) as bar:
            runs = ldru.train_many(
                tasks,
                model=self.settings,  # type: ignore[attr-defined]
                seeds=self.seeds,
                settings=self.train,
                out=self.out,
                resume=self.resume,
                init_from=self.init_from,
                device=self.device,
                checkpoint_seconds=self.checkpoint_seconds,
                observers=[bar, *trackers] if is_first else (),
            )
        if not is_first:  # of several processes one evaluates
            return
        results: list[Json] = []
        trained = [run for by_seed in runs.values() for run in by_seed.values()]
        parts = data[0].tests if data else lengths
        evaluations = evaluated(trained, parts, words=self.words, seed=0)
        for run, evaluation in zip(trained, evaluations, strict=True):
            assert run.folder is not None
            results.append(show_evaluation(run, evaluation, as_json=self.json))
            draw(run, evaluation, run.folder / "accuracy.png", as_json=self.json)
        if self.json:
            print(json.dumps(results))


@dataclass(frozen=True, kw_only=True)
class Eval:
    """Evaluate a run by length, with a plot, or on the test sets of its data set.

    Args:
        run: a run folder, or the name of a shipped model such as parity_check.
        lengths: e.g. 41:500, 10:100:5 or 40,80,160.
        sets: names of test sets, e.g. '3,9 41-60' or validation; by default all tests.
        words: test words per length.
        seed: another seed draws other words.
        plot: where to draw the curve; by default in the run folder (shipped: here).
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    run: Positional[Path]
    lengths: str = "41:500"
    sets: tuple[str, ...] = ()
    words: int = 512
    seed: int = 0
    plot: Path | None = None
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        lengths: Sequence[Part] = parse_lengths(self.lengths)
        check_words(self.words)
        name = f"accuracy-{self.lengths.replace(':', '-').replace(',', '_')}.png"
        check_figure_path(self.plot or Path(name))
        run = open_run(self.run, device=self.device)
        plot = self.plot or (run.folder / name if run.folder else Path(f"{run.task.name}-{name}"))
        if isinstance(run.task, DataTask):
            lengths = self.sets or run.task.tests
        elif self.sets:
            raise LdruError(f"{run.task.name!r} has no test sets; give --lengths")
        (evaluation,) = evaluated([run], lengths, words=self.words, seed=check_seed(self.seed))
        result = show_evaluation(run, evaluation, as_json=self.json)
        if self.json:
            print(json.dumps(result))
        draw(run, evaluation, plot, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Ask a run for the label of words, beside the right answer where it is known.

    Args:
        run: a run folder, or the name of a shipped model such as parity_check.
        words: words in the task's alphabet, or expressions such as '[MAX 2 9 [MIN 4 7 ] 0 ]', or
            texts (a pair with a tab between); without any, lines of standard input are read.
        file: lines of this file instead.
        vocabulary: the vocab.txt that texts are read with, where the store has none yet.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    run: Positional[Path]
    words: Positional[tuple[str, ...]] = ()
    file: Path | None = None
    vocabulary: Path | None = None
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        if self.words and self.file is not None:
            raise LdruError("give words or a --file of them, not both")
        if self.vocabulary is not None:
            keep_vocabulary(self.vocabulary)
        run = open_run(self.run, device=self.device)
        found = predict_stream(run, self.words or lines(self.file))
        if self.json:
            print(json.dumps([dataclasses.asdict(prediction) for prediction in found]))
            return
        cut = 0
        for number, p in enumerate(found):
            cut += p.is_cut
            if p.name is not None:
                head, row = "label\tprobability\ttext", f"{p.name}\t{p.probability:.4f}\t{p.word}"
            else:
                expected = "-" if p.expected is None else p.expected
                head = "word\tlabel\tprobability\texpected"
                row = f"{p.word}\t{p.label}\t{p.probability:.4f}\t{expected}"
            print(row if number else f"{head}\n{row}")
        if cut:
            say(f"{cut} texts were longer than the model takes, and cut")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a run of an LDRU for Hugging Face's transformers, with tokeniser and model card.

    Args:
        run: a run folder.
        folder: a new folder.
        json: print JSON.
    """

    run: Positional[Path]
    folder: Positional[Path]
    json: bool = False

    def __call__(self) -> None:
        from ldru import huggingface  # needs an extra

        huggingface.export(Run.open(self.run), self.folder)
        print(json.dumps({"folder": str(self.folder)}) if self.json else f"model: {self.folder}")


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Tokenise data sets of texts, once, into the store in $LDRU_DATA (by default ~/.cache/ldru).

    Args:
        names: sst2, cola, mrpc, qqp, mnli, qnli, ag_news, dbpedia, or with _subset behind the last
            five names.
        data: a folder of Parquet files or of the official ones, or hub for the Hugging Face hub.
        vocabulary: a vocab.txt of bert-base-uncased; by default bert_vocab/vocab.txt in the folder.
        json: print JSON.
    """

    names: Positional[tuple[str, ...]]
    data: str
    vocabulary: Path | None = None
    json: bool = False

    def __call__(self) -> None:
        done = [
            dataclasses.asdict(part)
            for name in self.names
            for part in prepare(name, data=self.data, vocabulary=self.vocabulary)
        ]
        print_rows(done, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class MonoidOf:
    """Show the syntactic monoid of a language: its classes and table, or how words compose them.

    Args:
        limit: the largest monoid to compute.
        coverage: longest training words, e.g. 40 60: which compositions training shows, how often,
            and which ones longer words need.
        test: the longest test word of --coverage.
        results: a results folder; accuracies there are shown beside --coverage.
        heatmap: ranges of lengths, e.g. 10:40:2 480:500:2: which compositions their words need.
        label: of the words of --heatmap.
        plot: where to draw it; several names are several files.
        json: print JSON.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    limit: int = 10_000
    coverage: tuple[int, ...] = ()
    test: int = 500
    results: Path = Path("results")
    heatmap: tuple[str, ...] = ()
    label: int = 1
    plot: tuple[Path, ...] = ()
    json: bool = False

    def __call__(self) -> None:
        task = self.language.find()
        for path in self.plot:
            check_figure_path(path)
        if self.coverage and self.heatmap:
            raise LdruError("--coverage and --heatmap are two questions: ask one at a time")
        if self.coverage:
            self._show_coverage(task)
        elif self.heatmap:
            self._show_heatmaps(task)
        else:
            self._show_table(task)

    def _show_table(self, task: Task) -> None:
        machine = task.machine.minimal()
        monoid = ldru.monoid(machine, limit=self.limit)
        classes = [
            {
                "class": index,
                "word": machine.decode(word) or "(empty)",
                "label": int(label) if label >= 0 else None,
                "states": " ".join(map(str, element)),
            }
            for index, (word, label, element) in enumerate(
                zip(monoid.representatives, monoid.output, monoid.elements.tolist(), strict=True)
            )
        ]
        if self.plot:
            title = f"{task.name}: {monoid.size} classes"
            save_figures(monoid_figure(monoid, title=title), self.plot)
        if self.json:
            data = {"task": task.name, "size": monoid.size, "classes": classes}
            print(json.dumps({**data, "table": monoid.table.tolist()}))
            return
        print(f"{task.name}: {monoid.size} classes, {machine.num_states} states")
        shown = classes[:LARGEST_PRINTED_MONOID]
        print_rows(shown, as_json=False)
        if monoid.size > len(shown):
            print(f"... and {monoid.size - len(shown)} more; --json prints all, --plot draws them")
            return
        width = len(str(monoid.size - 1))
        print("class of (row word)(column word):")
        for row in monoid.table:
            print(" ".join(f"{int(product):{width}}" for product in row))

    def _show_coverage(self, task: Task) -> None:
        found = coverage(task, self.coverage, test_length=self.test, limit=self.limit)
        if self.plot:
            save_figures(coverage_figure(found), self.plot)
        rows, some = coverage_rows(found, Results(self.results)), found[self.coverage[0]]
        if self.json:
            data = {
                "task": task.name,
                "classes": some.monoid.size,
                "test_length": self.test,
                "training_words": some.training_words,
                "needed": int(some.needed.sum()),
                "shortest_length": some.shortest_length,
                "by_training_length": rows,
                "most_wanted": wanted_rows(some),
            }
            print(json.dumps(data, indent=1))
            return
        print(
            f"{task.name}: words up to length {self.test} need {int(some.needed.sum()):,} "
            f"compositions of {some.monoid.size} classes.\nThe shortest training length that shows "
            f"them all: {some.shortest_length or f'above {self.test}'}"
        )
        note = (
            "missing: no training word needs them; rare_N: met less than N times in the "
            f"{some.training_words:,}\nwords of the training, expected; familiar_N: test words "
            "without such ones, in percent;\npaper, ours: accuracy of the LDRU on longer words, "
            "in percent"
        )
        shown = [{k: f"{v:.2f}" if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        print_rows(shown, as_json=False, note=note)

    def _show_heatmaps(self, task: Task) -> None:
        ranges = {text: parse_lengths(text) for text in self.heatmap}
        found = heatmaps(task, ranges, label=self.label, limit=self.limit)
        if self.plot:
            save_figures(heatmaps_figure(found), self.plot)
        if self.json:
            data = {"task": task.name, "label": self.label, "classes": found.classes.tolist()}
            counts = {name: counts.tolist() for name, counts in found.counts.items()}
            print(json.dumps({**data, "counts": counts}))
            return
        print(f"{task.name}: {len(found.classes)} of {found.monoid.size} classes")
        rows = [
            {"lengths": name, "compositions": int(c.sum()), "kinds": int((c > 0).sum())}
            for name, c in found.counts.items()
        ]
        print_rows(rows, as_json=False, note="compositions of two single symbols are not counted")


@dataclass(frozen=True, kw_only=True)
class Analyse:
    """Look into trained LDRUs: is the operator associative, do states gather by class?

    Args:
        runs: run folders.
        what: associativity (of triples in real reductions, and of answers under random brackets) or
            embeddings (of all short words: t-SNE, and k-means held against the classes).
        lengths: of the words of associativity.
        words: of each of these lengths.
        bracketings: random trees over each of them.
        max_length: the longest word of embeddings.
        seed: another seed draws other words and trees, and starts t-SNE and k-means elsewhere.
        plot: where to draw it; several names are several files.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    runs: Positional[tuple[Path, ...]]
    what: Literal["associativity", "embeddings"] = "associativity"
    lengths: str = "40,500"
    words: int = 64
    bracketings: int = 16
    max_length: int = 12
    seed: int = 0
    plot: tuple[Path, ...] = ()
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        for path in self.plot:
            check_figure_path(path)
        if not self.runs:
            raise LdruError("give at least one run folder")
        check_seed(self.seed)
        runs = [open_run(path, device=self.device) for path in self.runs]
        if self.what == "associativity":
            self._show_associativity(runs)
        else:
            self._show_embeddings(runs)

    def _show_associativity(self, runs: Sequence[Run]) -> None:
        lengths = parse_lengths(self.lengths)
        found = {
            _trained(run): analyse_associativity(
                run, lengths, words=self.words, bracketings=self.bracketings, seed=self.seed
            )
            for run in runs
        }
        if self.plot:
            save_figures(associativity_figure(found), self.plot)
        if self.json:
            data = {name: dataclasses.asdict(analysis) for name, analysis in found.items()}
            print(json.dumps(data, indent=1))
            return
        for name, analysis in found.items():
            print(f"{name}: associators, mean over triples of neighbours in {self.words} words")
            rows = [dataclasses.asdict(row) for row in analysis.by_level]
            print_rows(_short(rows), as_json=False)
            print("the same words under random brackets, shares of answers")
            print_rows(_short(map(dataclasses.asdict, analysis.agreement)), as_json=False)

    def _show_embeddings(self, runs: Sequence[Run]) -> None:
        found = {
            _trained(run): analyse_embeddings(run, max_length=self.max_length, seed=self.seed)
            for run in runs
        }
        if self.plot:
            save_figures(embeddings_figure(found), self.plot)
        if self.json:
            data = {name: embeddings_json(analysis) for name, analysis in found.items()}
            print(json.dumps(data, indent=1))
            return
        for name, analysis in found.items():
            print(
                f"{name}: {len(analysis.states):,} words up to length {analysis.max_length}, "
                f"a monoid of {analysis.monoid.size} classes"
            )
            rows = [{"clusters": k, **dataclasses.asdict(s)} for k, s in analysis.scores.items()]
            print_rows(_short(rows), as_json=False)


@dataclass(frozen=True, kw_only=True)
class Extract:
    """Turn a trained LDRU into an exact machine, and decide whether it is right at every length.

    Args:
        run: a run folder.
        tolerance: how near states are merged, relative to their length; by default many are tried.
        out: a new JSON file for the machine and all that was found.
        limit: the largest monoid to compute.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    run: Positional[Path]
    tolerance: tuple[float, ...] = TOLERANCES
    out: Path | None = None
    limit: int = 10_000
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        check_tolerances(self.tolerance)
        if self.out is not None and self.out.exists():
            raise LdruError(f"{str(self.out)!r} is already there; choose another name with --out")
        run = open_run(self.run, device=self.device)
        with counting(f"merging states of {run.spec.name}", total=len(self.tolerance)) as advance:
            found = ldru.extract(
                run.model,
                run.language,
                tolerances=self.tolerance,
                limit=self.limit,
                on_trial=advance,
            )
        data: dict[str, Json] = {"run": run.spec.name, "task": run.task.name, **found.to_json()}
        if self.out is not None:
            write_text(self.out, json.dumps(data) + "\n")
        if self.json:
            print(json.dumps(data))
            return
        print(f"{run.spec.name}: {found.summary}")
        print_rows(scan_rows(found), as_json=False, note="\n".join(extraction_notes(found)))
        if self.out is not None:
            print(f"written to {self.out}")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Time things side by side; every ratio comes from one run.

    Args:
        name: fleet (training steps of many LDRUs), scaling (one model by length), models (a step
            and a test word of every architecture) or text (a step on texts beside a plain loop).
        out: folder for the numbers and the figure; numbers already there are not overwritten.
        device: cpu or cuda; by default a GPU where there is one.
        quick: few and small cases, to see that it works.
        json: print JSON.
    """

    name: Positional[str]
    out: Path = Path("benchmarks")
    device: str | None = None
    quick: bool = False
    json: bool = False

    def __call__(self) -> None:
        benches: dict[str, Callable[..., list[dict[str, Json]]]] = {
            "fleet": bench_fleet,
            "scaling": bench_scaling,
            "models": bench_models,
            "text": bench_text,
        }
        if self.name not in benches:
            raise unknown_name("benchmark", self.name, benches)
        numbers = self.out / f"{self.name}.json"
        if numbers.exists():
            raise LdruError(f"{str(numbers)!r} is already there; choose another folder with --out")
        small = QUICK[self.name] if self.quick else {}
        rows = benches[self.name](device=find_device(self.device), **small)
        data = {"machine": machine(), "rows": rows}
        write_text(numbers, json.dumps(data, indent=1) + "\n")
        save_figure(BENCHMARK_FIGURES[self.name](rows), self.out / f"{self.name}.png")
        shown = [{k: f"{v:.3g}" if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        keys = list(dict.fromkeys(key for row in shown for key in row))
        table = [{key: row.get(key) for key in keys} for row in shown]
        print_rows(rows if self.json else table, as_json=self.json, note=f"written to {self.out}")


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Rebuild tables of the paper: train and evaluate what is missing, and render from records.

    Stop it at any time; the same command goes on.

    Args:
        names: tables, of those that `ldru reproduce` without a name lists.
        tasks: only these tasks.
        models: only these columns.
        seeds: only these seeds.
        steps_scale: a share of every run's steps; what comes out is marked as scaled.
        engine: local (this machine), ray or submitit (SLURM).
        out: the results folder.
        device: cpu or cuda; by default a GPU where there is one.
        fleet_size: how many models train at once, at most.
        plan: only say what would run.
        render: run nothing; write tables and figures from the records that are there.
        pack: gather the finished runs of these tables into a file.
        records_only: leave the weights out of it; tables do not need them.
        unpack: merge the runs of such a file into the results folder.
        json: print JSON.
    """

    names: Positional[tuple[str, ...]] = ()
    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    steps_scale: float = 1.0
    engine: str = "local"
    out: Path = Path("results")
    device: str | None = None
    fleet_size: int = FLEET_SIZE
    plan: bool = False
    render: bool = False
    pack: Path | None = None
    records_only: bool = False
    unpack: Path | None = None
    json: bool = False

    def __call__(self) -> None:
        if this_process().size > 1:
            raise LdruError("several processes of torchrun share one `ldru train`; see --engine")
        results = Results(self.out)
        if self.unpack is not None:
            new, known = unpack(self.unpack, results)
            say(f"{len(new)} runs are new, {len(known)} were there already and stay as they are")
        if not self.names:
            if self.unpack is None:
                rows = [
                    {"table": t.name, "runs": len(t.runs()), "what": t.caption}
                    for t in TABLES.values()
                ]
                print_rows(rows, as_json=self.json)
            return
        tables = [self._table(name) for name in self.names]
        if self.pack is not None:
            specs = dict.fromkeys(spec for table in tables for spec in table.runs())
            packed = pack(results, specs, self.pack, has_weights=not self.records_only)
            say(f"{len(packed)} runs are in {self.pack}")
            return
        plan = make_plan(tables, results, fleet_size=self.fleet_size, device=self.device)
        for found in plan.found.values():
            if found.reason:
                say(f"left alone: {found.reason}")
        counts = ", ".join(f"{plan.count(state)} {state}" for state in State)
        hours = plan.seconds(self.device) / 3600
        say(
            f"{len(plan.found)} runs: {counts}; {plan.model_steps:,} model-steps to train, roughly "
            f"{hours:.1f} h here, in {len(plan.jobs)} fleets:"
        )
        for number, job in enumerate(plan.jobs, start=1):
            say(f"  {number}. {job.title}")
        if not self.plan and not self.render:
            engine = make_engine(self.engine)
            with Board(plan.jobs) as board:
                engine.run(plan.jobs, board)
        for table in tables:
            self._render(table, results)

    def _table(self, name: str) -> PaperTable:
        if name not in TABLES:
            raise unknown_name("table", name, TABLES)
        whole = TABLES[name]
        table = whole.restricted(tasks=self.tasks, columns=self.models, seeds=self.seeds)
        if table != whole:
            table = dataclasses.replace(table, name=f"{name}-part")
        return table.scaled(self.steps_scale)

    def _render(self, table: PaperTable, results: Results) -> None:
        cells = cell_results(table, results)
        if self.json:
            rows = [
                {"task": task, "column": label, "share": table.share, "seeds": dict(cell.seeds)}
                for (task, label), cell in cells.items()
            ]
            print(json.dumps({"table": table.name, "cells": rows}))
        else:
            print(as_markdown(table, cells))
        if not self.plan:
            write_table(table, results)


QUICK = {
    "fleet": {"members": (1, 2), "dim": 16, "batch_size": 8, "steps": 3},
    "scaling": {"sizes": ("small",), "lengths": (4, 8), "batch_size": 2, "passes": 2},
    "models": {"names": ("ldru", "rnn"), "batch_size": 4, "words": 4, "steps": 2},
    "text": {"members": (1, 2), "cases": ((4, 8),), "dim": 8, "steps": 2},
}

COMMANDS = {
    "tasks": Tasks,
    "models": Models,
    "train": Train,
    "eval": Eval,
    "predict": Predict,
    "prepare": Prepare,
    "export": Export,
    "monoid": MonoidOf,
    "analyse": Analyse,
    "extract": Extract,
    "reproduce": Reproduce,
    "bench": Bench,
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):
        print(f"ldru {ldru.__version__}")
        sys.exit(0)
    try:
        _parse(given)()
        sys.stdout.flush()
    except LdruError as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        print(
            "stopped; the same command goes on from the last checkpoint (`train` with --resume)",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def open_run(path: Path, *, device: str | None) -> Run:
    """A run with its model on a device."""
    run = Run.open(path)
    run.model.to(find_device(device))
    return run


def check_words(words: int) -> None:
    """Raise on a number of test words that cannot be drawn, before hours of training."""
    if words < 1:
        raise LdruError(f"--words must be at least 1, got {words}")


def evaluated(
    runs: Sequence[Run], lengths: Sequence[Part], *, words: int, seed: int
) -> list[Evaluation]:
    """Evaluations with a progress bar on standard error, kept in the records for seed 0.

    What a record holds already is not computed again.
    """
    known: list[dict[Part, LengthResult]] = [
        run.record.evaluation.by_length if run.record.evaluation and seed == 0 else {}
        for run in runs
    ]
    missing: dict[tuple[Part, ...], list[int]] = {}
    for index, results in enumerate(known):
        lacks = tuple(
            n
            for n in lengths
            if n not in results or (isinstance(n, int) and results[n].words != words)
        )
        missing.setdefault(lacks, []).append(index)
    fresh: list[dict[Part, LengthResult]] = [{} for _ in runs]
    for lacks, indices in missing.items():
        if not lacks:
            continue
        some = [runs[index] for index in indices]
        name = some[0].spec.name if len(some) == 1 else f"{len(some)} runs"
        with counting(f"evaluating {name}", total=len(lacks) * len(together(some))) as advance:
            found = evaluate_runs(some, lacks, words=words, seed=seed, on_length=advance)
        for index, evaluation in zip(indices, found, strict=True):
            fresh[index] = evaluation.by_length
            if seed == 0:
                runs[index].with_evaluation(evaluation)
    return [
        Evaluation(by_length={n: new[n] if n in new else old[n] for n in lengths})
        for new, old in zip(fresh, known, strict=True)
    ]


def draw(run: Run, evaluation: Evaluation, plot: Path, *, as_json: bool) -> None:
    """Draw an evaluation by length."""
    if isinstance(run.task, DataTask):
        return
    curve = {run.spec.name: evaluation}
    figure = accuracy_figure(curve, title=run.task.name, max_length=run.spec.train.max_length)
    save_figure(figure, plot)
    if not as_json:
        print(f"plot: {plot}")


def save_figures(figure: "Figure", paths: Iterable[Path]) -> None:
    """Write a figure under every name."""
    for path in paths:
        save_figure(figure, path)


def show_evaluation(run: Run, evaluation: Evaluation, *, as_json: bool) -> dict[str, Json]:
    """Print an evaluation, or only hand it back for JSON."""
    if isinstance(run.task, DataTask):
        return show_sets(run, evaluation, as_json=as_json)
    rows = summarise(evaluation, max_length=run.spec.train.max_length)
    if not as_json:
        table = [
            {
                "lengths": row.name,
                "accuracy": f"{row.accuracy:.1%}",
                "majority share": f"{row.majority_share:.1%}",
                "worst": f"{row.worst_accuracy:.1%} at {row.worst_length}",
            }
            for row in rows
        ]
        print(f"{run.spec.name}: accuracy by length")
        notes = [*class_notes(run.task, evaluation), f"run:  {run.folder or 'shipped'}"]
        print_rows(table, as_json=False, note="\n".join(notes))
    return {**shown(run, evaluation), "summary": [dataclasses.asdict(row) for row in rows]}


def show_sets(run: Run, evaluation: Evaluation, *, as_json: bool) -> dict[str, Json]:
    """The same for the test sets of a data set."""
    task = run.task
    assert isinstance(task, DataTask)
    more = [name for name in task.metrics if name != "accuracy"]
    if not as_json:
        table = [
            {
                "test set": str(name),
                **{metric: f"{METRICS[metric](result):.3f}" for metric in more},
                "accuracy": f"{result.accuracy:.1%}",
                "95 % interval": "{:.1%} to {:.1%}".format(*result.interval()),
                "majority share": f"{result.majority_share:.1%}",
                "words": result.words,
            }
            for name, result in evaluation.by_length.items()
        ]
        print(f"{run.spec.name}: accuracy by test set")
        print_rows(table, as_json=False, note=f"run:  {run.folder}")
    metrics: dict[str, Json] = {
        str(name): {metric: METRICS[metric](result) for metric in task.metrics}
        for name, result in evaluation.by_length.items()
    }
    return {**shown(run, evaluation), "metrics": metrics}


def shown(run: Run, evaluation: Evaluation) -> dict[str, Json]:
    """An evaluation for programs."""
    return {
        "run": run.spec.name,
        "folder": None if run.folder is None else str(run.folder),
        "accuracy": {str(length): value for length, value in evaluation.accuracy.items()},
        "intervals": {str(n): list(r.interval()) for n, r in evaluation.by_length.items()},
        "by_class": {str(k): v for k, v in evaluation.accuracy_by_class().items()},
        "counts": evaluation_json(evaluation),
    }


def class_notes(task: Task, evaluation: Evaluation) -> list[str]:
    """What a reader should know of the classes, a line each."""
    notes = []
    by_class = evaluation.accuracy_by_class()
    if len(by_class) <= LARGEST_PRINTED_CLASSES:
        shares = ", ".join(f"{label}: {share:.1%}" for label, share in by_class.items())
        notes.append(f"accuracy by label, all lengths: {shares}")
    lengths = [task.word_length(length) for length in evaluation.lengths]
    moved = sum(drawn != asked for drawn, asked in zip(lengths, evaluation.lengths, strict=True))
    if moved:
        notes.append(f"{moved} of the {len(lengths)} lengths have no words: the nearest was taken")
    for label in range(task.num_classes):
        empty = sum(label in task.empty_classes(length) for length in lengths)
        if empty:
            notes.append(f"label {label} has no words at {empty} of the {len(lengths)} lengths")
    return notes


def scan_rows(found: Extraction) -> list[dict[str, str]]:
    """What came out at each tolerance, a row each."""
    rows = []
    for trial in found.trials:
        agreement, wrong = found.agreement(trial), trial.verdict.wrong_length
        right = "every length" if trial.verdict.is_closed else f"up to {trial.verdict.longest:,}"
        rows.append(
            {
                "tolerance": f"{trial.tolerance:g}",
                "states": f"{trial.num_states:,}",
                "levels": f"{trial.verdict.levels}",
                "closed": "yes" if trial.verdict.is_closed else "no",
                "right": f"not at {wrong:,}" if wrong else right,
                "agrees with the network": "-" if agreement is None else f"{agreement:.2%}",
                "spread": f"{trial.spread:.2f}",
                "gap": f"{trial.gap:.2f}",
                "": "taken" if trial is found.chosen else "",
            }
        )
    return rows


def extraction_notes(found: Extraction) -> list[str]:
    """What a reader should know of the algebra that was taken, a line each."""
    chosen, nodes = found.chosen, found.nodes
    errors = {height: share for height, share in found.wrong_by_height.items() if share}
    first = min(errors, default=None)
    reach = f"none of the sampled words up to 2^{max(found.wrong_by_height, default=0)} symbols"
    if first is not None:
        reach = f"{errors[first]:.2%} of the sampled words of up to 2^{first} symbols, first there"
    asked = f"network: itself wrong on {reach}"
    if chosen is None or nodes is None:
        return [f"compared on {found.words:,} words up to length {found.longest:,}", asked]
    served = sum(bool(kinds) for kinds in found.classes.values())
    mixed = sum(len(kinds) > 1 for kinds in found.classes.values())
    classes = len({kind for kinds in found.classes.values() for kind in kinds})
    which = "each stands for one" if not mixed else f"{mixed} of them stand for several"
    return [
        f"algebra: {served} states for {classes} of the monoid's {found.monoid.size} classes, "
        f"{which}",
        f"words:   {chosen.disagreements:,} of {found.words:,} up to length {found.longest:,} are "
        "answered otherwise than by the network",
        f"nodes:   {nodes.nearest:.2%} of the network's {nodes.nodes:,} are nearest to their own "
        f"state, at most {nodes.farthest:.2f} away; states are {chosen.gap:.2f} apart",
        asked,
    ]


def print_rows(rows: Sequence[dict], *, as_json: bool, note: str = "") -> None:
    """Rows of the same keys as a table, or as JSON."""
    if as_json:
        print(json.dumps(rows))
        return
    table = Table(box=SIMPLE)
    for name, value in rows[0].items():
        table.add_column(name, justify="right" if isinstance(value, int | float) else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    show(table)
    if note:
        print(note)


def say(text: str) -> None:
    """A line for people, on standard error."""
    print(text, file=sys.stderr)


def show(content: "RenderableType") -> None:
    """Print with rich; wide enough not to fold when standard output is no terminal."""
    # No emoji: lengths such as 60:100:4 would show one.
    console = Console(width=None if sys.stdout.isatty() else 160, emoji=False)
    console.print(content)


def lines(path: Path | None) -> Iterator[str]:
    """Lines of a file, or of standard input."""
    if path is None:
        yield from (line.rstrip("\r\n") for line in sys.stdin)
        return
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from (line.rstrip("\r\n") for line in file)
    except (OSError, UnicodeDecodeError) as problem:
        raise LdruError(f"cannot read {str(path)!r}: {problem}") from problem


def _trained(run: Run) -> str:
    return f"{run.spec.name}, up to {run.spec.train.max_length}"


def _short(rows: Iterable[dict[str, Json]]) -> list[dict[str, Json]]:
    """Rows with their fractions cut to four digits, for people."""
    return [{k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _parse(arguments: list[str]) -> Callable[[], None]:
    """The command with its options."""
    commands: dict[str, Callable[..., Callable[[], None]]] = dict(COMMANDS)
    if arguments[:1] == ["train"]:
        commands["train"] = _train_command(arguments)
    return tyro.extras.subcommand_cli_from_dict(
        commands,
        prog="ldru",
        description=ldru.__doc__,
        args=arguments,
        config=(FlagCreatePairsOff,),
    )


def _train_command(arguments: list[str]) -> type[Train]:
    """The train command with the options of the model that the arguments name."""
    name = "ldru"
    for index, word in enumerate(arguments):
        if word == "--model" and index + 1 < len(arguments):
            name = arguments[index + 1]
        elif word.startswith("--model="):
            name = word.partition("=")[2]
    words = itertools.takewhile(lambda word: not word.startswith("-"), arguments[1:])
    data = next((task for task in map(data_task, words) if task is not None), None)
    model: ModelSpec = model_spec(name) if data is None else default_model(data, name)
    fields: list[tuple] = [
        ("settings", Annotated[type(model), OmitArgPrefixes], field(default=model)),
    ]
    if data is not None:
        usual = default_training(data, model)
        fields.append(("train", OmitArgPrefixes[TrainSpec], field(default=usual)))
    command = dataclasses.make_dataclass("Train", fields, bases=(Train,), frozen=True, kw_only=True)
    command.__doc__ = Train.__doc__
    command.is_data = data is not None  # type: ignore[attr-defined]
    return command
