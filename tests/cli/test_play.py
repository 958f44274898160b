"""`ldru play`: how it listens, and how it ends."""

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.cli.calling import call

pytest.importorskip("uvicorn")


def started(*options):
    command = [sys.executable, "-c", "from ldru.cli import main; main()", "play", "--no-browser"]
    return subprocess.Popen(
        [*command, "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_answers_and_ends_with_ctrl_c(tmp_path):
    with started("--runs", str(tmp_path)) as process:
        link = process.stdout.readline().strip()
        with urllib.request.urlopen(link) as page:
            assert b"ldru playground" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == "Ctrl-C ends it.\n"
    assert list(tmp_path.iterdir()) == []


def test_on_every_address_the_link_has_a_token(tmp_path):
    with started("--runs", str(tmp_path), "--host", "0.0.0.0") as process:
        assert "can start trainings" in process.stdout.readline()
        link = process.stdout.readline().strip()
        address, token = link.split("?token=")
        port = address.rstrip("/").rsplit(":", 1)[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/?token={token}") as page:
            assert page.status == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_what_cannot_be_opened(capsys, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, said = call(capsys, "play", "--no-browser", "--port", port)
    assert code == 1
    assert f"port {port}" in said
    assert "--port" in said
    assert "between 0 and 65535" in call(capsys, "play", "--port", 70000)[2]
    (tmp_path / "there").mkdir()
    assert "not overwritten" in call(capsys, "play", "--export", tmp_path / "there")[2]
