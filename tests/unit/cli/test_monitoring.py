"""`credibly monitor`: a file that grows, state, exit codes, metrics, page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.cli import main
from credibly.cli.monitoring import _has_grown, labelled


def rows(n: int, power: float, seed: int) -> str:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(3), size=n)
    truth = probs**power
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    lines = (
        f"{a:.6f},{b:.6f},{1 - round(a, 6) - round(b, 6):.6f},{('cat', 'dog', 'bird')[y]},{'ab'[i % 2]}"
        for i, ((a, b, _), y) in enumerate(zip(probs, labels, strict=True))
    )
    return "\n".join(lines) + "\n"


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "stream.csv"
    path.write_text("cat,dog,bird,y,site\n" + rows(500, 1.0, 0))
    return path


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


READ = ("--labels", "y", "--exclude", "site", "-q")


def test_runs_go_on_where_the_last_one_ended(stream: Path) -> None:
    assert main(["monitor", "stream.csv", "--state", "state.json", *READ, "--fail-on", "alarm"]) == 0
    first = cr.Monitor.load("state.json")
    assert first.n == 500
    assert main(["monitor", "stream.csv", "--state", "state.json", *READ]) == 0  # nothing new
    assert cr.Monitor.load("state.json").state() == first.state()
    append(stream, rows(500, 1.0, 1))
    assert main(["monitor", "stream.csv", "--state", "state.json", *READ]) == 0
    again, data = cr.Monitor(), cr.load(stream, labels="y", exclude=["site"])
    again.update(data.rows(slice(0, 500)))
    again.update(data.rows(slice(500, 1000)))
    assert cr.Monitor.load("state.json").evalue == again.evalue


def test_an_alarm_stays_and_closes_the_gate_only_if_asked(
    stream: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    append(stream, rows(2000, 0.5, 1))
    words = ["monitor", "stream.csv", "--state", "state.json", "--labels", "y", "--by", "site", "-q"]
    assert main([*words, "--metrics", "numbers.prom", "--out", "page.html"]) == 0
    assert "alarm\t\ttrue" in capsys.readouterr().out
    assert "credibly_monitor_alarm 1" in Path("numbers.prom").read_text()
    assert "overconfident" in Path("page.html").read_text()
    append(stream, rows(50, 1.0, 2))
    assert (
        main([*words, "--fail-on", "alarm", "--json", "--metrics", "numbers.prom", "--out", "page.html"]) == 1
    )
    result = json.loads(capsys.readouterr().out)
    assert result["type"] == "MonitorResult"
    assert result["alarm"] is True
    assert result["n"] == 2550
    assert {one["name"] for one in result["groups"]} == {"site=a", "site=b"}


def test_a_file_that_lost_rows_is_refused_and_another_file_goes_on(
    stream: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--state", "state.json", *READ]
    assert main(["monitor", "stream.csv", *words]) == 0
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join(lines[:301]))
    assert main(["monitor", "stream.csv", *words]) == 2
    assert "must only grow: 500 rows of it were read before; it has 300 rows" in capsys.readouterr().err
    stream.write_text(lines[0] + rows(600, 1.0, 7))
    assert main(["monitor", "stream.csv", *words]) == 2
    assert "row 499 is another one" in capsys.readouterr().err
    stream.rename("tuesday.csv")
    assert main(["monitor", "tuesday.csv", *words]) == 0
    assert cr.Monitor.load("state.json").n == 1100


def test_two_runs_at_a_time_do_not_write_over_each_other(
    stream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.csv").write_text("cat,dog,bird,y,site\n" + rows(300, 1.0, 9))
    words, began = ["--state", "state.json", *READ], []

    def read(*arguments: object) -> object:
        if not began:
            began.append(True)
            assert main(["monitor", "other.csv", *words]) == 0  # begins later, ends sooner
        return labelled(*arguments)

    monkeypatch.setattr("credibly.cli.monitoring.labelled", read)
    assert main(["monitor", "stream.csv", *words]) == 2
    assert "must belong to one run; another has just saved it" in capsys.readouterr().err
    assert cr.Monitor.load("state.json").n == 300
    assert main(["monitor", "stream.csv", *words]) == 0
    assert cr.Monitor.load("state.json").n == 800


def test_settings_of_the_state_cannot_be_changed(stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["monitor", "stream.csv", "--state", "state.json", *READ]
    assert main([*words, "--level", "0.01"]) == 0
    assert main(words) == 0  # not typed: as it was
    assert main([*words, "--level", "0.05"]) == 2
    assert "`--level` must be as when the state began" in capsys.readouterr().err


def test_the_data_are_never_written_over(stream: Path) -> None:
    before = stream.read_text()
    for flag in ("--state", "--metrics", "--out"):
        assert main(["monitor", "stream.csv", flag, "stream.csv", *READ]) == 2
    assert stream.read_text() == before


def test_a_line_that_is_half_written_waits(stream: Path) -> None:
    size = stream.stat().st_size
    assert not _has_grown(str(stream), size)
    append(stream, "0.5,0.3,0.2,c")  # "cat" is on its way
    assert not _has_grown(str(stream), size)
    append(stream, "at,a\n")
    assert _has_grown(str(stream), size)


def test_a_header_without_rows_waits(stream: Path) -> None:
    stream.write_text("cat,dog,bird,y,site\n")
    assert not _has_grown(str(stream), -1)
    append(stream, "0.5,0.3,0.2,cat,a\n")
    assert _has_grown(str(stream), -1)


def test_a_file_that_grows_whenever_it_is_read_is_taken_in_but_for_its_last_row(
    stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def read(*arguments: object) -> object:
        data = labelled(*arguments)
        append(stream, rows(1, 1.0, len(data)))
        seen.append(len(data))
        if len(seen) == 4:
            raise KeyboardInterrupt
        return data

    monkeypatch.setattr("credibly.cli.monitoring.labelled", read)
    words = ["monitor", "stream.csv", "--state", "state.json", *READ, "--follow", "--every", "0.01"]
    assert main(words) == 130
    assert seen == [500, 501, 502, 503]
    assert cr.Monitor.load("state.json").n == 501  # the third look, without its last row


def test_a_file_that_grows_while_it_is_read_is_read_again(
    stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def read(*arguments: object) -> object:
        data = labelled(*arguments)
        if not looks:
            append(stream, rows(2000, 0.5, 5))
        looks.append(len(data))
        return data

    monkeypatch.setattr("credibly.cli.monitoring.labelled", read)
    words = ["monitor", "stream.csv", "--state", "state.json", *READ, "--follow", "--every", "0.01"]
    assert main([*words, "--fail-on", "alarm"]) == 1
    assert looks == [500, 2500]
    assert cr.Monitor.load("state.json").n == 2500
    assert main([*words, "--fail-on", "alarm"]) == 1  # the alarm stays


def test_following_ends_at_an_alarm(stream: Path) -> None:
    command = [sys.executable, "-m", "credibly", "monitor", "stream.csv", "--state", "state.json", *READ]
    follow = [*command, "--follow", "--every", "0.05", "--fail-on", "alarm"]
    process = subprocess.Popen(
        follow, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(Path(cr.__file__).parents[1])}
    )
    try:
        text = rows(2000, 0.5, 3)
        append(stream, text[:-4])  # the last line is half written
        append(stream, text[-4:])
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert b"alarm\t\ttrue" in output
    assert cr.Monitor.load("state.json").n == 2500
