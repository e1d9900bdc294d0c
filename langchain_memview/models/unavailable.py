"""What is said when a model cannot be had: the reason on one line, and what to do."""

import re

from langchain_memview.errors import MemViewError

# What local models need; the build of torch is the user's choice.
_OWN = {
    "huggingface": 'pip install torch "langchain-memview[local-models]"',
    "ngrams": 'pip install "langchain-memview[bench]"',
}


class ModelUnavailableError(MemViewError):
    """A model cannot be loaded or does not answer; the text says what to do."""


def first_line(error: Exception) -> str:
    """Return the kind of an error and the first line of its text, at most 200 letters.

    For errors of models that were told nothing but public sentences.
    """
    text = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {text}"[:200]


def install_line(provider: str, missing: ImportError) -> str:
    """Return the command that installs what is missing.

    LangChain names the package itself; a name made up here could be anybody's.
    """
    if provider in _OWN:
        return _OWN[provider]
    command = re.search(r"pip install [\w\[\]-]+", str(missing))
    return command[0] if command else first_line(missing)


def no_package(name: str, missing: ImportError) -> ModelUnavailableError:
    """Return the error for a model whose package is missing; it ends in the command."""
    provider = name.partition(":")[0]
    return ModelUnavailableError(
        f"{name} needs a package that is not installed: {install_line(provider, missing)}"
    )


def not_loaded(name: str, refused: Exception) -> ModelUnavailableError:
    """Return the error for a model that its provider refuses."""
    return ModelUnavailableError(
        f"{name} cannot be loaded ({first_line(refused)}). Check the provider, the name "
        "of the model and its key."
    )
