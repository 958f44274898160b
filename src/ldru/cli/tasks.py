"""`ldru tasks`."""

from dataclasses import dataclass

from ldru.cli.printing import print_rows


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """List the tasks of the paper, and registered languages, with the sizes of their machines.

    Args:
        json: print JSON.
    """

    json: bool = False

    def __call__(self) -> None:
        from ldru.automata.monoid import monoid
        from ldru.automata.named import PAPERS, named_machine
        from ldru.paper.settings import SUBSET, TEXT_TASKS, per_task
        from ldru.tasks.registered import REGISTERED
        from ldru.tasks.spec import TaskSpec

        machines = {name: named_machine(name) for name in PAPERS}
        machines |= {name: getattr(task, "machine", None) for name, task in REGISTERED.items()}
        rows = []
        for name, machine in machines.items():
            if machine is None:  # a data set
                continue
            rows.append(
                {
                    "task": name,
                    "symbols": machine.num_symbols,
                    "classes": machine.num_classes,
                    "states": machine.num_states,
                    "monoid": monoid(machine).size,
                    "steps": per_task(TaskSpec(name=name)).steps,
                }
            )
        note = (
            "dyck_N and prefix_P_Q work for any N, P, Q; --regex and --machine for the rest.\n"
            "listops_100k, listops_500k, listops_1m: ListOps with that many training words.\n"
            f"{', '.join(TEXT_TASKS)}: texts, some also as NAME{SUBSET}, see docs/text.md."
        )
        print_rows(rows, as_json=self.json, note=note)


def command(arguments: list[str]) -> type[Tasks]:
    return Tasks
