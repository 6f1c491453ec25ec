"""Statistics by name, and those of other packages."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import re
import types
from collections.abc import Iterator

import numpy as np
import pytest

import credibly as cr
from credibly.statistics import registry
from credibly.statistics.registry import as_statistic


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list]:
    """Entry points that `registered` finds; the cache is emptied around the test."""
    points: list = []

    def entry_points(*, group: str) -> list:
        assert group == "credibly.statistics"
        return points

    monkeypatch.setattr(registry, "entry_points", entry_points)
    cr.statistics.registered.cache_clear()
    yield points
    cr.statistics.registered.cache_clear()


def point(value: str, loaded: object) -> types.SimpleNamespace:
    return types.SimpleNamespace(value=value, load=lambda: loaded, dist=types.SimpleNamespace(name="other"))


def misses(predictions, labels) -> float:
    return float(np.mean(predictions.probs.argmax(axis=1) != labels))


def test_names_are_those_of_the_public_functions() -> None:
    assert list(cr.statistics.registered()) == [
        "accuracy",
        "confidence_gap",
        "brier",
        "log_loss",
        "confidence_ece",
        "classwise_ece",
        "top_label_ece",
        "hosmer_lemeshow",
        "skce",
        "mmd_ce",
        "kde_ce",
        "kl_ce",
        "smooth_ece",
        "ecce",
        "truthful_ce",
        "t_cal",
        "ici",
        "e50",
        "e90",
        "emax",
        "spiegelhalter_z",
        "rps",
        "brier_skill",
        "log_loss_skill",
        "augrc",
        "net_benefit",
        "picp",
        "quantile_calibration_error",
        "crps",
        "gaussian_log_loss",
        "interval_score",
        "pinball_loss",
        "wis",
        "sharpness",
        "hsic",
        "rmse",
        "mae",
        "mean_slope",
        "spread_ratio",
        "spread_slope",
        "ence",
    ]
    for name, statistic in cr.statistics.registered().items():
        assert statistic.name == name
        assert getattr(cr.statistics, name) is statistic
        assert name not in cr.__all__ or getattr(cr, name) is statistic


def test_a_statistic_of_another_package_is_found_by_name(installed: list) -> None:
    estimate = cr.statistic(misses, tail="two-sided")
    installed.append(point("other:misses", estimate))
    assert cr.statistics.registered()["misses"] is estimate
    result = cr.calibration_test([[0.9, 0.1]], [1], statistics="misses", n_resamples=9, rng=0)
    assert result.statistic == 1.0


def test_a_taken_name_is_refused(installed: list) -> None:
    installed.append(point("other:brier", cr.statistic(misses, tail="greater", name="brier")))
    with pytest.raises(cr.InputError, match="statistic 'brier' of entry point 'other:brier'"):
        cr.statistics.registered()


def test_what_is_no_statistic_is_refused_with_its_package(installed: list) -> None:
    installed.append(point("other:misses", misses))
    with pytest.raises(cr.InputTypeError, match=r"'other:misses' must name .* Fix or uninstall other"):
        cr.statistics.registered()


@pytest.mark.parametrize(
    ("wrong", "right"), [("confidence_ec", "confidence_ece"), ("hosmer_lemshow", "hosmer_lemeshow")]
)
def test_a_wrong_name_is_told_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(cr.InputError, match=f"got '{wrong}'. Did you mean '{right}'"):
        as_statistic(wrong)


ECES = "Which one: confidence_ece (the usual one), classwise_ece, top_label_ece."


@pytest.mark.parametrize(
    ("alias", "answer"),
    [
        ("ece", ECES),
        ("ECE", ECES),
        ("nll", "Which one: log_loss (for classes), gaussian_log_loss (for real values)."),
        ("log_score", "Which one: log_loss (for classes), gaussian_log_loss (for real values)."),
        ("Brier score", "Brier score is called brier here."),
        ("ace", 'The nearest here is classwise_ece, with binning="equal_mass".'),
        ("mce", "The nearest here is confidence_ece, with p=math.inf."),
        ("auroc", "Use `risk_coverage_curve` to see whether the surest answers are right"),
    ],
)
def test_a_name_that_others_use_is_answered_in_words(alias: str, answer: str) -> None:
    with pytest.raises(cr.InputError) as raised:
        as_statistic(alias)
    assert raised.value.remedy.startswith(answer)


def test_the_package_answers_as_well() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'ece'. Which one: confidence_ece"):
        _ = cr.ece
    with pytest.raises(AttributeError, match=r"no attribute 'something_else'$"):
        _ = cr.something_else


def test_no_alias_hides_a_statistic_or_a_public_name() -> None:
    aliases = {
        alias for statistic in cr.statistics.registered().values() for alias in statistic.story.aliases
    }
    assert not aliases & {*cr.statistics.registered(), *cr.__all__}
    assert not aliases & set(registry._ELSEWHERE)


def test_a_statistic_of_another_package_must_tell_its_story(installed: list) -> None:
    class Silent(type(cr.brier)):
        name = "silent"

        @property
        def story(self) -> None:
            raise AttributeError

    installed.append(point("other:silent", Silent()))
    with pytest.raises(
        cr.InputTypeError, match=("'silent' of entry point 'other:silent' must describe itself")
    ):
        cr.statistics.registered()


def test_what_is_not_registered_is_told_by_its_name() -> None:
    assert registry.story_of("brier") is cr.brier.story
    assert registry.story_of("share_of_zero").title == "share of zero"


def test_a_name_like_no_other_is_told_all() -> None:
    with pytest.raises(cr.InputError, match="Known names: accuracy, augrc, brier"):
        as_statistic("zzz")


def test_a_plain_function_must_declare_its_tail() -> None:
    with pytest.raises(cr.InputTypeError, match="must declare its tail; got the plain function 'misses'"):
        cr.calibration_test([[0.9, 0.1]], [1], statistics=misses)
    assert as_statistic(misses, tail="greater").traits.tail == "greater"


def test_anything_else_is_refused() -> None:
    with pytest.raises(cr.InputTypeError, match="must be a statistic or a name; got 7"):
        as_statistic(7)


def test_the_registry_cannot_be_changed_by_its_readers():
    with pytest.raises(TypeError):
        cr.statistics.registered()["mine"] = cr.brier


@pytest.mark.parametrize("name", list(cr.statistics.registered()))
def test_help_shows_what_a_call_takes(name: str) -> None:
    """Predictions, labels and every setting, in the signature and in words."""
    statistic = cr.statistics.registered()[name]
    names = (field.name for field in dataclasses.fields(statistic))
    settings = [name for name in names if not name.startswith("_")]
    wanted = ["predictions", "labels", "sample_weight", "clusters", "blocks", *settings]
    signature = inspect.signature(statistic)
    assert list(signature.parameters) == wanted
    assert {one: signature.parameters[one].default for one in settings} == statistic.settings()
    text = pydoc.render_doc(statistic, renderer=pydoc.plaintext)
    assert f"{name}(predictions, labels=None, *, sample_weight=None, clusters=None" in text
    section = (inspect.getdoc(statistic) or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    assert re.findall(r"^(\w+) : ", section, re.MULTILINE) == wanted


def test_a_statistic_with_other_settings_shows_them_as_its_defaults() -> None:
    assert inspect.signature(cr.kde_ce.with_(p=1.0)).parameters["p"].default == 1.0
    assert "bandwidth" in inspect.signature(type(cr.kde_ce)).parameters  # the class is called with settings
    assert "predictions" not in inspect.signature(type(cr.kde_ce)).parameters
