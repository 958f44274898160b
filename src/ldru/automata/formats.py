"""Machines in files: our JSON, permutations, AT&T text as OpenFst prints it, Graphviz.

A file is read by the ending of its name: .json; .att, .fst or .txt; .dot or .gv. Acceptors in AT&T
text and Graphviz have the labels 1 (accepted) and 0. They must be deterministic. A state without a
way for a symbol rejects whatever follows, but only when that is asked for: a file with holes may
also be one that was cut off.
"""

import re
import reprlib
from collections.abc import Mapping
from pathlib import Path

from ldru.automata.groups import group_of_permutations
from ldru.automata.machine import MooreMachine
from ldru.base.errors import LdruError, RunError
from ldru.base.files import write_text
from ldru.base.reading import is_there, parse_json, read_text

EMPTY = ("<eps>", "<epsilon>", "epsilon", "ε", "@0@")
"""What an empty move is called."""

ENDINGS = (".json", ".att", ".fst", ".txt", ".dot", ".gv")


def read_machine(path: str | Path, *, complete: bool = False) -> MooreMachine:
    """A machine from a file, by the ending of its name.

    .json: tables, or `{"permutations": {"a": [1, 0, 2], ...}}` for the word problem of a group.
    .att, .fst, .txt: AT&T text; .dot, .gv: Graphviz.
    complete: send symbols that a state has no way for to a sink that rejects.

    >>> ldru.write_machine(ldru.task("dyck_3").machine, "dyck_3.att")
    >>> ldru.read_machine("dyck_3.att").is_equivalent(ldru.task("dyck_3").machine)
    True
    """
    path = Path(path)
    read = _reader(path)
    try:
        text = read_text(path)
    except RunError as problem:
        raise LdruError(str(problem)) from problem  # a name that a user gave
    try:
        return read(text, complete=complete)
    except LdruError as problem:
        raise LdruError(f"machine file {str(path)!r}: {problem}") from problem


def write_machine(machine: MooreMachine, path: str | Path) -> None:
    """Write a machine to a new file, in the format of its ending; see `read_machine`.

    >>> ldru.write_machine(ldru.from_regex("(ab)*"), "ab.dot")
    >>> ldru.read_machine("ab.dot").run("abab")
    np.int64(1)
    """
    path = Path(path)
    if is_there(path):
        raise LdruError(f"{str(path)!r} is already there; choose another name")
    kind = _kind(path)
    text = {"json": machine.to_json, "att": lambda: to_att(machine), "dot": machine.to_dot}[kind]()
    write_text(path, text)


def from_json(text: str, *, complete: bool = False) -> MooreMachine:
    """A machine from JSON text: tables, which are complete, or permutations by name."""
    try:
        data = parse_json(text)
    except (ValueError, RecursionError) as problem:
        raise LdruError(f"the machine is not valid JSON: {problem}") from problem
    if not isinstance(data, dict) or "permutations" not in data:
        return MooreMachine.from_json(text)
    given = data["permutations"]
    unknown = set(data) - {"permutations", "labels"}
    labels = data.get("labels", "product")
    if unknown or not isinstance(given, dict) or labels not in ("product", "identity"):
        raise LdruError(
            "a group is {'permutations': {name: [images of points]}, 'labels': 'product' or "
            f"'identity'}}, got the keys {', '.join(sorted(data))}"
        )
    for name, images in given.items():
        if not isinstance(images, list) or not all(type(point) is int for point in images):
            raise LdruError(
                f"the permutation {name!r} is a list of whole numbers, got {reprlib.repr(images)}"
            )
    machine = group_of_permutations(given)  # type: ignore[arg-type]
    if labels == "product":
        return machine
    return MooreMachine(
        alphabet=machine.alphabet, delta=machine.delta, output=(machine.output == 0).astype(int)
    )


def from_att(text: str, *, complete: bool = False) -> MooreMachine:
    """An acceptor from AT&T text: a line is "from to symbol", or a final state.

    The first line's state is the start. A second symbol, of a transducer, must be the same; a
    weight must be zero.
    """
    ways: dict[str, dict[str, str]] = {}
    final: set[str] = set()
    start: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.split()
        if not parts:
            continue
        state = parts[0]
        start = state if start is None else start
        ways.setdefault(state, {})
        if len(parts) <= 2:
            _check_weight(parts[1:], number)
            final.add(state)
            continue
        _, target, symbol, *others = parts
        if others and not _is_weight(others[0]):
            if others[0] != symbol:
                raise LdruError(
                    f"line {number} turns {symbol!r} into {others[0]!r}: an acceptor is wanted, "
                    "not a transducer"
                )
            others = others[1:]
        elif others and others[0] == symbol:  # a symbol that looks like a number
            others = others[1:]
        _check_weight(others, number)
        _add(ways, state, symbol, target, where=f"line {number}")
    if start is None:
        raise LdruError("there is no state in it")
    return _machine(ways, start, final, complete=complete)


def to_att(machine: MooreMachine) -> str:
    """An acceptor as AT&T text; the start comes first."""
    if set(machine.output.tolist()) - {0, 1}:
        raise LdruError("AT&T text is for acceptors, whose labels are 0 and 1; write JSON instead")
    lines = []
    for state in sorted(range(machine.num_states), key=lambda state: state != machine.start):
        for symbol, target in zip(machine.alphabet, machine.delta[state].tolist(), strict=True):
            lines.append(f"{state}\t{target}\t{symbol}\t{symbol}")
        if machine.output[state] == 1:
            lines.append(str(state))
    return "\n".join(lines) + "\n"


def from_dot(text: str, *, complete: bool = False) -> MooreMachine:
    """A machine from Graphviz text such as `MooreMachine.to_dot` and AALpy write.

    The start is where an arrow without a label comes to, states with two circles accept, and the
    label of an arrow lists symbols between commas. A second line of a state's label, or what stands
    behind a bar, is its own label.
    """
    ways: dict[str, dict[str, str]] = {}
    outputs: dict[str, str] = {}
    start: str | None = None
    for statement in _statements(text):
        if arrow := re.fullmatch(rf"({NAME})\s*->\s*({NAME})\s*(\[.*\])?", statement, re.DOTALL):
            source, target = (_plain(arrow[side]) for side in (1, 2))
            label = _options(arrow[3] or "").get("label", "")
            if not label:
                start = target
                continue
            for symbol in label.split(",") if label != "," else [label]:
                symbol = symbol.strip(" ")
                ways.setdefault(source, {})
                _add(ways, source, symbol, target, where=f"the arrow from {source} to {target}")
        elif node := re.fullmatch(rf"({NAME})\s*(\[.*\])", statement, re.DOTALL):
            options, name = _options(node[2]), _plain(node[1])
            if name in ("node", "edge", "graph") or options.get("shape") in ("point", "none"):
                continue
            ways.setdefault(name, {})
            parts = re.split(r"\\n|\n|\|", options.get("label", name))
            is_final = options.get("shape") == "doublecircle"
            outputs[name] = parts[1] if len(parts) > 1 else ("1" if is_final else "0")
    if start is None:
        raise LdruError("no arrow without a label shows where the machine starts")
    for name, output in outputs.items():
        if not re.fullmatch(r"-?[0-9]{1,9}", output):
            raise LdruError(f"the label of state {name} is a whole number, got {output!r}")
    labels = {name: int(output) for name, output in outputs.items()}
    return _machine(ways, start, labels, complete=complete)


NAME = r'"(?:[^"\\]|\\.)*"|[^\s\[\]";{}]+'


def _statements(text: str) -> list[str]:
    """The statements between the braces of a graph, cut at semicolons and ends of lines."""
    body = re.fullmatch(r"\s*(?:strict\s+)?digraph\b[^{]*\{(.*)\}\s*", text, re.DOTALL)
    if not body:
        raise LdruError("expected 'digraph NAME { ... }'")
    pieces = re.findall(
        r'(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]|[^;\n"\[])+', body[1]
    )
    return [piece.strip() for piece in pieces if piece.strip()]


def _options(text: str) -> dict[str, str]:
    found = re.findall(rf"(\w+)\s*=\s*({NAME}|[^\s,\]]+)", text)
    return {name: _plain(value.rstrip(",")) for name, value in found}


def _plain(text: str) -> str:
    if not text.startswith('"'):
        return text
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def _add(
    ways: dict[str, dict[str, str]], source: str, symbol: str, target: str, *, where: str
) -> None:
    """One way more; two different ones for a symbol are an error."""
    if symbol in EMPTY:
        raise LdruError(
            f"{where} is an empty move: make the automaton deterministic first (automata-lib's NFA "
            "goes through ldru.as_machine)"
        )
    if not symbol or any(mark.isspace() for mark in symbol):
        raise LdruError(f"{where} has the symbol {symbol!r}: symbols are not empty, without blanks")
    known = ways[source].setdefault(symbol, target)
    if known != target:
        raise LdruError(
            f"{where} leads by {symbol!r} to {target}, but another to {known}: the automaton is "
            "not deterministic (automata-lib's NFA goes through ldru.as_machine)"
        )
    ways.setdefault(target, {})


def _machine(
    ways: Mapping[str, Mapping[str, str]],
    start: str,
    labels: Mapping[str, int] | set[str],
    *,
    complete: bool,
) -> MooreMachine:
    """The machine of named states; symbols are sorted."""
    symbols = sorted({symbol for row in ways.values() for symbol in row})
    if not symbols:
        raise LdruError("there is no symbol in it")
    if start not in ways:
        raise LdruError(f"the start {start!r} is no state")
    number = {state: index for index, state in enumerate(ways)}
    sink = len(number)
    holes = [
        (state, symbol) for state, row in ways.items() for symbol in symbols if symbol not in row
    ]
    if holes and not complete:
        state, symbol = holes[0]
        raise LdruError(
            f"state {state!r} has no way for {symbol!r} ({len(holes)} such holes): with "
            "complete=True they lead to a sink that rejects"
        )
    delta = [
        [number[row[symbol]] if symbol in row else sink for symbol in symbols]
        for row in ways.values()
    ]
    if isinstance(labels, Mapping):
        output = [labels.get(state, 0) for state in ways]
    else:
        output = [int(state in labels) for state in ways]
    if holes:
        delta.append([sink] * len(symbols))
        output.append(0)
    return MooreMachine(alphabet=symbols, delta=delta, output=output, start=number[start])


def _is_weight(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) is not None


def _check_weight(parts: list[str], number: int) -> None:
    if len(parts) > 1 or (parts and not (_is_weight(parts[0]) and float(parts[0]) == 0)):
        raise LdruError(
            f"line {number} ends in {' '.join(parts)!r}; only a weight of zero may stand there"
        )


def _kind(path: Path) -> str:
    kinds = {
        ".json": "json",
        ".att": "att",
        ".fst": "att",
        ".txt": "att",
        ".dot": "dot",
        ".gv": "dot",
    }
    if path.suffix not in kinds:
        raise LdruError(f"a machine's file ends in {', '.join(ENDINGS)}, got {path.name!r}")
    return kinds[path.suffix]


def _reader(path: Path):  # type: ignore[no-untyped-def]
    return {"json": from_json, "att": from_att, "dot": from_dot}[_kind(path)]
