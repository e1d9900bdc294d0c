"""A model that cannot be had is one clear line, which names what to install."""

import sys

import pytest

from langchain_memview.demo.chef import MealChef
from langchain_memview.demo.models import demo_model
from langchain_memview.models.chat import chat_model
from langchain_memview.models.embeddings import embedding_model
from langchain_memview.models.unavailable import ModelUnavailableError, first_line


def test_the_embedded_model_is_the_cook():
    assert isinstance(demo_model("embedded"), MealChef)


@pytest.fixture
def missing(monkeypatch):
    def refuse(error):
        def init(*_, **__):
            raise error

        monkeypatch.setattr("langchain.chat_models.init_chat_model", init)

    return refuse


def test_a_missing_package_is_named_with_its_command(missing):
    missing(ImportError("Initializing X requires it. `pip install langchain-openai`"))
    with pytest.raises(ModelUnavailableError, match=r"pip install langchain-openai$"):
        chat_model("openai:gpt-5")


@pytest.mark.parametrize("load", [chat_model, embedding_model])
def test_hugging_face_is_an_extra_of_this_package(load, monkeypatch):
    # All that is imported first: transformers remembers for good that torch was missing.
    for package in ("langchain_huggingface", "sentence_transformers", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
    for module in ("huggingface", "converting"):
        monkeypatch.delitem(
            sys.modules, f"langchain_memview.models.{module}", raising=False
        )
    with pytest.raises(
        ModelUnavailableError,
        match=r'pip install torch "langchain-memview\[local-models\]"$',
    ):
        load("huggingface:Qwen/Qwen2.5-1.5B")


def test_another_provider_gets_its_name_and_nothing_else(monkeypatch):
    asked = {}

    def init(model, **options):
        asked.update(options, model=model)
        return MealChef()

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init)
    chat_model("ollama:llama3.1:8b")
    assert asked == {"model": "llama3.1:8b", "model_provider": "ollama"}


def test_an_import_error_without_a_command_is_shown_as_it_is(missing):
    missing(ModuleNotFoundError("No module named 'torch'"))
    with pytest.raises(ModelUnavailableError, match="No module named 'torch'"):
        chat_model("ollama:llama3.1")


def test_a_missing_key_is_one_line(missing):
    missing(ValueError("Missing credentials.\nLong explanation"))
    with pytest.raises(ModelUnavailableError, match="Missing credentials") as refused:
        chat_model("openai:gpt-5")
    assert "\n" not in str(refused.value)
    assert "key" in str(refused.value)


@pytest.mark.parametrize("name", ["gpt-5", "openai:", ":x"])
def test_a_name_without_provider_is_refused_with_an_example(name):
    with pytest.raises(ModelUnavailableError, match="provider:name"):
        demo_model(name)
    with pytest.raises(ModelUnavailableError, match="provider:name"):
        chat_model(name)


def test_an_error_is_cut_to_one_short_line():
    assert first_line(ValueError("a\nb")) == "ValueError: a"
    assert first_line(ValueError()) == "ValueError: "
    assert len(first_line(ValueError("x" * 999))) == 200
