"""Make the small data sets in tests/golden/data, which every clone holds.

    python tests/golden/make_golden_data.py [FOLDER]

Needs scikit-learn. Training decides the last digits, which differ between machines and versions: the files in
the repository are the source of truth, and this script says what they are. Run it to make other ones, not to
check these; numbers in `other_numbers.json` must then be made again (`make_other_numbers.py`).
"""

from __future__ import annotations

import io
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

SEED = 20250301
FOLDER = Path(__file__).with_name("data")
MAX_BYTES = 100_000  # of one file


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def normalised(probs: np.ndarray) -> np.ndarray:
    """Float32 rows; each sums to 1 as well as float32 can."""
    return (probs / probs.sum(axis=-1, keepdims=True)).astype(np.float32)


def logits_of(network: MLPClassifier, x: np.ndarray) -> np.ndarray:
    """What one hidden layer of ReLU gives before the softmax."""
    (first, second), (start, end) = network.coefs_, network.intercepts_
    return np.maximum(x @ first + start, 0) @ second + end


def digits(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Three models on 600 handwritten digits, and labels of 47 to 63 raters that are drawn.

    A rater gives the true digit with probability 0.6, else one from the distribution `smooth`.
    """
    pixels, y = load_digits(return_X_y=True)
    x, x_test, labels, truth = train_test_split(
        pixels / 16, y, train_size=400, test_size=600, stratify=y, random_state=SEED
    )
    members = []
    for _ in range(5):
        rows = rng.integers(len(x), size=len(x))
        network = MLPClassifier((32,), learning_rate_init=0.01, max_iter=60, random_state=SEED + len(members))
        members.append(network.fit(x[rows], labels[rows]).predict_proba(x_test))
    smooth = LogisticRegression(C=0.1, max_iter=2000).fit(x, labels).predict_proba(x_test)
    sharp = LogisticRegression(C=1.0, max_iter=5000).fit(x, labels)
    raters = rng.integers(47, 64, size=len(truth))
    frequencies = 0.6 * np.eye(10)[truth] + 0.4 * smooth
    # single classes, 16 of the pairs, 4 of the triples: 30 sets as in C25
    pairs, triples = (np.array(list(itertools.combinations(range(10), size))) for size in (2, 3))
    chosen = [*np.arange(10)[:, None], *rng.permutation(pairs)[:16], *rng.permutation(triples)[:4]]
    return {
        "labels": truth.astype(np.uint8),
        "sharp": normalised(softmax(12.0 * sharp.decision_function(x_test))),  # overconfident on purpose
        "mean": normalised(np.mean(members, axis=0)),
        "smooth": normalised(smooth),
        "counts": rng.multinomial(raters, frequencies).astype(np.uint8),
        "focal_sets": np.array([np.isin(np.arange(10), one) for one in chosen]),
    }


def remainders(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Logits of five networks that tell the remainder of a digit by 3, and labels of 100 raters.

    Two parts of 300 rows, neither trained on. The raters of an instance share a distribution drawn from
    Dirichlet(8 softmax(mean of the logits / 2.5)): a known temperature and a known concentration.
    """
    pixels, y = load_digits(return_X_y=True)
    split = train_test_split(
        pixels / 16, y % 3, train_size=300, test_size=600, stratify=y, random_state=SEED + 1
    )
    x, x_test, labels, truth = split
    members = []
    for place in range(5):
        rows = rng.integers(len(x), size=len(x))
        network = MLPClassifier((16,), learning_rate_init=0.01, max_iter=60, random_state=SEED + 10 + place)
        members.append(logits_of(network.fit(x[rows], labels[rows]), x_test))
    logits = np.stack(members, axis=1).astype(np.float32)  # (n, m, k)
    tempered = softmax(logits[:300].mean(axis=1, dtype=float) / 2.5)
    frequencies = np.stack([rng.dirichlet(8 * row) for row in tempered])
    return {
        "logits": logits[:300],
        "labels": truth[:300].astype(np.uint8),
        "test_logits": logits[300:],
        "test_labels": truth[300:].astype(np.uint8),
        "counts": rng.multinomial(100, frequencies).astype(np.uint8),
    }


def diabetes(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Twenty draws from the posterior of a Bayesian ridge regression on 142 patients: means and noise."""
    x, y = load_diabetes(return_X_y=True)
    x, x_test, y, labels = train_test_split(x, y, train_size=300, test_size=142, random_state=SEED)
    y, labels = (y - y.mean()) / y.std(), (labels - y.mean()) / y.std()
    fit = BayesianRidge().fit(x, y)
    weights = rng.multivariate_normal(fit.coef_, fit.sigma_, size=20)
    means = x_test @ weights.T + fit.intercept_
    return {
        "mean": means.astype(np.float32),
        "std": np.full_like(means, fit.alpha_**-0.5, dtype=np.float32),
        "labels": labels.astype(np.float32),
    }


def surface(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A regression set drawn from a known function, in the layout of the UCI sets, with three splits.

    y = sin(2 pi x1) + 2 x2 x3 + N(0, 0.05^2), six features uniform on [-1, 1]: no line comes near it.
    """
    x = rng.uniform(-1, 1, size=(308, 6))
    y = np.sin(2 * np.pi * x[:, 0]) + 2 * x[:, 1] * x[:, 2] + rng.normal(scale=0.05, size=len(x))
    arrays = {
        "data": np.column_stack([x, y]).astype(np.float32),
        "features": np.arange(6),
        "target": np.array(6),
    }
    for split in range(3):
        rows = rng.permutation(len(x)).astype(np.uint16)
        arrays |= {f"train_{split}": rows[:277], f"test_{split}": rows[277:]}
    return arrays


def main() -> None:
    """Make all files; each has its own stream of random numbers."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)  # networks are stopped early on purpose
    for place, make in enumerate((digits, remainders, diabetes, surface)):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **make(np.random.default_rng([SEED, place])))
        if buffer.tell() > MAX_BYTES:
            raise SystemExit(f"{make.__name__}: {buffer.tell()} bytes, the limit is {MAX_BYTES}")
        (folder / f"{make.__name__}.npz").write_bytes(buffer.getvalue())
        print(f"{make.__name__}.npz: {buffer.tell()} bytes")


if __name__ == "__main__":
    main()
