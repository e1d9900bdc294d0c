"""Tokens a second of a local chat model: one prompt at a time, and in batches.

`python -m langchain_memview.bench.batching --model huggingface:FOLDER` prints both and
their ratio, measured in one run; `--json` prints one document.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import HumanMessage, SystemMessage

from langchain_memview.models.huggingface import LocalChatModel, local_chat_model

_QUESTIONS = (
    "What would be a healthy way to start the day?",
    "Plan an affordable dinner for tonight.",
    "What can I cook on Sunday for the whole week?",
    "Any idea for a quick lunch at the office?",
)
_RULE = SystemMessage("You plan meals. Answer in at most two sentences.")


@dataclass(frozen=True)
class Speed:
    """How fast prompts were answered.

    Attributes:
        prompts: How many there were.
        batch: How many ran together.
        tokens: Tokens of all answers.
        seconds: Time that they took.
    """

    prompts: int
    batch: int
    tokens: int
    seconds: float

    @property
    def rate(self) -> float:
        """Return tokens a second."""
        return self.tokens / self.seconds


def measure(
    chat: LocalChatModel, prompts: int, batch: int, length: int
) -> tuple[Speed, Speed]:
    """Return the speed one at a time and in batches, over the same prompts.

    Args:
        chat: The model.
        prompts: How many questions to ask.
        batch: How many run together.
        length: Every answer has at least so many tokens; 1 lets each end where it does,
            and a batch waits for its longest.
    """
    options: Any = {"pipeline_kwargs": {"min_new_tokens": length}}
    questions = islice(cycle(_QUESTIONS), prompts)
    asked: list[LanguageModelInput] = [
        [_RULE, HumanMessage(question)] for question in questions
    ]
    chat.invoke(asked[0])
    start = time.perf_counter()
    alone = [chat.invoke(one, **options) for one in asked]
    between = time.perf_counter()
    together = chat.batch(asked, **options)
    end = time.perf_counter()

    def tokens(answers: Sequence[object]) -> int:
        texts = [str(getattr(answer, "text", "")) for answer in answers]
        return sum(len(chat.tokenizer.encode(text)) for text in texts)

    return (
        Speed(prompts, 1, tokens(alone), between - start),
        Speed(prompts, batch, tokens(together), end - between),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, help="huggingface:FOLDER")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--least", type=int, default=None, help="shortest answer")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chat = local_chat_model(
        given.model.removeprefix("huggingface:"),
        batch_size=given.batch,
        max_new_tokens=given.tokens,
        threads=given.threads,
    )
    alone, together = measure(
        chat, given.prompts, given.batch, given.least or given.tokens
    )
    ratio = together.rate / alone.rate
    if given.json:
        rows = [{**asdict(speed), "rate": speed.rate} for speed in (alone, together)]
        document = {"schema": "memview.batching/1", "rows": rows, "ratio": ratio}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return
    for speed in (alone, together):
        sys.stdout.write(
            f"{speed.batch:3d} at a time: {speed.rate:6.1f} tokens/s "
            f"({speed.tokens} tokens in {speed.seconds:.1f} s)\n"
        )
    sys.stdout.write(f"ratio {ratio:.1f}; {chat.loaded.megabytes} MB\n")


if __name__ == "__main__":
    main()
