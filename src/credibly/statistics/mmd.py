"""Kernel two-sample calibration error: observed labels against labels drawn from the predictions.

    MMD^2 between (p, y) and (p, y~), y~ drawn from p, with the kernel k(p, p') l(y, y')
    = mean over i != j of  k_ij  r_i' L r_j,   r = onehot(y) - p

Marx, Zalouk and Ermon 2023; J25 eq. 11. With L the identity (the delta kernel on labels) it is `skce`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly.statistics.protocol import Story, Traits
from credibly.statistics.skce import KERNEL_TRAITS, KernelError

LABEL_KERNELS = ("delta", "ordinal")


@dataclasses.dataclass(frozen=True)
class MmdCe(KernelError):
    """Squared maximum mean discrepancy between observed labels and labels drawn from the predictions.

    Parameters
    ----------
    kernel : {"exponential", "gaussian"}
        exp(-d / bandwidth), or exp(-d^2 / (2 bandwidth^2)), d the euclidean distance between predictions.
    bandwidth : float or "median"
        "median" uses the median distance between at most 1000 evenly spaced rows.
    label_kernel : {"delta", "ordinal"} or nested sequence (k, k)
        Similarity of labels. "delta" is 1 for equal labels and makes this `skce`; "ordinal" is
        ``exp(-|c - c'|)``, for classes in an order; a matrix must be symmetric and positive semidefinite.

    Notes
    -----
    A label kernel says which mistakes are alike: residuals that confuse similar classes partly cancel. The
    cost is that of `skce`.

    Examples
    --------
    >>> import credibly as cr
    >>> probs, labels = [[0.8, 0.2, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], [1, 1, 2]
    >>> round(float(cr.mmd_ce(probs, labels, bandwidth=1.0, label_kernel="ordinal")), 6)
    0.21987
    """

    label_kernel: Any = "delta"
    name: ClassVar[str] = "mmd_ce"
    traits: ClassVar[Traits] = KERNEL_TRAITS
    reference: ClassVar[str] = "Marx et al. 2023"
    story: ClassVar[Story] = Story(
        title="MMD calibration error",
        meaning=(
            "Distance between observed labels and labels drawn from the predictions, with a kernel L "
            "on labels."
        ),
        formula="mean over i ≠ j of k(pᵢ, pⱼ) (e_yᵢ − pᵢ)ᵀ L (e_yⱼ − pⱼ)",
        above="labels differ from labels drawn from the predictions",
        citation="Marx, Zalouk and Ermon, Calibration by distribution matching, NeurIPS 2023.",
        aliases={"mmd": ""},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.label_kernel, str):
            one_of("`label_kernel`", self.label_kernel, LABEL_KERNELS)
            return
        matrix = np.asarray(to_host(self.label_kernel) if is_array(self.label_kernel) else self.label_kernel)
        check_label_kernel(matrix)
        # nested tuples: settings stay hashable, comparable and JSON-safe
        object.__setattr__(self, "label_kernel", tuple(tuple(map(float, row)) for row in matrix))

    def label_kernel_matrix(self, k: int) -> HostArray | None:
        """Return the kernel between labels, (k, k); None where it is the identity."""
        if self.label_kernel == "delta":
            return None
        if self.label_kernel == "ordinal":
            return np.exp(-np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64))
        matrix = np.asarray(self.label_kernel)
        if matrix.shape[0] != k:
            raise InputError(
                "`label_kernel`",
                f"must be ({k}, {k}) for {k} classes",
                f"got {matrix.shape}",
                "Give one row and one column per class.",
            )
        return matrix


def check_label_kernel(matrix: HostArray) -> None:
    """Raise unless the matrix is a kernel: square, finite, symmetric, no negative eigenvalue."""
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not square or not np.isfinite(matrix.astype(np.float64)).all():
        raise InputError(
            "`label_kernel`",
            "must be a square matrix of finite numbers",
            f"got shape {matrix.shape}",
            'Use "delta", "ordinal" or a (k, k) matrix.',
        )
    scale = max(1.0, float(np.abs(matrix).max()))
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-12 * scale):
        raise InputError("`label_kernel`", "must be symmetric", "it is not", "Use `(L + L.T) / 2`.")
    lowest = float(np.linalg.eigvalsh(matrix.astype(np.float64)).min())
    if lowest < -1e-10 * scale:
        raise InputError(
            "`label_kernel`",
            "must have no negative eigenvalue",
            f"the smallest is {lowest:.3g}",
            "Use `F @ F.T` of features F (k, d) of the classes.",
        )


mmd_ce = MmdCe()
