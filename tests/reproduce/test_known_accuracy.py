"""What is known of a language beside its coverage."""

from ldru.reproduce.known_accuracy import known_accuracy
from ldru.runs.results import Results

NO_RUNS = {"its_settings": None, "our_recipe": None}


def test_the_papers_accuracy_is_found_by_the_training_length(tmp_path):
    nothing = Results(tmp_path)
    assert known_accuracy("dyck_4", 40, nothing) == {"paper": 100.0, **NO_RUNS}
    assert known_accuracy("parity_check", 40, nothing) == {"paper": 100.0, **NO_RUNS}
    assert known_accuracy("dyck_4", 8, nothing) == {"paper": None, **NO_RUNS}
    assert known_accuracy("dyck_5", 40, nothing) == {"paper": None, **NO_RUNS}
