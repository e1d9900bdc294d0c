"""The options that name an embedding model, and the model that they name."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

EmbeddingName = Annotated[
    str,
    typer.Option(
        "--model", help="Embedding model: huggingface:FOLDER or provider:name."
    ),
]
PolicyName = Annotated[
    str,
    typer.Option("--name", help="What the policy calls the model; its own name else."),
]


def named_model(model: str, name: str) -> "tuple[Embeddings, str]":
    """Return the embedding model and what the policy calls it.

    Args:
        model: Provider and model.
        name: Its name in the policy; empty for its own.

    Raises:
        ModelUnavailableError: It cannot be loaded.
    """
    from langchain_memview.models.embeddings import embedding_model
    from langchain_memview.vectors import model_name

    embeddings = embedding_model(model)
    return embeddings, name or model_name(embeddings) or model.rpartition(":")[2]
