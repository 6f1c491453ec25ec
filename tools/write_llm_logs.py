"""Write real logs of lm-evaluation-harness and Inspect: a local task, a toy model. Used by `make test-llm`.

    python tools/write_llm_logs.py FOLDER            # in the environment that `make test-llm` makes
    python tools/write_llm_logs.py FOLDER --check    # reads them with credibly

The toy model knows the distribution that right answers are drawn from, so a correct reader finds it
calibrated.
"""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

N, K = 400, 4
LETTERS = "ABCD"


def questions() -> list[dict]:
    """Return questions whose right option is drawn from what the toy model says."""
    rng = random.Random(7)
    made = []
    for number in range(N):
        weights = [rng.gammavariate(0.7, 1.0) + 1e-6 for _ in range(K)]
        probs = [weight / sum(weights) for weight in weights]
        answer = rng.choices(range(K), probs)[0]
        made.append(
            {"question": f"question {number}", "probs": probs, "answer": answer, "subject": "mn"[number % 2]}
        )
    return made


def write_harness(folder: Path) -> Path:
    """Run a multiple-choice task with lm-eval, and return the file of its samples."""
    import datasets
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    asked = questions()
    known = {one["question"]: one["probs"] for one in asked}

    class Toy(LM):
        def loglikelihood(self, requests, **_):
            found = []
            for request in requests:
                context, option = request.args
                probs = known[context.splitlines()[-1].removesuffix(" Answer:")]
                number = probs[LETTERS.index(option.strip())]
                found.append((math.log(0.9 * number), number == max(probs)))
            return found

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

        def generate_until(self, requests, **_):
            raise NotImplementedError

    rows = [{**settings, "choices": list(LETTERS)} for settings in asked]
    datasets.Dataset.from_list(rows).to_json(folder / "toy.jsonl")
    (folder / "toy.yaml").write_text(
        f"""task: toy
dataset_path: json
dataset_kwargs:
  data_files: {{test: "{folder / "toy.jsonl"}"}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}} Answer:"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{{metric: acc}}]
""",
        encoding="utf-8",
    )
    tracker = EvaluationTracker(output_path=str(folder / "harness"))
    results = lm_eval.simple_evaluate(
        model=Toy(),
        tasks=["toy"],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name="toy", samples=samples["toy"])
    return next((folder / "harness").rglob("samples_*.jsonl"))


def write_inspect(folder: Path) -> list[Path]:
    """Run a multiple-choice task with Inspect, and return its logs in both formats."""
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        GenerateConfig,
        Logprob,
        Logprobs,
        ModelAPI,
        ModelOutput,
        TopLogprob,
        get_model,
        modelapi,
    )
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    asked = questions()

    class Toy(ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            number = int(input[-1].text.split("question ")[1].split()[0])
            probs = asked[number]["probs"]
            best = max(range(K), key=lambda at: probs[at])
            top = [TopLogprob(token=LETTERS[at], logprob=math.log(probs[at])) for at in range(K)]
            token = Logprob(token=LETTERS[best], logprob=math.log(probs[best]), top_logprobs=top)
            message = ChatMessageAssistant(content=f"ANSWER: {LETTERS[best]}")
            text = [Logprob(token=name, logprob=-0.001, top_logprobs=[]) for name in ("ANSWER", ":")]
            return ModelOutput(
                model="toy",
                choices=[ChatCompletionChoice(message=message, logprobs=Logprobs(content=[*text, token]))],
            )

    @modelapi(name="toy")
    def toy() -> type[ModelAPI]:
        return Toy

    samples = [
        Sample(
            input=one["question"],
            choices=[f"option {letter}" for letter in LETTERS],
            target=LETTERS[one["answer"]],
            metadata={"subject": one["subject"]},
            id=number,
        )
        for number, one in enumerate(asked)
    ]
    found = []
    for form in ("json", "eval"):
        (log,) = run(
            Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice()),
            model=get_model("toy/toy", config=GenerateConfig(logprobs=True, top_logprobs=4)),
            log_dir=str(folder / "inspect"),
            log_format=form,
            display="none",
        )
        found.append(Path(log.location.removeprefix("file://")))
    return found


def check(folder: Path) -> None:
    """Read the logs with credibly, and compare them with what the toy model said."""
    import numpy as np

    import credibly as cr

    asked = questions()
    for path in json.loads((folder / "logs.json").read_text(encoding="utf-8")):
        data = cr.load(path)
        order = np.argsort([int(one) for one in data.ids])
        assert np.allclose(
            np.asarray(data.predictions.probs)[order], [one["probs"] for one in asked], atol=1e-6
        )
        assert np.asarray(data.labels)[order].tolist() == [one["answer"] for one in asked]
        word = cr.evaluate(data, rng=0).headline.finding.word
        assert word == "no conflict found", word
        print(f"{Path(path).name}: {len(data)} questions, {word}")


def main() -> None:
    """Write all logs and a list of them, or check them."""
    folder = Path(sys.argv[1]).absolute()
    if "--check" in sys.argv:
        check(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    paths = [write_harness(folder), *write_inspect(folder)]
    (folder / "logs.json").write_text(json.dumps([str(path) for path in paths]), encoding="utf-8")


if __name__ == "__main__":
    main()
