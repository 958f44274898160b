"""All attacks by name, in the order of a full run."""

from attack import crashes, flips, writers
from attack.attack import Attack
from attack.fuzz import (
    calls,
    commands,
    kinds,
    machines,
    packs,
    regexes,
    run_files,
    tensors,
    word_sets,
    words,
)

FUZZERS = (run_files, tensors, word_sets, packs, kinds, machines, regexes, words, calls, commands)
MODULES = (*FUZZERS, flips, crashes, writers)

ATTACKS: dict[str, Attack] = {
    attack.name: attack for module in MODULES for attack in module.ATTACKS
}
