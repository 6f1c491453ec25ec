"""A Lightning callback that logs calibration over validation epochs, to TensorBoard for example.

    trainer = lightning.Trainer(callbacks=[CalibrationCallback()], logger=TensorBoardLogger("logs"))

`validation_step` returns a dictionary with "labels" and "probs" or "logits". Batches are added up, so the
numbers take no memory for validation sets of any size; the reliability diagram keeps the rows of one epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightning
import torch

import credibly as cr


class CalibrationCallback(lightning.Callback):
    """Log statistics of credibly at the end of every validation epoch.

    Parameters
    ----------
    statistics : sequence of str
        Names of statistics that are sums over instances.
    prefix : str
        What the names in the log begin with.
    diagram : bool
        Whether a reliability diagram goes to a logger that takes figures, such as TensorBoard.
    """

    def __init__(
        self,
        statistics: Sequence[str] = ("confidence_ece", "brier", "confidence_gap"),
        *,
        prefix: str = "val_",
        diagram: bool = True,
    ) -> None:
        self.running = {name: cr.statistics.RunningStatistic(name) for name in statistics}
        self.prefix, self.diagram = prefix, diagram
        self.rows: list[tuple[torch.Tensor, torch.Tensor]] = []

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the last epoch."""
        self.rows.clear()
        for running in self.running.values():
            running.reset()

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Add a batch."""
        if not isinstance(outputs, dict) or "labels" not in outputs or not {"probs", "logits"} & set(outputs):
            raise ValueError(
                '`validation_step` must return a dictionary with "labels" and "probs" or "logits"'
            )
        probs = outputs["probs"] if "probs" in outputs else torch.softmax(outputs["logits"].double(), dim=-1)
        probs, labels = probs.detach().cpu(), outputs["labels"].detach().cpu()
        for running in self.running.values():
            running.update(probs, labels)
        if self.diagram:
            self.rows.append((probs, labels))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the numbers, and the diagram where a logger takes one."""
        values = {self.prefix + name: running.compute().value for name, running in self.running.items()}
        pl_module.log_dict(values)
        if trainer.sanity_checking or not self.diagram:
            return
        experiment = getattr(trainer.logger, "experiment", None)
        if hasattr(experiment, "add_figure"):
            probs, labels = (torch.cat(parts).numpy() for parts in zip(*self.rows, strict=True))
            axes = cr.reliability_curve(probs, labels, rng=0).plot()
            experiment.add_figure(f"{self.prefix}reliability", axes.figure, trainer.global_step)
