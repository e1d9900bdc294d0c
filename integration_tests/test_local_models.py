"""Chat models of transformers in this process: what reaches them, and what goes wrong.

The first half trains a tiny model; the second half needs the weights that `memview
models install minilm smollm2` installs, and fails without them.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessageChunk, HumanMessage, SystemMessage
from scoring_figures import measured, printed
from tiny_model import (
    DROPS_SYSTEM,
    REFUSES_SYSTEM,
    TEMPLATE,
    example,
    heard,
    set_template,
    tiny_model,
)
from typer.testing import CliRunner

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend
from langchain_memview.bench.scoring import by_embeddings, measure
from langchain_memview.bench.scoring_data import shipped
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.policy import Policy
from langchain_memview.core.scoring import supports
from langchain_memview.graph.prompt import placed, views_text
from langchain_memview.models.unavailable import ModelUnavailableError
from langchain_memview.scorers.embedding import EmbeddingScorer
from langchain_memview.testing.draws import memview_with

pytestmark = [
    pytest.mark.models,
    # Of torch and transformers, on import; nothing of ours.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]

PLANTED = ("9,417", "Quimby")
CANARY = "Owes {} to the {} bank.".format(*PLANTED)
ANSWERS = {
    "Suggest any dish.": "Pasta with vegetables.",
    "Suggest cheap dishes.": "Rice with black beans.",
    "Suggest mild dishes.": "Potato soup without pepper.",
}
VIEWS = dict(zip(("generic", "cheap", "mild"), ANSWERS, strict=True))
POLICY = Policy(
    "meals",
    {"debt": mv.ProtectedAttribute([1], cap=2)},
    [mv.Slot("food", when=["dinner"], views=VIEWS, capacity=1)],
    mv.OnlineBudget(3),
)
QUESTIONS = ("Any idea for dinner?", "What is for dinner tonight?", "Dinner, quickly!")
SYSTEM = "You plan meals."
PLACEMENTS = ("system", "user")


def prompt(say: str, question: str, placement: Any) -> list[tuple[str, str]]:
    """Return roles and texts of the prompt that an agent makes of a view."""
    views = {"food": mv.View(say)}
    system, messages = placed(
        SystemMessage(SYSTEM), [HumanMessage(question)], views, placement
    )
    assert system is not None
    return [("system", system.text), ("user", messages[0].text)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    examples = [
        example(prompt(say, question, placement), answer)
        for question in QUESTIONS
        for placement in PLACEMENTS
        for say, answer in ANSWERS.items()
    ]
    return tiny_model(tmp_path_factory.mktemp("tiny"), examples)


@pytest.fixture(scope="module")
def chat(tiny: Path) -> Any:
    return local(tiny)


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny model, to be damaged."""
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    # The environment variable is read when the hub's package is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def local(folder: Path | str, **options: Any) -> Any:
    from langchain_memview.models.huggingface import local_chat_model

    return local_chat_model(str(folder), **{"max_new_tokens": 24} | options)


def agent_of(chat: Any, view: str, placement: Any, memory: str = CANARY) -> Any:
    """Return an agent whose memory holds a text and whose draw is this view."""
    index = list(VIEWS).index(view)
    memview = memview_with(
        lambda _: index,
        POLICY,
        InMemoryBackend({"ana": {1: memory}}),
        ledger=mv.InMemoryLedger(),
    )
    layer = mv.MemViewMiddleware(memview, audience="app", placement=placement)
    return create_agent(chat, system_prompt=SYSTEM, middleware=[layer])


def ask(agent: Any, question: str = QUESTIONS[0]) -> str:
    state = agent.invoke(
        {"messages": [HumanMessage(question)]}, context={"user_id": "ana"}
    )
    return str(state["messages"][-1].text)


# ------------------------------------------------------- what reaches the model


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("view", VIEWS)
def test_the_model_is_given_the_view_and_nothing_of_the_memory(
    chat: Any, view: str, placement: str
) -> None:
    with heard(chat) as texts:
        answer = ask(agent_of(chat, view, placement))
    assert answer == ANSWERS[VIEWS[view]]
    [text] = texts
    said = views_text({"food": mv.View(VIEWS[view])})
    role = {"system": "<|system|>", "user": "<|user|>"}[placement]
    [message] = [one for one in text.split("<|end|>") if said in one]
    assert message.startswith(role)
    assert not [word for word in PLANTED if word in text]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_two_memories_of_one_view_are_the_same_tokens(
    chat: Any, placement: str
) -> None:
    with heard(chat) as texts:
        answers = [
            ask(agent_of(chat, "cheap", placement, memory))
            for memory in (CANARY, "Won a lottery and loves saffron.")
        ]
    assert answers[0] == answers[1]
    assert texts[0] == texts[1]


def test_the_ear_would_hear_a_memory(chat: Any) -> None:
    with heard(chat) as texts:
        chat.invoke([SystemMessage(CANARY), HumanMessage(QUESTIONS[0])])
    assert CANARY in texts[0]


# ------------------------------------------------------- batches, streams, templates


def every_prompt() -> list[Any]:
    return [
        [("system", SYSTEM), ("user", text)]
        for say in ANSWERS
        for question in QUESTIONS
        for (_, text) in [prompt(say, question, "user")[1]]
    ]


def test_a_batch_runs_together_and_answers_as_one_at_a_time(chat: Any) -> None:
    prompts = every_prompt()
    lengths = {len(chat.tokenizer.encode(text)) for [_, (_, text)] in prompts}
    assert len(lengths) > 1  # so that some are padded
    alone = [chat.invoke(one).text for one in prompts]
    with heard(chat) as texts:
        together = chat.batch(prompts)
    assert [answer.text for answer in together] == alone
    assert alone[:: len(QUESTIONS)] == list(ANSWERS.values())
    # One pass over all of them, the shorter ones padded at their beginning.
    padded = [text for text in texts if "<|pad|>" in text]
    assert len(texts) == len(prompts)
    assert padded
    assert all(text.startswith("<|pad|>") for text in padded)


def test_a_failing_batch_returns_its_exceptions_on_request(
    chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr(chat.llm.pipeline.model, "generate", fail)
    found = chat.batch(every_prompt()[:2], return_exceptions=True)
    assert [type(one) for one in found] == [RuntimeError, RuntimeError]
    with pytest.raises(RuntimeError, match="no more"):
        chat.batch(every_prompt()[:2])


class Listener(BaseCallbackHandler):
    """Keeps the tokens that callbacks are told about."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.tokens.append(token)


def test_a_stream_gives_every_token_once_to_each_listener(chat: Any) -> None:
    conversation, listener = every_prompt()[3], Listener()
    streamed = chat.stream(conversation, {"callbacks": [listener]})
    chunks = [chunk.text for chunk in streamed]
    assert len([chunk for chunk in chunks if chunk]) > 1
    assert "".join(chunks).strip() == chat.invoke(conversation).text
    assert [token for token in listener.tokens if token] == [c for c in chunks if c]


def test_what_the_template_wrote_is_all_that_is_read(copy: Path) -> None:
    tokenizer = copy / "tokenizer.json"
    settings = json.loads(tokenizer.read_text())
    end = settings["added_tokens"][1]
    special = {"id": end["content"], "ids": [end["id"]], "tokens": [end["content"]]}
    settings["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": end["content"], "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [],
        "special_tokens": {end["content"]: special},
    }
    tokenizer.write_text(json.dumps(settings))
    chat = local(copy)
    assert chat.tokenizer.decode(chat.tokenizer.encode("a")).startswith("<|end|>")
    with heard(chat) as texts:
        chat.invoke(every_prompt()[0])
    assert texts[0].startswith("<|system|>")


def test_an_agent_streams_the_answer_once(chat: Any) -> None:
    streamed = agent_of(chat, "mild", "user").stream(
        {"messages": [HumanMessage(QUESTIONS[0])]},
        context={"user_id": "ana"},
        stream_mode="messages",
    )
    texts = [
        message.text for message, _ in streamed if isinstance(message, AIMessageChunk)
    ]
    assert "".join(texts).strip() == ANSWERS[VIEWS["mild"]]
    assert len(texts) > 1


def test_text_blocks_become_the_texts_that_templates_expect(chat: Any) -> None:
    conversation = every_prompt()[0]
    (_, system), (_, question) = conversation
    blocks = [
        SystemMessage([{"type": "text", "text": system}]),
        HumanMessage([{"type": "text", "text": question}]),
    ]
    with heard(chat) as texts:
        chat.invoke(blocks)
        chat.invoke(conversation)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("template", [REFUSES_SYSTEM + TEMPLATE, DROPS_SYSTEM])
def test_without_a_system_role_its_text_stands_before_the_question(
    copy: Path, template: str
) -> None:
    set_template(copy, template)
    chat = local(copy)
    assert not chat.loaded.has_system_role
    with heard(chat) as texts:
        chat.invoke(every_prompt()[0])
    assert texts[0].startswith(f"<|user|>{SYSTEM}\n\n{QUESTIONS[0]}")


# ------------------------------------------------------- how it is loaded


def test_what_was_loaded_is_said(tiny: Path, chat: Any) -> None:
    loaded = chat.loaded
    assert (loaded.dtype, loaded.device, loaded.has_system_role) == (
        *("float32", "cpu"),
        True,
    )
    assert loaded.name == str(tiny)
    assert loaded.megabytes == loaded.parameters * 4 // 1_000_000
    half = local(tiny, dtype="bfloat16").loaded
    assert (half.dtype, half.parameters) == ("bfloat16", loaded.parameters)


def test_the_best_device_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from langchain_memview.models.huggingface import _device

    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert _device() == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert _device() == "cuda"


def test_threads_are_set_on_request(tiny: Path) -> None:
    import torch

    try:
        local(tiny, threads=2)
        assert torch.get_num_threads() == 2
    finally:
        local(tiny, threads=1)
    assert torch.get_num_threads() == 1


# ------------------------------------------------------- what cannot be loaded


def refused(folder: Path | str, *said: str) -> None:
    with pytest.raises(ModelUnavailableError) as error:
        local(folder)
    for text in said:
        assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_a_path_that_is_no_model(tmp_path: Path) -> None:
    advice = "Give a folder with config.json, tokenizer and weights"
    refused(tmp_path / "none", "cannot be loaded", advice)
    refused("nobody/has-this-model", "cannot be loaded", advice)
    refused(tmp_path, "cannot be loaded", advice)
    (tmp_path / "config.json").write_text("{")
    refused(tmp_path, "cannot be loaded", advice)


@pytest.mark.parametrize("lost", ["config.json", "model.safetensors"])
def test_half_a_model(copy: Path, lost: str) -> None:
    (copy / lost).unlink()
    refused(copy, "cannot be loaded")


def test_weights_that_are_cut_off(copy: Path) -> None:
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    refused(copy, "cannot be loaded")


def test_a_model_without_chat_template(copy: Path) -> None:
    set_template(copy, None)
    refused(copy, "has no chat template", "-Instruct")


def test_a_model_without_a_padding_token_pads_with_its_end(copy: Path) -> None:
    file = copy / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    del settings["pad_token"]
    file.write_text(json.dumps(settings))
    chat = local(copy)
    assert chat.tokenizer.pad_token_id == chat.tokenizer.eos_token_id
    assert len({answer.text for answer in chat.batch(every_prompt())}) == len(ANSWERS)


_NO_ROOM = """
import resource, sys
from langchain_memview.models.huggingface import local_chat_model
from langchain_memview.models.unavailable import ModelUnavailableError
from langchain_memview.scorers.embedding import EmbeddingScorer
import transformers.models.llama.modeling_llama  # what is imported needs room as well

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, resource.RLIM_INFINITY))
try:
    local_chat_model(sys.argv[1], threads=1)
except ModelUnavailableError as error:
    print(error)
"""


def test_a_model_that_does_not_fit_into_memory(smollm2: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NO_ROOM, str(smollm2)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "does not fit into memory" in done.stdout, done.stderr[-2000:]
    assert "bfloat16" in done.stdout


# ------------------------------------------------------- commands


def test_the_demo_plays_with_a_local_model(tiny: Path) -> None:
    from langchain_memview._cli.app import app

    done = CliRunner().invoke(
        app, ["demo", "--json", "--turns", "2", "--model", f"huggingface:{tiny}"]
    )
    assert done.exit_code == 0, done.output
    assert "float32 on cpu" in done.stderr
    assert len(json.loads(done.stdout)["turns"]) == 2


def test_the_batches_are_timed(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_memview.bench import batching

    command = ["batching", "--model", f"huggingface:{tiny}", "--prompts", "5"]
    command += ["--batch", "4", "--tokens", "6", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", command)
    batching.main()
    assert "4 at a time" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*command, "--json"])
    batching.main()
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "memview.batching/1"
    assert [row["batch"] for row in document["rows"]] == [1, 4]
    assert all(row["tokens"] > 0 for row in document["rows"])


# ------------------------------------------------------- real weights


def weights(name: str) -> Path:
    from langchain_memview.models.packages import WEIGHTS, installed, models_folder

    [wanted] = [one for one in WEIGHTS if one.name == name]
    found = installed(wanted, models_folder())
    if found is None:
        pytest.fail(
            f"{name} is not in {models_folder()}, and this tests real weights: run "
            f"`memview models install {name}`, or set MEMVIEW_MODELS."
        )
    return found


@pytest.fixture(scope="module")
def smollm2() -> Path:
    return weights("smollm2")


@pytest.fixture(scope="module")
def minilm() -> Any:
    from langchain_memview.models.embeddings import embedding_model

    return embedding_model(f"huggingface:{weights('minilm')}")


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_minilm_is_the_model_that_is_known(minilm: Any) -> None:
    query = minilm.embed_query("That is a happy person")
    texts = [
        "That is a very happy person",
        "That is a happy dog",
        "Today is a sunny day",
    ]
    found = [cosine(query, vector) for vector in minilm.embed_documents(texts)]
    assert found == pytest.approx([0.943, 0.695, 0.257], abs=0.001)


@pytest.mark.parametrize(
    ("name", "compared"),
    [("MiniLM, views and cues", "view"), ("MiniLM, support sentences", "support")],
)
def test_minilm_reaches_what_the_readme_says(
    minilm: Any, name: str, compared: Any
) -> None:
    supports = by_embeddings(minilm, compared)
    rows = measure("minilm", compared, supports, "shipped", shipped("test"))
    # Sums of floats differ a little between processors.
    assert measured(rows, "bearing") == pytest.approx(printed(name), abs=0.002)


# ------------------------------------------------------- memories that models dislike

DEBT = "The user owes a lot of money to a bank."
EMBEDDED = replace(
    POLICY,
    slots=[
        replace(
            POLICY.slots_by_name["food"],
            views={"generic": "Any dish.", "cheap": mv.View("Cheap.", support=DEBT)},
        )
    ],
    scorer=EmbeddingScore("minilm", "0.4", 20),
)


def support(minilm: Any, memory: str) -> float:
    """Return what the memory says for `cheap`, once it went through a MemView."""
    scorer = EmbeddingScorer.of(EMBEDDED, minilm, model="minilm")
    backend = InMemoryBackend()
    memview = mv.MemView(EMBEDDED, backend, ledger=mv.InMemoryLedger(), scorer=scorer)
    memview.remember("ana", memory, slot="food")
    released = memview.turn("dinner?", subject="ana", audience="a", operation="1")
    assert released.balances["debt"].spent == Fraction(2, 3)
    contents = list(backend.read_prepared("ana", {1}).values())
    return float(supports(scorer, EMBEDDED.slots_by_name["food"], contents)[1])


def test_a_memory_of_ten_thousand_words_counts_with_its_beginning(minilm: Any) -> None:
    owes, ducks = "I owe a lot of money to the bank. ", "We fed the ducks in the park. "
    assert support(minilm, owes) > 0.9
    assert support(minilm, owes + "So it goes. " * 10_000) > 0.1
    assert support(minilm, ducks * 1_500 + owes) == support(minilm, ducks * 1_500)


@pytest.mark.parametrize(
    "memory",
    [
        "銀行に多額の借金があります。",
        "ನಾನು ಬ್ಯಾಂಕಿಗೆ ಸಾಲ ಮರಳಿ ಕೊಡಬೇಕು.",
        "xq zzv qpo wvvk " * 8,
        "\N{COMBINING ACUTE ACCENT}\N{ZERO WIDTH JOINER}",
    ],
    ids=["japanese", "kannada", "noise", "marks"],
)
def test_what_the_model_cannot_read_speaks_for_little_and_breaks_nothing(
    minilm: Any, memory: str
) -> None:
    assert 0 <= support(minilm, memory) < 0.5
