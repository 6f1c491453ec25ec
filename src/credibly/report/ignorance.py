"""The section of a report about stated ignorance."""

from __future__ import annotations

from credibly._arrays.notes import counted
from credibly.evaluation import Evaluation, IgnoranceParts
from credibly.plots import Table, picture
from credibly.report.html_parts import MethodNote, Section, numbers_table, report_figure
from credibly.results.ignorance import Ignorance

METHOD = MethodNote(
    "Stated and supported ignorance",
    "Stated ignorance is the variance of the class probabilities under the prediction. Two labels of an "
    "instance show, without bias, how far its distribution of labels lies from the predicted mean; with one "
    "label every split of the uncertainty fits equally well. For the test, labels are drawn from the "
    "prediction: a member or a distribution of the Dirichlet first, then as many labels as were observed. "
    "Three statistics share these replicates, and the smallest of their ranks decides.",
    "supported = mean over pairs of labels of ⟨e_y − μ, e_y' − μ⟩",
    "Ahdritz et al., Provable uncertainty decomposition via higher-order calibration, ICLR 2025.",
)


def ignorance_section(parts: IgnoranceParts, evaluation: Evaluation) -> Section:
    """Return the section about stated and supported ignorance."""
    ignorance = parts.found
    few, many = ignorance.labels
    labels = f"{few}" if few == many else f"{few} to {many}"
    numbers = {
        "stated ignorance: variance of the class probabilities": ignorance.stated,
        "supported by pairs of labels": ignorance.supported,
        "of that, a mean that is off": ignorance.mean_part,
        "stated, as a share of the uncertainty": ignorance.stated_share,
        "supported, as a share of the uncertainty": ignorance.supported_share,
    }
    drawn, caption = (
        picture(ignorance),
        "How ignorant it says that it is, and how ignorant labels show it to be",
    )
    return Section(
        anchor="ignorance",
        title="Stated and supported ignorance",
        finding=f"{counted(ignorance.n, 'instance')} with {labels} labels each.",
        tables=(
            (caption, numbers_table(numbers)),
            ("Tests of the spread and of the mean", _tests(ignorance, parts.repaired)),
        ),
        figures=(
            report_figure(
                drawn, "Stated against supported ignorance", "ignorance-sizes", margins=(0.75, 1.0, 0.1, 0.3)
            ),
        ),
        methods=(METHOD,),
    )


def _tests(ignorance: Ignorance, repaired: Ignorance | None) -> Table:
    tests = {
        "supported minus stated ignorance": ignorance.test.components["pair_gap"],
        "spread score (above 0: stated too narrow)": ignorance.test.components["spread_score"],
        "spread score, given the prediction": ignorance.test.components["local_spread_score"],
        "all three together": ignorance.test,
        "the mean, on one label per instance": ignorance.mean_test,
    }
    if repaired is not None:
        tests["the first and the third, after the repair"] = repaired.test
    single = [not test.components for test in tests.values()]
    parts = list(zip(tests.values(), single, strict=True))
    return Table.of(
        {
            "what is tested": tests,
            "observed": [test.statistic if alone else "" for test, alone in parts],
            "acceptance": [test.acceptance_region if alone else "" for test, alone in parts],
            "p": [test.pvalue for test in tests.values()],
            "adjusted p": [test.deciding_pvalue for test in tests.values()],
        }
    )
