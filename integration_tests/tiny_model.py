"""A causal model of transformers that is made here, and trained until it obeys.

It has a hundred thousand parameters and learns by heart to answer a view with that
view's sentence, wherever the view stands in the prompt. With it a test can assert, in
seconds and through the real tokenizer, template, pipeline and model, what a chat model
was given and what it makes of it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
REFUSES_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
DROPS_SYSTEM = TEMPLATE.replace(
    "{% for m in messages %}", "{% for m in messages if m['role'] != 'system' %}"
)
_SPECIAL = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
_MOST_STEPS = 2_000


def example(messages: Iterable[tuple[str, str]], answer: str) -> str:
    """Return a conversation and its answer, as the template writes them."""
    shown = "".join(f"<|{role}|>{text}<|end|>" for role, text in messages)
    return f"{shown}<|assistant|>{answer}<|end|>"


def tiny_model(folder: Path, examples: list[str]) -> Path:
    """Return the folder, with a model that has learned the examples by heart."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = _tokenizer(examples)
    model: Any = AutoModelForCausalLM.from_config(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    _train(model, tokenizer, examples)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def set_template(folder: Path, template: str | None) -> None:
    """Give the model in the folder another chat template."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    (folder / "chat_template.jinja").unlink()
    tokenizer.save_pretrained(folder)


@contextmanager
def heard(chat: Any) -> Iterator[list[str]]:
    """Collect the text of every prompt that goes through the model's first layer."""
    texts: list[str] = []

    def hear(_: object, given: tuple[Any, ...]) -> None:
        # Rows of one token are the one that was made last.
        texts.extend(chat.tokenizer.decode(row) for row in given[0] if len(row) > 1)

    layer = chat.llm.pipeline.model.get_input_embeddings()
    hook = layer.register_forward_pre_hook(hear)
    try:
        yield texts
    finally:
        hook.remove()


def _tokenizer(examples: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(examples, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=_SPECIAL[0],
        eos_token=_SPECIAL[1],
        padding_side="left",
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _train(model: Any, tokenizer: Any, examples: list[str]) -> None:
    """Train until no token of an answer is in doubt, or fail."""
    import torch

    rows = [tokenizer(text, return_tensors="pt").input_ids[0] for text in examples]
    steps = torch.optim.AdamW(model.parameters(), lr=3e-3)
    endless = cycle(rows)
    for _ in range(_MOST_STEPS):
        batch = list(islice(endless, 8))
        ids = torch.nn.utils.rnn.pad_sequence(
            batch, batch_first=True, padding_value=tokenizer.pad_token_id
        )
        seen = ids != tokenizer.pad_token_id
        loss = model(
            input_ids=ids, attention_mask=seen.long(), labels=_answers(ids, tokenizer)
        ).loss
        loss.backward()
        steps.step()
        steps.zero_grad()
        if loss.item() < 0.005:
            return
    raise AssertionError(f"the model has not learned its examples ({loss.item():.2f})")


def _answers(ids: Any, tokenizer: Any) -> Any:
    """Return the labels: the answers alone, whatever the question was."""
    mark = tokenizer.convert_tokens_to_ids("<|assistant|>")
    after = (ids == mark).cumsum(dim=1) > 0
    answer = after & (ids != mark) & (ids != tokenizer.pad_token_id)
    return ids.masked_fill(~answer, -100)
