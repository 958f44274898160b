"""`ldru tasks`."""

from dataclasses import dataclass

from ldru.cli.printing import print_rows


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """List languages by group, with the sizes of their machines and what their monoids are.

    The monoid says what it takes to keep track of a language: without groups it is star-free (AC0),
    with solvable groups alone it has circuits of fixed depth that count (ACC0), with others it is
    as hard as any regular language (NC1).

    Args:
        json: print JSON.
    """

    json: bool = False

    def __call__(self) -> None:
        from ldru.automata.monoid import monoid
        from ldru.automata.named import OTHERS, PAPERS, named_machine
        from ldru.paper.settings import SUBSET, TEXT_TASKS, per_task
        from ldru.tasks.registered import REGISTERED
        from ldru.tasks.spec import TaskSpec

        machines = {("paper", name): named_machine(name) for name in PAPERS}
        machines |= {(kind, name): named_machine(name) for kind in OTHERS for name in OTHERS[kind]}
        own = {name: getattr(task, "machine", None) for name, task in REGISTERED.items()}
        machines |= {("yours", name): machine for name, machine in own.items()}
        rows = []
        for (kind, name), machine in machines.items():
            if machine is None:  # a data set
                continue
            found = monoid(machine)
            rows.append(
                {
                    "from": kind,
                    "task": name,
                    "symbols": machine.num_symbols,
                    "classes": machine.num_classes,
                    "states": machine.num_states,
                    "monoid": found.size,
                    "a group": found.is_group,
                    "aperiodic": found.is_aperiodic,
                    "solvable": found.is_solvable,
                    "circuits": found.complexity,
                    "steps": per_task(TaskSpec(name=name)).steps,
                }
            )
        note = (
            "Families have any size: dyck_N, dyck_K_N (kinds of brackets), prefix_P_Q, counter_M,\n"
            "mod_arithmetic_M, random_S_K_SEED (states, symbols), groups (S5, A5, Z60, D8, Q8,\n"
            "products A4xZ5, powers C2^3; also _generators, _identity). See docs/languages.md.\n"
            "listops_100k, listops_500k, listops_1m: ListOps with that many training words.\n"
            f"{', '.join(TEXT_TASKS)}: texts, some also as NAME{SUBSET}, see docs/text.md."
        )
        print_rows(rows, as_json=self.json, note=note)


def command(arguments: list[str]) -> type[Tasks]:
    return Tasks
