"""What a test returns: p-value, null distribution, effect size; more for checks, sets, regions and raters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly.results.base import Notion, Result, Tail, Tested, require_level
from credibly.results.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from credibly.results.witness import WitnessResult  # which is made of the results here


def smallest_pvalue(n_clusters: int) -> float:
    """Return the smallest p-value that signs of clusters can reach: an observation and its mirror image."""
    return float(2.0 ** (1 - min(n_clusters, 1000)))


@dataclasses.dataclass(frozen=True)
class HypotestResult(Tested, Result):
    """A null hypothesis, a statistic and a p-value.

    Attributes
    ----------
    name : str
        The test.
    hypothesis : str
        The null hypothesis in words.
    statistic_name : str
        What was computed.
    statistic : float
        Its value on the observed labels.
    pvalue : float
        Probability, under the hypothesis, of a statistic at least as extreme.
    pvalue_interval : tuple of float or None
        95 % Monte-Carlo interval of the p-value; None if it is not simulated.
    tail : {"greater", "two-sided", "less"}
        Which deviations count as extreme; "less" for the test that an error is within a margin.
    null_distribution : ndarray or None
        The replicates' statistics.
    acceptance_region : tuple of float
        Values the test would not reject at 5 %.
    effect_size : float
        Observed value minus the mean under the hypothesis, in the statistic's own unit.
    z_score : float
        The same in standard deviations of the null.
    n : int
        Number of instances.
    n_resamples : int
        Number of replicates.
    statistic_range : tuple of float or None
        Smallest and largest value the statistic can take; None if unbounded.
    settings : mapping
        Everything needed to repeat the test, including the seed.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Westfall-Young adjustment, if several statistics were tested together.
    components : mapping of str to HypotestResult
        Per-statistic results of an omnibus test.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    """

    name: str
    hypothesis: str
    statistic_name: str
    statistic: float
    pvalue: float
    pvalue_interval: tuple[float, float] | None
    tail: Tail
    null_distribution: np.ndarray[Any, Any] | None
    acceptance_region: tuple[float, float]
    effect_size: float
    z_score: float
    n: int
    n_resamples: int
    statistic_range: tuple[float, float] | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    adjusted_pvalue: float | None = None
    components: Mapping[str, HypotestResult] = dataclasses.field(default_factory=dict)
    n_clusters: int | None = None

    @property
    def is_beyond_replicates(self) -> bool:
        """Whether the statistic is more extreme than every replicate: no p-value could be smaller."""
        null = self.null_distribution
        if null is None:
            return False
        above = self.statistic > null.max()
        return bool(above or (self.tail == "two-sided" and self.statistic < null.min()))

    @property
    def deciding_pvalue(self) -> float:
        """The p-value behind the verdict: the adjusted one if several statistics were tested together."""
        return self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether the test's own p-value, not adjusted for any other, is at most `level`."""
        require_level(level)
        return self.pvalue <= level

    def verdict(self, level: float = 0.05) -> Literal["conflict", "no conflict found", "cannot tell"]:
        """Return the test's answer in one of three words.

        "conflict" is a rejection by `deciding_pvalue`. "cannot tell" means that a rejection was impossible:
        no p-value that these replicates, or so few clusters, can give is small enough (including the case
        that the statistic lies beyond all replicates but its adjusted p-value is still too large), all
        replicates are equal to the observation, or the acceptance region spans more than half of all values
        the statistic can take. Everything else is "no conflict found".
        """
        require_level(level)
        if self.deciding_pvalue <= level:
            return "conflict"
        if self.n_clusters is not None and smallest_pvalue(self.n_clusters) > level:
            return "cannot tell"
        sides = 2 if self.tail == "two-sided" else 1
        if self.n_resamples and sides / (self.n_resamples + 1) > level:
            return "cannot tell"
        null = self.null_distribution
        if self.is_beyond_replicates or (null is not None and null.size and (null == self.statistic).all()):
            return "cannot tell"
        if self.statistic_range is not None:
            width = self.acceptance_region[1] - self.acceptance_region[0]
            if width > 0.5 * (self.statistic_range[1] - self.statistic_range[0]):
                return "cannot tell"
        return "no conflict found"

    def __str__(self) -> str:
        low, high = self.acceptance_region
        error = ""
        if self.pvalue_interval is not None:
            error = f" (Monte-Carlo {self.pvalue_interval[0]:.3g} to {self.pvalue_interval[1]:.3g})"
        adjusted = "" if self.adjusted_pvalue is None else f", adjusted {self.adjusted_pvalue:.3g}"
        return (
            f"{self.statistic_name} {self.statistic:.4g}, 95 % acceptance {low:.4g} to {high:.4g}, "
            f"p = {self.pvalue:.3g}{error}{adjusted}: {self.verdict()}"
        )


Word = Literal["conflict", "no conflict found", "cannot tell"]

_LONG = ("null_distribution", "components")

_BY_MEMBER = ("member_counts", "member_below", "member_above")


@dataclasses.dataclass(frozen=True)
class CheckResult(HypotestResult):
    """One statistic of a predictive check under one hypothesis.

    The p-value is two-sided, whatever the statistic's own tail: a value that is too good contradicts a model
    as much as one that is too bad.

    Attributes
    ----------
    name, hypothesis, statistic_name : str
        The check, the hypothesis in words, and the statistic.
    statistic : float
        Its value on the observed labels.
    pvalue : float
        Two-sided p-value.
    pvalue_interval : tuple of float or None
        Its 95 % Monte-Carlo interval.
    tail : {"greater", "two-sided"}
        Always two-sided.
    null_distribution : ndarray or None
        The replicates' statistics.
    acceptance_region : tuple of float
        Values the check would not reject at 5 %.
    effect_size, z_score : float
        Observed value minus the mean of the replicates, in the statistic's own unit and in their spread.
    n, n_resamples : int
        Number of instances and of replicates.
    statistic_range : tuple of float or None
        Smallest and largest value the statistic can take.
    settings : mapping
        Everything needed to repeat the check.
    notes : tuple of str
        What was accepted, converted or left out on the way.
    adjusted_pvalue : float or None
        Adjusted over the statistics, or over groups and statistics.
    components : mapping of str to HypotestResult
        Empty: a check has no parts.
    n_clusters : int or None
        Number of independent clusters, if rows belong together.
    paper_pvalue : float
        P21's p: share of the replicates strictly below the observation (its Algorithm 3).
    upper_pvalue, lower_pvalue : float
        One-sided p-values, ``(1 + #{null >= observed}) / (1 + n_resamples)`` and with ``<=``.
    direction : {"above", "below"}
        On which side of the replicates the observation lies: the side of the smaller one-sided p-value.
    sharpness : float
        Distance between the 5 % and the 95 % quantile of the replicates: how much the check would accept.
    n_members : int
        Members of the ensemble.
    member_counts : ndarray (m,) or None
        Number of replicates drawn by each member; None if no member is drawn.
    member_below, member_above : ndarray (m,) or None
        The share of these at most, and at least, as large as the observation; NaN if there are none.
    member_pvalue : float or None
        Two-sided p-value that counts the truth as one more member: members are then a sample from a larger
        population, and no p-value is below 2 / (m + 1). A conflict requires this p-value to be small as well.
    paper_rules : mapping of str to bool
        Whether P21's rules fail the model; empty outside its paper mode.
    group : str or None
        Which group of instances; None for all.
    """

    paper_pvalue: float = float("nan")
    upper_pvalue: float = float("nan")
    lower_pvalue: float = float("nan")
    direction: Literal["above", "below"] = "above"
    sharpness: float = float("nan")
    n_members: int = 1
    member_counts: HostArray | None = None
    member_below: HostArray | None = None
    member_above: HostArray | None = None
    member_pvalue: float | None = None
    paper_rules: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    group: str | None = None

    @property
    def deciding_pvalue(self) -> float:
        """The p-value behind the verdict: adjusted and, with several members, not below `member_pvalue`."""
        usual = super().deciding_pvalue
        return usual if self.member_pvalue is None or self.n_members < 2 else max(usual, self.member_pvalue)

    def is_beyond_members(self, level: float = 0.05) -> bool:
        """Tell whether these members did not draw the labels, but one more like them might have."""
        return super().deciding_pvalue <= level < self.deciding_pvalue

    def verdict(self, level: float = 0.05) -> Word:
        """Return the answer in one of three words; in paper mode a conflict is beyond all replicates.

        If only `member_pvalue` prevents a rejection, there are too few members: "cannot tell".
        """
        if self.paper_rules:
            return "conflict" if self.paper_rules["outside the replicates"] else "no conflict found"
        require_level(level)
        return "cannot tell" if self.is_beyond_members(level) else super().verdict(level)

    def summary(self) -> dict[str, Any]:
        """Return the JSON-safe fields without replicates and members: what a table of groups needs."""
        found = self.to_dict()
        return {name: value for name, value in found.items() if name not in (*_LONG, *_BY_MEMBER)}


@dataclasses.dataclass(frozen=True, eq=False)
class LocalDeviations(Result):
    """Observed and predicted frequencies in regions of feature space, worst first.

    Attributes
    ----------
    regions : tuple of str
        The conditions that define each region.
    sizes : ndarray (r,)
        Instances in it.
    classes : ndarray (r,)
        The class whose frequency is farthest off.
    predicted, observed : ndarray (r,)
        Mean predicted probability and observed frequency of that class.
    scores : ndarray (r,)
        Observed minus expected count in standard deviations.
    adjusted_pvalues : ndarray (r,)
        Against the largest deviation of all regions and classes under replicates (Westfall-Young).
    columns : tuple of str
        Names of the columns that define the regions.
    lower, upper : ndarray (r, d)
        Range of every column within the region.
    n : int
        Number of instances.
    n_resamples : int
        Number of replicates.
    """

    regions: tuple[str, ...]
    sizes: HostArray
    classes: HostArray
    predicted: HostArray
    observed: HostArray
    scores: HostArray
    adjusted_pvalues: HostArray
    columns: tuple[str, ...]
    lower: HostArray
    upper: HostArray
    n: int
    n_resamples: int

    def failing(self, level: float = 0.05) -> tuple[str, ...]:
        """Return the regions that deviate by more than chance explains.

        Parameters
        ----------
        level : float
            Maximum probability of any false entry, for predictions that do not depend on these labels.

        Returns
        -------
        tuple of str
            Their conditions, worst first.
        """
        require_level(level)
        return tuple(
            region for region, p in zip(self.regions, self.adjusted_pvalues, strict=True) if p <= level
        )


@dataclasses.dataclass(frozen=True)
class SimplexPicture(Result):
    """One set of distributions over three classes, as points and polygons of the simplex.

    Attributes
    ----------
    kind : str
        The kind of prediction.
    row : int
        Which instance.
    members : ndarray (m, 3)
        Members of an ensemble; empty for other kinds.
    hull : ndarray (v, 3)
        Corners of the set itself, in order around it; one or two if it is a point or a line.
    envelope : ndarray (v, 3)
        Corners of the set of all distributions within its lower and upper probabilities.
    mean : ndarray (3,)
        The single distribution that represents the set.
    label : int or None
        The observed class.
    target : ndarray (3,) or None
        The observed distribution of labels.
    """

    kind: str
    row: int
    members: HostArray
    hull: HostArray
    envelope: HostArray
    mean: HostArray
    label: int | None = None
    target: HostArray | None = None


Method = Literal["both", "witness", "weights"]

Outcome = Literal["both", "witness alone", "weights alone", "neither"]
"""Which of the two tests of a set reject."""


@dataclasses.dataclass(frozen=True)
class CredalTestResult(HypotestResult):
    """Whether a set of distributions contains the truth and a calibrated combination.

    The fields of :class:`HypotestResult`, and these. With both methods the statistic is that of the weights,
    and the p-value the larger of two.

    Attributes
    ----------
    weights : ndarray (n, a) or (a,)
        Weights on `weight_names`, per instance (learned) or one vector (constant, mean). The weight of a
        particular member is meaningful only if members differ in kind (another architecture, other data); for
        exchangeable members (other seeds) it is chance.
    weight_names : tuple of str
        What is mixed: members, corners, draws, boundary points.
    notion : {"confidence", "classwise", "distribution"}
        Which kind of calibration the statistic measures; labels are always drawn from whole distributions.
    test_rows : ndarray
        Instances the statistic was computed on; weights were learned on the others.
    combination : object
        What `combine` and `score` apply to other instances.
    method : {"both", "witness", "weights"}
        Which hypotheses were tested.
    validity : WitnessResult or None
        Is the distribution of the label in the set? None if only weights were tested.
    calibration : HypotestResult or None
        The papers' hypothesis on its own, if both were tested: is some combination calibrated?
    """

    weights: HostArray = dataclasses.field(default_factory=lambda: np.empty(0))
    weight_names: tuple[str, ...] = ()
    notion: Notion = "distribution"
    test_rows: HostArray = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    combination: Any = dataclasses.field(default=None, repr=False)
    method: Method = "weights"
    validity: WitnessResult | None = None
    calibration: HypotestResult | None = None

    def plot(
        self, ax: Axes | None = None, *, kind: str | None = None, label: str | None = None, **options: Any
    ) -> Axes:
        """Draw the test of the weights; for a witness alone, where it points. See :meth:`Result.plot`."""
        if kind is None and self.null_distribution is None and self.validity is not None:
            return self.validity.plot(ax, label=label, **options)
        return super().plot(ax, kind=kind, label=label, **options)

    def outcome(self, level: float = 0.05) -> Outcome:
        """Return which of the two tests reject at `level`.

        A label that every distribution of the set rules out rejects both: no combination is calibrated.
        """
        weights = self if self.method == "weights" else self.calibration
        impossible = self.validity is not None and self.validity.impossible_rows.size > 0
        rejects = (
            self.validity is not None and self.validity.rejects(level),
            weights is not None and (impossible or weights.pvalue <= level),
        )
        outcomes: dict[tuple[bool, bool], Outcome] = {
            (True, True): "both",
            (True, False): "witness alone",
            (False, True): "weights alone",
            (False, False): "neither",
        }
        return outcomes[rejects]

    def verdict(self, level: float = 0.05) -> Word:
        """Return the answer in one of three words.

        With both methods: "conflict" if both reject, "cannot tell" if only one does (or could not have), "no
        conflict found" if neither does. With one method: that method's own answer.
        """
        if self.method == "witness" and self.validity is not None:
            return self.validity.verdict(level)
        if self.validity is None or self.calibration is None:
            return super().verdict(level)
        if self.outcome(level) != "neither":
            return "conflict" if self.outcome(level) == "both" else "cannot tell"
        words = {self.validity.verdict(level), self.calibration.verdict(level)}
        return "cannot tell" if "cannot tell" in words else "no conflict found"

    def sentence(self, level: float = 0.05, class_names: Sequence[str] | None = None) -> str:
        """Return the outcome in words.

        Parameters
        ----------
        level : float
            Level of both tests.
        class_names : sequence of str, optional
            Names of the classes.

        Returns
        -------
        str
            What was rejected, and where the set misses the truth.
        """
        found = self.outcome(level)
        if self.validity is not None and self.validity.impossible_rows.size:
            return (
                f"{self.validity.impossible_words()}: the truth lies outside the set, and no "
                f"combination is calibrated."
            )
        seen = "the predictions" if self.validity is None else f"the {self.validity.given}"
        where = "" if self.validity is None else self.validity.where(class_names)
        pointed = f": {where}" if where else ""
        if found == "both":
            return (
                f"The truth lies outside the set, and no combination that was found is calibrated{pointed}."
            )
        if found == "witness alone":
            told = f"Given {seen}, the truth lies outside the set{pointed}"
            return told + ("." if self.method == "witness" else "; some combination may still be calibrated.")
        if found == "weights alone":
            told = "No combination that these weights can represent is calibrated"
            if self.settings.get("weights") == "mean":
                told = "The mean of the set is not calibrated"
            return told + (
                "." if self.method == "weights" else (f"; given {seen}, the set may contain the truth.")
            )
        if self.verdict(level) == "cannot tell":
            why = "" if self.validity is None else self.validity.why_not(level)
            return (
                f"Cannot tell: {why or 'there are too few instances or replicates, or the set is too wide'}."
            )
        return "No conflict found between the set and the labels."

    def __str__(self) -> str:
        if self.validity is None:
            return super().__str__()
        if self.calibration is None:
            return str(self.validity)
        return f"{self.verdict()}: {self.sentence()} {self.validity}; weights: {self.calibration}"

    def combine(self, predictions: Any, *, features: Any = None) -> Any:
        """Return the combination that was found, for any instances of the same model.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested, with as many members and classes.
        features : array (n, d), optional
            Needed if the weights were learned from features.

        Returns
        -------
        Point
            One distribution per instance, a member of its set.
        """
        return self.combination.apply(predictions, features)

    def score(self, predictions: Any, labels: Any, *, features: Any = None) -> dict[str, Estimate]:
        """Return accuracy, proper scores and the tested statistic of the combination on any split.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested.
        labels : array (n,)
            What was observed.
        features : array (n, d), optional
            Needed if the weights were learned from features.

        Returns
        -------
        dict of str to Estimate
            By name of the statistic.
        """
        found: dict[str, Estimate] = self.combination.score(predictions, labels, features)
        return found

    def regions(
        self,
        predictions: Any,
        labels: Any,
        *,
        features: Any = None,
        space: Any = None,
        n_resamples: int = 999,
        rng: Any = 0,
    ) -> LocalDeviations:
        """Return where in feature space the combination that was found fails, worst first.

        Parameters
        ----------
        predictions : Predictions or array
            Predictions of the kind that was tested; preferably those at `test_rows`, on which weights were
            not learned.
        labels : array (n,)
            What was observed.
        features : array (n, d), optional
            Needed if the weights were learned from features.
        space : array (n, d), optional
            What to divide into regions. Default: the features, or the mean prediction if there are none.
        n_resamples : int
            Replicates behind the adjusted p-values.
        rng : None, int or Generator
            Seed.

        Returns
        -------
        LocalDeviations
            Regions with about equally many instances, chosen without looking at labels. Their p-values take
            the combination as given.
        """
        found: LocalDeviations = self.combination.regions(
            predictions, labels, features, space, n_resamples, rng
        )
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class ValidityResult(HypotestResult):
    """Whether the distribution of labels lies in the predicted set: over all instances, and for each.

    The fields of :class:`HypotestResult` are those of the test over all instances.

    Attributes
    ----------
    deviance : array (n,)
        Twice the log-likelihood lost by staying in the set: 0 if the observed frequencies lie in it.
    pvalues : array (n,)
        P-value of each instance on its own.
    adjusted_pvalues : array (n,)
        The same, adjusted by the largest deviance of all instances: the probability of any false rejection is
        at most the level.
    nearest : array (n, k)
        The distribution of each set under which the observed labels are most probable.
    raters : array (n,)
        Number of labels per instance.
    smallest_pvalues : array (n,)
        Approximately the smallest p-value each instance could have had: all its raters agree on the class
        that is least probable under the set.
    largest_explained : float
        The largest deviance that chance explains over all instances, at 5 %.
    """

    deviance: Any = None
    pvalues: Any = None
    adjusted_pvalues: Any = None
    nearest: Any = None
    raters: Any = None
    smallest_pvalues: Any = None
    largest_explained: float = float("inf")

    def failing(self, level: float = 0.05) -> HostArray:
        """Return the instances whose own distribution of labels is not in the set, worst first.

        Parameters
        ----------
        level : float
            Maximum probability of any false entry in the list.

        Returns
        -------
        ndarray of int
            Rows whose adjusted p-value is at most `level`.
        """
        require_level(level)
        order = np.argsort(-to_host(self.deviance), kind="stable")
        return order[to_host(self.adjusted_pvalues)[order] <= level]
