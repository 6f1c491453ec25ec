"""The section of a report about stated ignorance."""

from __future__ import annotations

import numpy as np

from credibly._arrays.notes import counted
from credibly.evaluation import Evaluation, IgnoranceParts, shown, shown_range
from credibly.plots import Table, picture
from credibly.report.html_parts import MethodNote, Section, number_cells, report_figure
from credibly.results.ignorance import Ignorance

_MOST_CLASSES, _MARGINS = 12, (0.75, 1.0, 0.1, 0.3)
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
    found = parts.found
    few, many = found.labels
    labels = f"{few}" if few == many else f"{few} to {many}"
    columns = ("part", "value", "95 % interval")
    rows = (
        ("stated ignorance: variance of the class probabilities", *number_cells(found.stated)),
        ("supported by pairs of labels", *number_cells(found.supported)),
        ("of that, a mean that is off", *number_cells(found.mean_part)),
        ("stated, as a share of the uncertainty", *number_cells(found.stated_share)),
        ("supported, as a share of the uncertainty", *number_cells(found.supported_share)),
    )
    return Section(
        anchor="ignorance",
        title="Stated and supported ignorance",
        finding=f"{counted(found.n, 'instance')} with {labels} labels each.",
        tables=(
            ("How ignorant it says that it is, and how ignorant labels show it to be", Table(columns, rows)),
            ("Tests of the spread and of the mean", _tests(found, parts.repaired)),
            ("By class", _classes(found, evaluation)),
        ),
        figures=(
            report_figure(
                picture(found), "Stated against supported ignorance", "ignorance-sizes", margins=_MARGINS
            ),
        ),
        methods=(METHOD,),
    )


_TESTED = {
    "pair_gap": "supported minus stated ignorance",
    "spread_score": "spread score (above 0: stated too narrow)",
    "local_spread_score": "spread score, given the prediction",
}


def _tests(found: Ignorance, repaired: Ignorance | None) -> Table:
    rows = [
        (
            _TESTED[name],
            shown(test.statistic),
            shown_range(test.acceptance_region),
            shown(test.pvalue),
            shown(test.adjusted_pvalue),
        )
        for name, test in found.test.components.items()
    ]
    rows.append(("all three together", "", "", shown(found.test.pvalue), shown(found.test.deciding_pvalue)))
    rows.append(("the mean, on one label per instance", "", "", shown(found.mean_test.pvalue), ""))
    if repaired is not None:
        rows.append(("the first and the third, after the repair", "", "", shown(repaired.test.pvalue), ""))
    return Table(("what is tested", "observed", "acceptance", "p", "adjusted p"), tuple(rows))


def _classes(found: Ignorance, evaluation: Evaluation) -> Table:
    stated, supported = found.per_class_stated, found.per_class_supported
    worst = np.argsort(-np.abs(stated.value - supported.value), kind="stable")[:_MOST_CLASSES]
    rows = tuple(
        (evaluation.classes[c], shown(float(stated.value[c])), *number_cells(supported[int(c)]))
        for c in worst.tolist()
    )
    return Table(("class", "stated", "supported", "95 % interval"), rows)
