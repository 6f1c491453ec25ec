"""Train small models on scikit-learn's digits and write the predictions that `credibly demo` reads.

Every prediction is for a row its model never saw. `src/credibly/data/README.md` says how the
settings were chosen and what they gave. scikit-learn and torch are needed for this script only,
not by the package.

    python examples/make_demo_data.py [--out FILE]

The same machine and versions write the same bytes; elsewhere rounding moves the numbers a little.
"""

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
import sklearn
import torch
from scipy import ndimage
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from torch.distributions import Dirichlet, kl_divergence
from torch.nn import functional

SEED = 20250101
N_CLASSES = 10
N_TRAIN, N_TEST = 400, 900  # few training rows, so that 8 x 8 digits are not a solved problem
N_HIDDEN = 64
N_EPOCHS, BATCH_SIZE, LEARNING_RATE = 100, 32, 3e-3
ANNEALING_EPOCHS = 50  # 650 steps; the 10 MNIST epochs of Sensoy et al. are about as many
N_MEMBERS = 10
DROPOUT, N_DROPOUT_SAMPLES = 0.25, 10
N_TREES = 128  # a power of two: vote shares are exact in float32
N_REPLICATES = 20
N_COMPONENTS = 6
CORRUPTIONS, SEVERITIES = ("noise", "blur", "rotation"), (1, 2, 3, 4, 5)
N_SHIFTED = 150  # images, each with one kind of corruption at all severities
STEP = 2.0**-16  # grid of the stored probabilities
MAX_BYTES = 300_000
OUT = Path(__file__).resolve().parents[1] / "src" / "credibly" / "data" / "digits.npz"


def cross_entropy(outputs: torch.Tensor, labels: torch.Tensor, epoch: int) -> torch.Tensor:
    """Log loss of the softmax, the same at every epoch."""
    return functional.cross_entropy(outputs, labels)


def concentration(outputs: torch.Tensor) -> torch.Tensor:
    """Dirichlet parameters: one plus non-negative evidence."""
    return 1 + functional.softplus(outputs)


def evidential_loss(outputs: torch.Tensor, labels: torch.Tensor, epoch: int) -> torch.Tensor:
    """Return the squared error expected under Dirichlet(alpha), plus an annealed KL term.

    Sensoy, Kaplan and Kandemir (2018), *Evidential deep learning to quantify classification
    uncertainty*. The KL is that of alpha, less the true class's evidence, to the uniform.
    """
    alpha = concentration(outputs)
    target = functional.one_hot(labels, N_CLASSES)
    total = alpha.sum(-1, keepdim=True)
    mean = alpha / total
    expected_error = ((target - mean) ** 2 + mean * (1 - mean) / (total + 1)).sum(-1)
    misleading = Dirichlet(target + (1 - target) * alpha)
    divergence = kl_divergence(misleading, Dirichlet(torch.ones_like(alpha)))
    return (expected_error + min(1.0, epoch / ANNEALING_EPOCHS) * divergence).mean()


def train(
    x: np.ndarray, y: np.ndarray, *, seed: int, loss: Callable = cross_entropy, dropout: float = 0.0
) -> torch.nn.Sequential:
    """Fit two hidden layers with Adam: no weight decay, no early stopping, in evaluation mode."""
    torch.manual_seed(seed)
    network = torch.nn.Sequential(
        *(torch.nn.Linear(x.shape[1], N_HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(dropout)),
        *(torch.nn.Linear(N_HIDDEN, N_HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(dropout)),
        torch.nn.Linear(N_HIDDEN, N_CLASSES),
    )
    inputs, labels = torch.from_numpy(x), torch.from_numpy(y)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for epoch in range(N_EPOCHS):
        for rows in torch.randperm(len(x)).split(BATCH_SIZE):
            optimizer.zero_grad()
            loss(network(inputs[rows]), labels[rows], epoch).backward()
            optimizer.step()
    return network.eval()


@torch.no_grad()
def outputs_of(network: torch.nn.Sequential, x: np.ndarray) -> torch.Tensor:
    """Last layer in float64, so that what follows loses nothing."""
    return network(torch.from_numpy(x)).double()


def predict(network: torch.nn.Sequential, x: np.ndarray) -> np.ndarray:
    """Softmax probabilities, (n, k)."""
    return torch.softmax(outputs_of(network, x), -1).numpy()


def on_grid(probs: np.ndarray) -> np.ndarray:
    """Round to multiples of `STEP`, at least one each; the largest entry takes up the difference.

    The multiples are exact in float32 and sum to exactly 1 there. No other entry moves by more than
    one step, so the largest moves by at most ``N_CLASSES - 1`` steps.
    """
    steps = np.maximum(np.rint(probs / STEP), 1)
    largest = probs.argmax(-1)[..., None]
    np.put_along_axis(steps, largest, 0, axis=-1)
    np.put_along_axis(steps, largest, 1 / STEP - steps.sum(-1, keepdims=True), axis=-1)
    return (steps * STEP).astype(np.float32)


def shorten(values: np.ndarray, digits: int) -> np.ndarray:
    """Float32 with a few binary digits after the point, which is what makes it compress."""
    return np.ldexp(np.rint(np.ldexp(values, digits)), -digits).astype(np.float32)


def corrupt(pixels: np.ndarray, kind: str, severity: int, rng: np.random.Generator) -> np.ndarray:
    """Corrupt one flat 8 x 8 image whose pixels lie in [0, 1]."""
    image = pixels.reshape(8, 8)
    if kind == "noise":
        image = image + rng.normal(scale=0.1 * severity, size=image.shape)
    elif kind == "blur":
        image = ndimage.gaussian_filter(image, sigma=0.3 * severity)
    else:
        image = ndimage.rotate(image, 10 * severity, reshape=False, order=1)
    return np.clip(image, 0, 1).astype(np.float32).ravel()


def measure(probs: np.ndarray, y: np.ndarray, n_bins: int = 15) -> dict[str, float]:
    """Accuracy, mean confidence and confidence ECE (equal-width bins, closed on the right)."""
    confidence = probs.max(-1).astype(np.float64)
    hit = probs.argmax(-1) == y
    bins = np.ceil(confidence * n_bins).astype(int) - 1
    gaps = np.bincount(bins, weights=hit - confidence, minlength=n_bins)
    values = (hit.mean(), confidence.mean(), np.abs(gaps).sum() / len(y))
    return dict(zip(("accuracy", "confidence", "ece"), np.round(values, 4).tolist(), strict=True))


def describe(arrays: dict[str, np.ndarray]) -> dict[str, object]:
    """Say where the data come from, how the file was made, and what the stored numbers give."""
    alpha, lower = arrays["evidential/alpha"], arrays["intervals/lower"]
    # One probability from intervals: the one at the same fraction of each (Cuzzolin, 2022).
    width, room = arrays["intervals/upper"] - lower, 1 - lower.sum(-1, keepdims=True)
    points = {
        "ensemble": arrays["ensemble/probs"].mean(1),
        "single": arrays["single/probs"],
        "forest": arrays["forest/probs"],
        "evidential": alpha / alpha.sum(-1, keepdims=True),
        "intervals": lower + width * room / width.sum(-1, keepdims=True),
        "dropout": arrays["dropout/probs"].mean(1),
    }
    measured = {name: measure(probs, arrays["y"]) for name, probs in points.items()}
    for severity in SEVERITIES:
        at = arrays["shift/severity"] == severity
        mean = arrays["shift/ensemble/probs"][at].mean(1)
        measured[f"shift/ensemble, severity {severity}"] = measure(mean, arrays["shift/y"][at])
    return {
        "source": "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, "
        "UCI Machine Learning Repository, doi:10.24432/C50P49; test part, as in scikit-learn",
        "licence": "CC BY 4.0",
        "script": "examples/make_demo_data.py",
        "seed": SEED,
        "versions": {module.__name__: module.__version__ for module in (np, scipy, sklearn, torch)},
        "n_train": N_TRAIN,
        "measured": measured,
    }


def build() -> dict[str, np.ndarray]:
    """Train every model and return the arrays of the file."""
    pixels, digits = load_digits(return_X_y=True)
    pixels = (pixels / 16).astype(np.float32)
    split = {"train_size": N_TRAIN, "test_size": N_TEST, "stratify": digits, "random_state": SEED}
    train_id, test_id = train_test_split(np.arange(len(digits)), **split)
    x, y, x_test, y_test = pixels[train_id], digits[train_id], pixels[test_id], digits[test_id]
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(N_TRAIN, size=(N_MEMBERS + N_REPLICATES, N_TRAIN))  # bootstrap samples
    members = [train(x[rows], y[rows], seed=SEED + m) for m, rows in enumerate(drawn[:N_MEMBERS])]
    bounds = [
        on_grid(LogisticRegression(max_iter=1000).fit(x[rows], y[rows]).predict_proba(x_test))
        for rows in drawn[N_MEMBERS:]
    ]
    single = train(x, y, seed=SEED + 100)
    evidential = train(x, y, seed=SEED + 200, loss=evidential_loss)
    dropout = train(x, y, seed=SEED + 300, dropout=DROPOUT).train()  # leaves dropout on
    forest = RandomForestClassifier(N_TREES, random_state=SEED).fit(x, y)
    components = PCA(N_COMPONENTS, random_state=SEED).fit(x)

    def ensemble(inputs: np.ndarray) -> np.ndarray:
        return on_grid(np.stack([predict(network, inputs) for network in members], axis=1))

    samples = [predict(dropout, x_test) for _ in range(N_DROPOUT_SAMPLES)]
    arrays = {
        "y": y_test,
        "id": test_id,
        "classes": np.array([str(digit) for digit in range(N_CLASSES)]),
        "features": shorten(components.transform(x_test), 8),
        "ensemble/probs": ensemble(x_test),
        "single/probs": on_grid(predict(single, x_test)),
        "forest/probs": forest.predict_proba(x_test).astype(np.float32),
        "evidential/alpha": shorten(concentration(outputs_of(evidential, x_test)).numpy(), 16),
        "intervals/lower": np.min(bounds, axis=0),
        "intervals/upper": np.max(bounds, axis=0),
        "dropout/probs": on_grid(np.stack(samples, axis=1)),
    }
    # An image keeps its kind of corruption, so no severity holds an image twice.
    row = np.tile(np.arange(N_SHIFTED), len(SEVERITIES))
    kind = np.array(CORRUPTIONS)[row % len(CORRUPTIONS)]
    severity = np.repeat(SEVERITIES, N_SHIFTED)
    cases = zip(row, kind, severity, strict=True)
    x_shift = np.stack([corrupt(x_test[i], *how, rng) for i, *how in cases])
    arrays |= {
        "shift/y": y_test[row],
        "shift/id": test_id[row],
        "shift/kind": kind,
        "shift/severity": severity,
        "shift/features": shorten(components.transform(x_shift), 8),
        "shift/ensemble/probs": ensemble(x_shift),
    }
    return arrays | {"meta": np.array(json.dumps(describe(arrays)))}


def main() -> None:
    """Train, write, and print the table that the data's README shows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT, help="npz file to write")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    arrays = build()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    if buffer.tell() >= MAX_BYTES:
        raise SystemExit(f"{buffer.tell()} bytes, the limit is {MAX_BYTES}; nothing was written")
    out.write_bytes(buffer.getvalue())
    for name, row in json.loads(str(arrays["meta"]))["measured"].items():
        print(f"| {name} |", " | ".join(f"{value:.4f}" for value in row.values()), "|")
    print(f"{out}: {buffer.tell()} bytes")


if __name__ == "__main__":
    main()
