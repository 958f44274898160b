"""`ldru tasks` and `ldru models`: what there is."""

from dataclasses import dataclass

import ldru
from ldru.cli.printing import print_rows
from ldru.config import Json, to_json
from ldru.models import MODELS, model_spec
from ldru.tasks.text import TEXT_SETS


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
