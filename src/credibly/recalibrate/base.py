"""A recalibration: fitted on predictions and labels, applied to predictions, saved as JSON, composed."""

from __future__ import annotations

import dataclasses
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, Remedy
from credibly._arrays.namespace import Array, one_blas_thread
from credibly.predictions import ClassPredictions, Confidence, Ensemble, as_point, cluster_codes
from credibly.recalibrate.fit_data import FitData, checked, digest_of_predictions, fit_data
from credibly.recalibrate.learned import declared, require_sound, shapes_of
from credibly.recalibrate.minimum import Convergence
from credibly.results.base import jsonable

if TYPE_CHECKING:
    from credibly.recalibrate.chain import Chain

FORMAT = "credibly.recalibrate"
VERSION = 1
KEPT = ("digest", "n", "n_classes", "n_members", "zero")
"""What is known of the data of the fit."""
FIT_AGAIN = "Fit again on predictions of this model."


@dataclasses.dataclass(eq=False)
class Recalibration(ABC):
    """Base of all recalibrations.

    Settings are constructor arguments. `fit` sets what was learned as attributes and returns the object;
    `apply` needs a fitted one.
    """

    method: ClassVar[str]
    """Name in files and on the command line."""
    takes_features: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = False
    """Whether `fit` can be given groups."""
    can_lead: ClassVar[bool] = True
    """Whether another step can follow: not if it makes sets of distributions."""
    changes_mean: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("Point", "Ensemble", "Dirichlet")
    """Types of predictions it is defined for."""

    convergence: Convergence | None = dataclasses.field(default=None, init=False, repr=False)
    digest: str | None = dataclasses.field(default=None, init=False, repr=False)
    n: int | None = dataclasses.field(default=None, init=False, repr=False)
    n_classes: int | None = dataclasses.field(default=None, init=False, repr=False)
    n_members: int | None = dataclasses.field(default=None, init=False, repr=False)
    notes: tuple[str, ...] = dataclasses.field(default=(), init=False, repr=False)
    zero: float | None = dataclasses.field(default=None, init=False, repr=False)
    """What stored zeros were read as in the fit; None if there were none."""
    of_answers: bool = dataclasses.field(default=False, init=False, repr=False)
    """Whether it was fitted on answers that are right or wrong, for its description."""
    _near: Self | None = dataclasses.field(default=None, init=False, repr=False)
    """A fit to nearly the same rows, from whose parameters this one may start."""

    def fit(
        self,
        predictions: Any,
        labels: Any = None,
        *,
        features: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        clusters: Any = None,
        blocks: int | None = None,
    ) -> Self:
        """Learn the parameters.

        Parameters
        ----------
        predictions : Predictions or array
            What the model said on data it was not trained on.
        labels : array (n,) or LabelCounts
            What was observed; a count of c is the same as c labels.
        features : array (n, d), optional
            ...
        groups : array (n,), optional
            Group of every instance, for methods that are fitted by group.
        sample_weight : array (n,), optional
            Non-negative weights; a weight of 2 is the same as listing the instance twice.
        clusters : array (n,), optional
            ... Folds and held-out parts inside the fit then keep clusters whole. Data that were read bring
            their own.
        blocks : int, optional
            ...

        Returns
        -------
        Recalibration
            The object itself, fitted.
        """
        data = self._data(predictions, labels, sample_weight)
        together = cluster_codes(predictions, clusters, blocks)
        if together is not None and isinstance(data, FitData):  # fits of real values hold nothing out
            data = dataclasses.replace(data, clusters=together)
        self._fit_checked(data, self._seen(features, groups)).warn(type(self).__name__)
        return self

    def _fit_checked(self, data: Any, seen: Any) -> Convergence:
        """Learn the parameters from data that were checked; a report checks once for all methods."""
        self._require_kind(data.predictions)
        self.zero = None  # of an earlier fit
        with one_blas_thread():  # many small products: threads would wait for each other
            convergence = self._fit(data, seen)
        self._remember(data, convergence)
        return convergence

    def apply(self, predictions: Any, *, features: Any = None, groups: Any = None) -> Any:
        """Recalibrate predictions.

        Parameters
        ----------
        predictions : Predictions or array
            What the model says on new instances.
        features : array (n, d), optional
            ...
        groups : array (n,), optional
            Group of every instance, for methods that are fitted by group.

        Returns
        -------
        Predictions
            The recalibrated predictions; their notes say how they were made.

        Warns
        -----
        UserWarning
            If these are the predictions used for the fit: they look better than new ones would.
        """
        readable = self._checked(predictions)
        self._require_fitted()
        self._require_kind(readable)
        self._require_like_the_fit(readable)
        made = self._map(readable, self._seen(features, groups))
        if digest_of_predictions(readable) == self.digest:
            same = (
                f"{type(self).__name__} is applied to the predictions it was fitted on; measurements on "
                f"them are too optimistic"
            )
            warnings.warn(f"{same}. Evaluate on other instances", UserWarning, stacklevel=2)
            made._set(notes=(*made.notes, same))
        return made

    def transform(self, predictions: Any, *, features: Any = None, groups: Any = None) -> Any:
        """Recalibrate predictions: :meth:`apply`, as scikit-learn calls it."""
        return self.apply(predictions, features=features, groups=groups)

    def predict_proba(self, predictions: Any, *, features: Any = None, groups: Any = None) -> Array:
        """Return one recalibrated distribution per instance as an array (n, k); for sets, their mean."""
        return as_point(self.apply(predictions, features=features, groups=groups))[0].probs

    def then(self, following: Recalibration) -> Chain:
        """Compose: this one first, then `following` on its output.

        Parameters
        ----------
        following : Recalibration
            The next step.

        Returns
        -------
        Chain
            Both; `fit` fits each step on the output of the one before.
        """
        from credibly.recalibrate.chain import Chain

        later = following.parts if isinstance(following, Recalibration) else (following,)
        return Chain((*self.parts, *later))  # which refuses anything else

    @property
    def parts(self) -> tuple[Recalibration, ...]:
        """The steps: itself, or those of a chain."""
        return (self,)

    @property
    def name(self) -> str:
        """Its name with these settings, in reports and on the command line."""
        return self.method

    @property
    def fitted_by_group(self) -> bool:
        """Whether `apply` needs the groups of the instances: `fit` was given some."""
        return any(field.by_group and getattr(self, name) for name, field in declared(self).items())

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` has run."""
        return self.convergence is not None

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}

    def unfitted(self) -> Self:
        """Return a new one with the same settings."""
        return type(self)(**self.settings())

    def describe(self) -> str:
        """Return method and parameters in a few words, for notes."""
        return type(self).__name__

    def in_words(self, classes: Sequence[str] | None) -> str:
        """Return `describe` with the classes by their names."""
        return self.describe()

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types; `recalibrate.load` recreates the object.

        Returns
        -------
        dict
            Settings, learned parameters and how the fit ended.
        """
        self._require_fitted()
        return {
            "format": FORMAT,
            "version": VERSION,
            "method": self.method,
            "settings": jsonable(self.settings()),
            "learned": {name: jsonable(getattr(self, name)) for name in declared(self)},
            "convergence": jsonable(self.convergence),
            **{name: getattr(self, name) for name in KEPT},
            "notes": list(self.notes),
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the fitted recalibration as JSON.

        Parameters
        ----------
        path : path
            Where to write.
        overwrite : bool
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written.
        """
        import json

        from credibly.io import write_text_atomically

        text = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        return write_text_atomically(path, f"{text}\n", overwrite=overwrite)

    @classmethod
    def _from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make a fitted object from what `to_dict` gave; the reader has checked the outer form."""
        settings = values["settings"].items()
        made = cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings})
        for name, field in declared(cls).items():
            setattr(made, name, field.read(values["learned"][name]))
        made._restore(values)
        made._require_sound()
        return made

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the learned numbers that `apply` computes with."""
        return shapes_of(self)

    def _require_sound(self) -> None:
        """Raise unless what was read from a file are numbers that a fit can have found."""
        require_sound(self, self._shapes())

    def _restore(self, values: Mapping[str, Any]) -> None:
        ended = {name: value for name, value in values["convergence"].items() if name in _CONVERGENCE}
        self.convergence = Convergence(**ended)
        self.digest, self.notes = values["digest"], tuple(values["notes"])
        self.n = require_integer(values["n"], "n", 1)
        classes = values["n_classes"]
        self.n_classes = None if classes is None else require_integer(classes, "n_classes", 1)
        self.n_members = require_integer(values["n_members"], "n_members", 1)
        self.zero = None if values["zero"] is None else float(values["zero"])

    def _remember(self, data: Any, convergence: Convergence) -> None:
        predictions = data.predictions
        # one that starts at another fit is applied to the rows it left out
        self.digest = data.digest if self._near is None else None
        self.convergence, self.notes = convergence, data.notes
        self.of_answers = isinstance(predictions, Confidence)
        self.n, self.n_members = len(predictions), predictions.n_members
        self.n_classes = predictions.n_classes if isinstance(predictions, ClassPredictions) else None
        self.zero = data.scores.zero if isinstance(data, FitData) else None

    def _require_fitted(self) -> None:
        if not self.is_fitted:
            remedy = "Call `.fit(predictions, labels)`."
            raise InputError(f"`{type(self).__name__}`", "must be fitted first", "it is not", remedy)

    def takes(self, predictions: Any) -> bool:
        """Tell whether it is defined for such predictions."""
        return any(kind.__name__ in self.kinds for kind in type(predictions).__mro__)

    def _require_kind(self, predictions: Any) -> None:
        if not self.takes(predictions):
            remedy = "Use the mean prediction, `predictions.mean()`"
            if isinstance(predictions, Ensemble):
                remedy += ", or use TemperatureScaling or MemberTemperatures"
            if self.kinds == ("Ensemble",):
                remedy = "Use TemperatureScaling for one distribution per instance"
            rule = f"is defined for {' and '.join(self.kinds)} predictions"
            evidence = f"got {type(predictions).__name__}"
            raise InputTypeError(f"`{type(self).__name__}`", rule, evidence, f"{remedy}.")

    def _seen(self, features: Any, groups: Any) -> Any:
        """Return what the method sees of the instances beside their predictions; the rest is refused."""
        for name, value, taken in (
            ("features", features, self.takes_features),
            ("groups", groups, self.takes_groups),
        ):
            if value is not None and not taken:
                subject = f"`{type(self).__name__}`"
                raise InputError(subject, f"uses no {name}", f"got `{name}`", self._without(name))
        return self._used(features, groups)

    def _without(self, name: str) -> str:
        """Say what to do about features or groups that the method does not use."""
        if name != "groups":
            return "Leave them out."
        where = f"after it (`--method {self.method}+platt`)" if self.can_lead else "instead"
        after = f"after it (`{type(self).__name__}().then(PlattScaling())`)" if self.can_lead else "instead"
        return Remedy(
            f"Leave them out, or use TemperatureScaling, BiasScaling or PlattScaling {after}, which take "
            "groups; for real values SpreadScaling or LocationScaling.",
            f"Leave out `--by`, or use temperature, bias or platt {where}; for real values shift or scale.",
        )

    def _used(self, features: Any, groups: Any) -> Any:
        """Return the features or the groups, whichever the method uses."""
        if self.takes_groups:
            return groups
        return features if self.takes_features else None

    def _data(self, predictions: Any, labels: Any, sample_weight: Any) -> Any:
        """Check what a fit starts from."""
        return fit_data(predictions, labels, sample_weight)

    def _checked(self, predictions: Any) -> Any:
        """Return predictions of the sort it recalibrates: classes, or real values."""
        return checked(predictions)

    def _require_like_the_fit(self, predictions: Any) -> None:
        if predictions.n_classes != self.n_classes:
            rule, remedy = f"must have the {self.n_classes} classes of the fit", FIT_AGAIN
            raise InputError("predictions", rule, f"got {predictions.n_classes}", remedy)

    @property
    def _note(self) -> str:
        """What recalibrated predictions say of how they were made."""
        return f"recalibrated by {self.describe()} (fitted on {self.n} instances)"

    @abstractmethod
    def _fit(self, data: Any, seen: Any) -> Convergence:
        """Set what was learned; return how the fit ended. `seen` are the features, or the groups."""

    @abstractmethod
    def _map(self, predictions: Any, seen: Any) -> Any:
        """Return the recalibrated predictions, its note among their notes."""


_CONVERGENCE = {field.name for field in dataclasses.fields(Convergence)}
