"""A model that cannot be had is one clear line, which names what to install."""

import pytest

from langchain_memview.demo.chef import MealChef
from langchain_memview.demo.models import ModelUnavailableError, chat_model, first_line


def test_the_embedded_model_is_the_cook():
    assert isinstance(chat_model("embedded"), MealChef)


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


def test_hugging_face_is_an_extra_of_this_package(missing):
    missing(ImportError("`pip install langchain-huggingface`"))
    with pytest.raises(
        ModelUnavailableError, match=r"langchain-memview\[huggingface\]"
    ):
        chat_model("huggingface:Qwen/Qwen2.5-1.5B")


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


def test_a_local_pipeline_is_told_to_answer_only(monkeypatch):
    asked = {}

    def init(model, **options):
        asked.update(options, model=model)
        return MealChef()

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init)
    chat_model("huggingface:Qwen/Qwen2.5-1.5B")
    assert asked["model"] == "Qwen/Qwen2.5-1.5B"
    assert asked["pipeline_kwargs"]["return_full_text"] is False
    asked.clear()
    chat_model("ollama:llama3.1:8b")
    assert asked == {"model": "llama3.1:8b", "model_provider": "ollama"}


@pytest.mark.parametrize("name", ["gpt-5", "openai:", ":x"])
def test_a_name_without_provider_is_refused_with_an_example(name):
    with pytest.raises(ModelUnavailableError, match="provider:name"):
        chat_model(name)


def test_an_error_is_cut_to_one_short_line():
    assert first_line(ValueError("a\nb")) == "ValueError: a"
    assert first_line(ValueError()) == "ValueError: "
    assert len(first_line(ValueError("x" * 999))) == 200
