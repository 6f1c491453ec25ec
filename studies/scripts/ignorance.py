"""Whose ignorance is honest? Members on ChaosNLI-SNLI, evidence on CIFAR-10H, three models of digits.

Needs the public data named in studies/README.md (CREDIBLY_DATA), torch, and scikit-learn for the digits.
Prints the table of studies/pages/ignorance.md.

    python studies/scripts/ignorance.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import softmax

import credibly as cr
from credibly_studies.inputs import public_arrays
from credibly_studies.perceptrons import Training, fit_perceptrons, outputs_of

LABELS = 3
"""Labels per instance that are drawn from those there are."""
TRAINED, TEMPERATURE, PASSES, KEPT = 400, 6.0, 30, 0.8


def public() -> Iterator[tuple[str, Any, cr.LabelCounts]]:
    """Yield predictions on public data with all labels."""
    logits, raters = public_arrays("snli/chaosnli_snli.npz", "logits", "counts")
    yield "SNLI, five members", cr.Ensemble.from_logits(logits), cr.LabelCounts(raters.astype(int))
    (alpha,) = public_arrays("cifar10/edl_alpha.npy")
    (people,) = public_arrays("cifar10/cifar10h_counts.npy")
    yield "CIFAR-10, evidential", cr.Dirichlet(alpha), cr.LabelCounts(people.astype(int))


def fitted(pixels: np.ndarray, labels: np.ndarray, loss: Any, members: int, dropout: float = 0.0) -> Any:
    training = Training(hidden=(64,), steps=600, batch=50, learning_rate=0.005, dropout=dropout, decay=1e-4)
    generator = np.random.default_rng(7)
    return fit_perceptrons(
        pixels[None],
        labels[None],
        members=members,
        outputs=10,
        loss=loss,
        training=training,
        generator=generator,
    )


def cross_entropy(outputs: Any, labels: Any) -> Any:
    import torch

    return -torch.log_softmax(outputs, dim=-1).gather(-1, labels[..., None])[..., 0]


def evidential(outputs: Any, labels: Any) -> Any:
    """Return the expected squared loss under the Dirichlet (Sensoy et al. 2018, eq. 5)."""
    import torch

    alpha = 1.0 + torch.nn.functional.softplus(outputs)
    total = alpha.sum(dim=-1, keepdim=True)
    mean = alpha / total
    wanted = torch.nn.functional.one_hot(labels, alpha.shape[-1])
    return ((wanted - mean) ** 2 + mean * (1.0 - mean) / (total + 1.0)).sum(dim=-1)


def digits() -> Iterator[tuple[str, Any, cr.LabelCounts]]:
    """Yield three models of digits whose raters are known: draws from a softened teacher of all images."""
    from sklearn.datasets import load_digits

    data = load_digits()
    pixels, rng = data.data / 16.0, np.random.default_rng(5)
    teacher = fitted(pixels, data.target, cross_entropy, 1)
    theta = softmax(outputs_of(teacher, pixels)[0] / TEMPERATURE, axis=1)
    order = rng.permutation(len(pixels))
    train, test = order[:TRAINED], order[TRAINED:]
    labels = (rng.random((TRAINED, 1)) > theta[train].cumsum(axis=1)).sum(axis=1)
    counts = cr.LabelCounts(rng.multinomial(20, theta[test]))
    members = fitted(pixels[train], labels, cross_entropy, 10)
    logits = outputs_of(members, pixels[test])
    yield "digits, ten members", cr.Ensemble.from_logits(logits.swapaxes(0, 1)), counts
    one = fitted(pixels[train], labels, cross_entropy, 1, dropout=1.0 - KEPT)
    passes = []
    for _ in range(PASSES):
        kept = (rng.random((1, len(test), 64)) < KEPT) / KEPT
        passes.append(outputs_of(one, pixels[test], kept=(kept,))[0])
    yield "digits, 30 passes of dropout", cr.Ensemble.from_logits(np.stack(passes, axis=1)), counts
    alpha = 1.0 + np.logaddexp(0.0, outputs_of(fitted(pixels[train], labels, evidential, 1), pixels[test])[0])
    yield "digits, evidential", cr.Dirichlet(alpha), counts


def span(estimate: cr.Estimate) -> str:
    low, high = estimate.interval()
    return f"{100 * estimate.value:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def main() -> None:
    columns = ("model", "states", f"{LABELS} labels support", "p", "all labels support", "p of the mean")
    print(f"| {' | '.join((*columns, 'after the repair', 'p after'))} |")
    print("|---" * 8 + "|")
    for name, predictions, counts in (*public(), *digits()):
        few = counts.subsample(LABELS, rng=0)
        found = cr.raters.ignorance(predictions, few, rng=0)
        whole = cr.raters.ignorance(predictions, counts, n_resamples=1, rng=0)
        half = np.arange(len(counts)) < len(counts) // 2
        repair = cr.recalibrate.IgnoranceCalibration().fit(predictions[half], few[half])
        after = cr.raters.ignorance(repair.apply(predictions[~half]), few[~half], rng=0)
        print(
            f"| {name} | {100 * found.stated_share.value:.0f} % | {span(found.supported_share)} | "
            f"{found.test.pvalue:.3g} | {span(whole.supported_share)} | {found.mean_test.pvalue:.3g} | "
            f"{100 * after.stated_share.value:.0f} %, supported {span(after.supported_share)} | "
            f"{after.test.pvalue:.3g} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
