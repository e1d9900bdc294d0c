"""The names that users import, and that importing the package costs nothing."""

import subprocess
import sys

import pytest

import langchain_memview

NAMES = [
    "CalendarEpochs",
    "EmbeddingScore",
    "InMemoryLedger",
    "LedgerError",
    "MemView",
    "MemViewError",
    "MemViewMiddleware",
    "MemViewState",
    "OneEpoch",
    "OnlineBudget",
    "Policy",
    "PolicyError",
    "PostgresLedger",
    "PreallocatedBudget",
    "ProtectedAttribute",
    "Release",
    "ScoreWeights",
    "Slot",
    "SqliteLedger",
    "StandingBudget",
    "SubjectEpochs",
    "TurnEpochs",
    "View",
    "ledger_from_checkpointer",
    "load_policy",
    "memview_node",
    "messages_with_views",
    "views_message",
]


def test_the_public_names_are_these():
    assert langchain_memview.__all__ == NAMES
    assert set(NAMES) <= set(dir(langchain_memview))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_importable_and_documented(name):
    assert getattr(langchain_memview, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Ledgr'"):
        _ = langchain_memview.Ledgr


def test_importing_the_package_imports_no_framework():
    code = (
        "import sys, langchain_memview, langchain_memview.core.interface;"
        "heavy = {'langchain', 'langchain_core', 'langgraph', 'chromadb', 'numpy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_no_public_name_brings_a_model_with_it():
    # Where torch is not installed this shows nothing; `.ci/run` installs it.
    code = (
        "import sys, langchain_memview as mv\n"
        "import langchain_memview.scorers.embedding, langchain_memview.models.chat\n"
        "[getattr(mv, name) for name in mv.__all__]\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["psycopg", "psycopg_pool"])
def test_without_the_driver_the_postgres_ledger_says_what_to_install(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from langchain_memview import SqliteLedger\n"
        "try: from langchain_memview import PostgresLedger\n"
        "except ImportError as error: print(error)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.endswith('pip install "langchain-memview[postgres]"\n')
