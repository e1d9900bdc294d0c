"""A chat model of Hugging Face in this process, made fit for short prompts and batches.

It is `ChatHuggingFace` over a `HuggingFacePipeline`, with what they leave out:

- `batch` runs the prompts through the model together, padded on the left. Batching has
  to be set on the transformers pipeline; LangChain's own setting only cuts the list.
- Messages made of text blocks become the plain texts that chat templates expect.
- Where a template has no system role, or drops it, the system text stands before the
  first message of the user. This is tried at load, not known by name.
- Tokens are streamed once to each listener.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import torch
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_huggingface import ChatHuggingFace, HuggingFacePipeline
from pydantic import ConfigDict
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
from typing_extensions import override

from langchain_memview.models.bars import bars_on_terminals
from langchain_memview.models.unavailable import ModelUnavailableError, first_line

Device = Literal["auto", "cpu", "cuda", "mps"]
DType = Literal["auto", "float32", "bfloat16", "float16"]

_PROBE = "What stands here is public."


@dataclass(frozen=True)
class LocalModel:
    """What was loaded, and what it takes.

    Attributes:
        name: Folder or hub id.
        parameters: Number of parameters.
        dtype: Type of the numbers.
        device: Where they are.
        megabytes: Memory that the parameters take; what a turn adds is not in it.
        has_system_role: Whether the chat template shows a system message.
    """

    name: str
    parameters: int
    dtype: str
    device: str
    megabytes: int
    has_system_role: bool


class LocalChatModel(ChatHuggingFace):
    """A chat model whose weights are in this process; made by `local_chat_model`.

    Attributes:
        loaded: What was loaded.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    loaded: LocalModel

    @override
    def _to_chat_prompt(self, messages: list[BaseMessage]) -> str:
        shown = messages if self.loaded.has_system_role else _folded(messages)
        return str(super()._to_chat_prompt(shown))

    @override
    def _to_chatml_format(self, message: BaseMessage) -> dict[str, Any]:
        return {**super()._to_chatml_format(message), "content": str(message.text)}

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        # LangChain reports each chunk that is yielded; the pipeline would do it as well.
        yield from super()._stream(messages, stop=stop, run_manager=None, **kwargs)

    @override
    def batch(
        self,
        inputs: list[LanguageModelInput],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[AIMessage]:
        """Return the answers to all prompts, run through the model together."""
        prompts = [
            self._to_chat_prompt(self._convert_input(one).to_messages())
            for one in inputs
        ]
        texts = self.llm.batch(
            prompts, config, return_exceptions=return_exceptions, **kwargs
        )
        # An exception in place of an answer is what `return_exceptions` asks for.
        return [AIMessage(text) if isinstance(text, str) else text for text in texts]


def local_chat_model(
    model: str,
    *,
    batch_size: int = 16,
    max_new_tokens: int = 200,
    device: Device = "auto",
    dtype: DType = "auto",
    threads: int | None = None,
) -> LocalChatModel:
    """Return a chat model of Hugging Face, loaded into this process.

    It decodes greedily: the same prompt has the same answer.

    Args:
        model: A folder, or an id on the hub.
        batch_size: How many prompts of a `batch` run together; >= 1.
        max_new_tokens: Longest answer, in tokens; >= 1.
        device: `auto` takes CUDA if there is any, else MPS, else the CPU.
        dtype: `auto` takes float32 on the CPU, bfloat16 on CUDA and float16 on MPS.
        threads: Threads of torch, for the whole process; None leaves them. One is
            almost as fast as two, and far steadier where other programs run.

    Raises:
        ModelUnavailableError: It is no model, has no chat template, or does not fit
            into memory.
    """
    place = _device() if device == "auto" else device
    kind = _DTYPES[place] if dtype == "auto" else dtype
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        with bars_on_terminals():
            # Pipelines of transformers 4 pad where the tokenizer says.
            tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
            net = AutoModelForCausalLM.from_pretrained(
                model, dtype=getattr(torch, kind)
            )
            net = net.to(place).eval()
    except Exception as error:  # noqa: BLE001 - readers of weights have their own errors
        unavailable = _not_loaded(model, error)
    else:
        return _chat(model, tokenizer, net, batch_size, max_new_tokens)
    raise unavailable


_DTYPES = {"cpu": "float32", "cuda": "bfloat16", "mps": "float16"}


def _device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _not_loaded(model: str, error: Exception) -> ModelUnavailableError:
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        "memory" in str(error).lower()
    ):
        return ModelUnavailableError(
            f"{model} does not fit into memory. Choose a smaller model, or "
            "dtype='bfloat16', which takes half of it."
        )
    return ModelUnavailableError(
        f"{model} cannot be loaded ({first_line(error)}). Give a folder with config.json, "
        "tokenizer and weights, or the id of a model on the hub."
    )


def _chat(
    model: str, tokenizer: Any, net: Any, batch_size: int, max_new_tokens: int
) -> LocalChatModel:
    if not tokenizer.chat_template:
        raise ModelUnavailableError(
            f"{model} has no chat template, so it is no chat model. Choose one that was "
            "tuned to follow instructions; their names often end in -Instruct or -it."
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    parameters = list(net.parameters())
    loaded = LocalModel(
        name=model,
        parameters=sum(p.numel() for p in parameters),
        dtype=str(net.dtype).removeprefix("torch."),
        device=str(net.device),
        megabytes=sum(p.numel() * p.element_size() for p in parameters) // 1_000_000,
        has_system_role=_has_system_role(tokenizer),
    )
    run = pipeline(
        "text-generation",
        model=net,
        tokenizer=tokenizer,
        batch_size=batch_size,
        max_new_tokens=max_new_tokens,
        do_sample=False,
        return_full_text=False,
        # The template has put them where they belong.
        add_special_tokens=False,
    )
    llm = HuggingFacePipeline(pipeline=run, model_id=model, batch_size=batch_size)
    return LocalChatModel(llm=llm, model_id=model, tokenizer=tokenizer, loaded=loaded)


def _has_system_role(tokenizer: Any) -> bool:
    messages = [
        {"role": "system", "content": _PROBE},
        {"role": "user", "content": "Hello."},
    ]
    # Templates raise whatever they like.
    with suppress(Exception):
        return _PROBE in tokenizer.apply_chat_template(messages, tokenize=False)
    return False


def _folded(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with what the system said before the first other message."""
    system = [str(m.text) for m in messages if isinstance(m, SystemMessage)]
    others = [m for m in messages if not isinstance(m, SystemMessage)]
    if not system or not others:
        return others
    text = "\n\n".join([*system, str(others[0].text)])
    return [others[0].model_copy(update={"content": text}), *others[1:]]
