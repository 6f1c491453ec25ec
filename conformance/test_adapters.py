"""The two adapters in examples/ against the real packages; `make conformance` has both."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import credibly as cr

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WHERE = "is not installed; `make conformance` has it"
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), size=120)
LABELS = (RNG.random((120, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)


def example(name: str) -> ModuleType:
    """Import a file of examples/."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_metric_of_evaluate_gives_our_numbers_over_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    evaluate = pytest.importorskip("evaluate", reason=f"evaluate {WHERE}")
    metric = evaluate.load(str(EXAMPLES / "credibly_metric"), cache_dir=str(tmp_path / "cache"))
    for start in range(0, 120, 50):
        rows = slice(start, start + 50)
        metric.add_batch(predictions=PROBS[rows], references=LABELS[rows])
    found = metric.compute(statistics=["brier", "confidence_ece"], n_resamples=99, rng=3)
    brier = cr.brier(PROBS, LABELS)
    assert found["brier"] == pytest.approx(brier.value, rel=1e-12)
    assert found["brier_stderr"] == pytest.approx(brier.stderr, rel=1e-9)
    assert found["confidence_ece"] == pytest.approx(float(cr.confidence_ece(PROBS, LABELS)), rel=1e-12)
    assert "confidence_ece_stderr" not in found
    direct = cr.calibration_test(PROBS, LABELS, statistics="confidence_ece", n_resamples=99, rng=3)
    assert found["calibration_p_value"] == direct.pvalue
    with pytest.raises(ValueError, match="no statistic is called 'ece'"):
        metric.compute(predictions=PROBS, references=LABELS, statistics=["ece"])


def test_the_callback_of_lightning_logs_to_tensorboard(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning", reason=f"lightning {WHERE}")
    pytest.importorskip("tensorboard", reason=f"tensorboard {WHERE}")
    import torch
    from lightning.pytorch.loggers import TensorBoardLogger
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.data import DataLoader, TensorDataset

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def training_step(self, batch: list, batch_idx: int) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch: list, batch_idx: int) -> dict:
            return {"probs": batch[0], "labels": batch[1]}  # the inputs are the predictions to be judged

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    callback = example("lightning_callback").CalibrationCallback(("confidence_ece", "brier"))
    data = TensorDataset(torch.tensor(PROBS, dtype=torch.float32), torch.tensor(LABELS))
    logger = TensorBoardLogger(tmp_path, name="run")
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        callbacks=[callback],
        logger=logger,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        log_every_n_steps=1,
    )
    trainer.fit(Model(), DataLoader(data, batch_size=50), DataLoader(data, batch_size=50))
    logger.finalize("success")
    events = EventAccumulator(logger.log_dir)
    events.Reload()
    assert {"val_confidence_ece", "val_brier"} <= set(events.Tags()["scalars"])
    (logged,) = events.Scalars("val_brier")
    single = PROBS.astype(np.float32).astype(float)
    assert logged.value == pytest.approx(float(cr.brier(single, LABELS)), rel=1e-5)
    assert events.Tags()["images"] == ["val_reliability"]


def test_the_callback_says_what_a_validation_step_must_return() -> None:
    pytest.importorskip("lightning", reason=f"lightning {WHERE}")
    callback = example("lightning_callback").CalibrationCallback()
    with pytest.raises(ValueError, match="must return a dictionary"):
        callback.on_validation_batch_end(None, None, {"loss": 0.5}, None, 0)
