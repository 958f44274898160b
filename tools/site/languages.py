"""The languages of the gallery: in which order, and each in a sentence."""

from ldru.automata.named import PAPERS

GROUPS = ("group_S3", "group_Z60", "group_A5")

LANGUAGES = (*PAPERS, *GROUPS, "flip_flop")

FAMILIES = {
    "Counting and walking": ("parity_check", "cycle_navigation", "even_pairs", "flip_flop"),
    "Arithmetic": ("modular_arithmetic",),
    "Brackets": tuple(name for name in PAPERS if name.startswith("dyck_")),
    "Tomita's languages": tuple(name for name in PAPERS if name.startswith("tomita_")),
    "Prefixes": tuple(name for name in PAPERS if name.startswith("prefix_")),
    "Groups": GROUPS,
}

SENTENCES = {
    "even_pairs": "Does the last symbol differ from the first? It is told as counting: the number "
    "of unequal neighbours is odd exactly then.",
    "modular_arithmetic": "What is 3+1x4-2, modulo 5? Read from left to right, without precedence. "
    "Words that are no expression have no label, and are never drawn.",
    "parity_check": "Is the number of ones even? One flipped symbol anywhere flips the answer, so "
    "nothing may be forgotten.",
    "cycle_navigation": "A walk on a ring of five places: `+` steps forward, `-` steps back, `0` "
    "stays. Where does it end?",
    "flip_flop": "A memory of one bit: which one was written last? A dot writes nothing.",
    "tomita_3": "No odd run of zeros comes directly after an odd run of ones.",
    "tomita_4": "The word nowhere contains 000.",
    "tomita_5": "The number of zeros is even, and so is the number of ones.",
    "tomita_6": "There are as many ones as zeros, modulo 3.",
    "tomita_7": "Zeros, then ones, then zeros, then ones: 0\\*1\\*0\\*1\\*.",
    "group_S3": "Every symbol is one of the six ways to rearrange three things. What do they all "
    "do, one after the other?",
    "group_Z60": "Every symbol is a number; their sum modulo 60 is asked for. It has as many "
    "elements as A5, and is far easier in theory: the order of the symbols does not matter.",
    "group_A5": "Every symbol is an even rearrangement of five things. This is the smallest group "
    "that is not solvable, and its word problem is as hard as any regular language (complete for "
    "NC1).",
}

NUMBERS = {1: "symbol", 2: "two symbols", 4: "four symbols"}


def sentence(name: str) -> str:
    """A language in a sentence or two."""
    if name in SENTENCES:
        return SENTENCES[name]
    family, *sizes = name.split("_")
    if family == "dyck":
        return (
            f"Balanced brackets, nested at most {sizes[0]} deep: `0` opens, `1` closes. A word may "
            "fail at its end, below the ground, or by one bracket too deep."
        )
    length, symbols = map(int, sizes)
    return (
        f"Which {NUMBERS[length]}, over an alphabet of {symbols}, did the word begin with? All "
        "that follows is a distraction."
    )
