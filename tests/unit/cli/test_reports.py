"""`credibly report` and `credibly demo` for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from credibly.cli.reports import _beside
from unit.cli.runs import FAST, Command

pytestmark = pytest.mark.slow

DRAWS = ("--n-resamples", 200)  # of instances, for ties


def test_report_stands_beside_the_file_and_replaces_reports_only(
    credibly: Command, overconfident: Path
) -> None:
    report = overconfident.with_name("overconfident-report.html")
    ran = credibly("report", overconfident, *FAST)
    assert ran.code == 0
    path, *sentences = ran.out.splitlines()
    assert path == str(report)
    assert sentences[0].startswith("conflict\t")
    assert [sentence.split("\t")[0] for sentence in sentences] == [
        "conflict",
        "yes",
    ]  # it knows when it is wrong
    written = report.read_bytes()
    assert written.startswith(b"<!")
    assert credibly("report", overconfident, *FAST).code == 0
    assert report.read_bytes() == written  # a report that was written here, the same seed, the same bytes

    report.write_text("mine", encoding="utf-8")
    refused = credibly("report", overconfident, *FAST)
    assert refused.code == 2
    assert "`--force`" in refused.err
    assert report.read_text(encoding="utf-8") == "mine"
    assert credibly("report", overconfident, "--force", *FAST).code == 0
    assert report.read_bytes() == written


def test_quiet_report_prints_its_path_only(credibly: Command, overconfident: Path, tmp_path: Path) -> None:
    ran = credibly("report", overconfident, "--out", tmp_path / "r.html", "-q", *FAST)
    assert (ran.out, ran.err) == (f"{tmp_path / 'r.html'}\n", "")


def test_report_json(credibly: Command, overconfident: Path, tmp_path: Path) -> None:
    ran = credibly("report", overconfident, "--out", tmp_path / "r.html", "--json", *FAST)
    result = json.loads(ran.out)
    assert Path(result["report"]).is_file()
    assert result["findings"][0]["word"] == "conflict"


@pytest.mark.usefixtures("few_digits")
def test_demo_ends_with_path_and_findings(
    credibly: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ("--model", "single", "--n-resamples", 19)
    ran = credibly("demo", *few)
    assert ran.code == 0
    path, *sentences = ran.out.splitlines()
    assert path == "demo-report.html"
    assert Path(path).stat().st_size < 500_000
    assert len(sentences) == 2  # the headline, and whether it knows when it is wrong
    assert credibly("demo", *few, "--json").code == 0  # over its own report
    Path(path).write_text("mine", encoding="utf-8")
    assert credibly("demo").code == 2
    assert Path(path).read_text(encoding="utf-8") == "mine"
    assert credibly("demo", *few, "--force", "--json").code == 0


def test_demo_names_its_models(credibly: Command, tmp_path: Path) -> None:
    ran = credibly("demo", "--model", "ensembel", "--out", tmp_path / "r.html")
    assert ran.code == 2
    assert "`--model`" in ran.err
    assert "'ensemble'" in ran.err
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("verb", ["report", "demo"])
def test_an_existing_report_is_refused_before_anything_is_computed(
    verb: str, credibly: Command, overconfident: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(*_: object, **__: object) -> None:
        pytest.fail("computed")

    monkeypatch.setattr("credibly.cli.numbers.evaluate", compute)
    (tmp_path / "r.html").touch()
    file = (overconfident,) if verb == "report" else ()
    assert credibly(verb, *file, "--out", tmp_path / "r.html").code == 2


def test_several_files_give_the_report_of_their_comparison(
    credibly: Command, calibrated: Path, members: Path, tmp_path: Path
) -> None:
    target = tmp_path / "both.html"
    ran = credibly("report", calibrated, members, "--out", target, *DRAWS)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == str(target)
    assert "if abstaining is allowed\t" in ran.out
    assert "found\tFrom trade-off 0" in ran.out
    other = tmp_path / "compared.html"
    assert credibly("compare", calibrated, members, "--out", other, "--n-bins", 15, *DRAWS).code == 0
    pages = [re.sub(r"credibly (report|compare) .*", "", path.read_text()) for path in (target, other)]
    tables = [re.findall(r"<table.*?</table>", page, flags=re.DOTALL) for page in pages]
    assert tables[0] == tables[1]
    assert f"credibly report {calibrated} {members} --out {target}" in target.read_text()


def test_the_report_of_several_files_stands_beside_the_first(
    credibly: Command, calibrated: Path, members: Path
) -> None:
    record = json.loads(credibly("report", calibrated, members, "--json", *DRAWS).out)
    assert record["report"] == str(calibrated.with_name("comparison-report.html"))
    assert record["type"] == "ReportWritten"
    assert record["findings"]
    assert credibly("report", calibrated, members, *DRAWS).code == 0  # over its own report
    calibrated.with_name("comparison-report.html").write_text("mine", encoding="utf-8")
    again = credibly("report", calibrated, members, *DRAWS)
    assert again.code == 2
    assert "--force" in again.err


@pytest.mark.parametrize(
    "words",
    [
        ("--statistic", "brier"),
        ("--recalibrate", "temperature"),
        ("--margin", "0.05"),
        ("--fail-on", "conflict"),
    ],
)
def test_what_one_file_alone_can_have_is_refused_of_several(
    credibly: Command, calibrated: Path, members: Path, words: tuple[str, str]
) -> None:
    ran = credibly("report", calibrated, members, *words)
    assert ran.code == 2
    assert f"`{words[0]}` is for the report of one file; got 2 files" in ran.err


def test_a_report_of_standard_input_has_a_name_of_its_own() -> None:
    assert _beside("-") == Path("standard-input-report.html")
    assert _beside("folder/p.npz") == Path("folder/p-report.html")
