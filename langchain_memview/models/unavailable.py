"""What is said when a model cannot be had: the reason on one line, and what to do."""

import re
from collections.abc import Callable
from typing import TypeVar

from langchain_memview.errors import MemViewError

# What local models need; the build of torch is the user's choice.
_OWN = {
    "huggingface": 'pip install torch "langchain-memview[local-models]"',
    "ngrams": 'pip install "langchain-memview[bench]"',
    "wordllama": "pip install wordllama",
}
_EXAMPLES = {"chat": "ollama:llama3.1", "embedding": "openai:text-embedding-3-small"}

Model = TypeVar("Model")


class ModelUnavailableError(MemViewError):
    """A model cannot be loaded or does not answer; the text says what to do."""


def first_line(error: Exception) -> str:
    """Return the kind of an error and the first line of its text, at most 200 letters.

    For errors of models that were told nothing but public sentences.
    """
    text = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {text}"[:200]


def loaded(name: str, kind: str, make: Callable[[str, str], Model]) -> Model:
    """Return the model of a name, or raise one error that says what to do.

    Args:
        name: Provider and model with a colon between them.
        kind: `chat` or `embedding`, for the error.
        make: Given provider and model, loads it.

    Raises:
        ModelUnavailableError: A package is missing, where the text ends in the command
            that installs it, or the model cannot be loaded.
    """
    provider, _, model = name.partition(":")
    if not provider or not model:
        raise ModelUnavailableError(
            f"{name!r} names no {kind} model: use provider:name, such as "
            f"{_EXAMPLES[kind]}, or huggingface:FOLDER."
        )
    try:
        return make(provider, model)
    except ModelUnavailableError:
        raise
    except ImportError as missing:
        install = _OWN.get(provider) or _command(missing)
        reason = f"{name} needs a package that is not installed: {install}"
    except Exception as refused:  # noqa: BLE001 - every provider has its own errors
        reason = (
            f"{name} cannot be loaded ({first_line(refused)}). Check the provider, the "
            "name of the model and its key."
        )
    raise ModelUnavailableError(reason)


def _command(missing: ImportError) -> str:
    # LangChain names the package itself; a name made up here could be anybody's.
    command = re.search(r"pip install [\w\[\]-]+", str(missing))
    return command[0] if command else first_line(missing)
