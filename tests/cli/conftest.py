"""A run that the commands are tried on."""

import pytest

from ldru.cli import main
from tests.cli.calling import SHORT, TINY


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli")
    with pytest.raises(SystemExit):
        main(["train", "parity_check", "--out", str(out), *TINY, *SHORT])
    (folder,) = out.glob("parity*")
    return folder
