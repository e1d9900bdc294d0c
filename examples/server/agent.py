"""An agent for `langgraph dev`: the server keeps the threads, MemView its own ledger.

The server replaces the checkpointer of a compiled graph, so the ledger must not depend
on it: it is a file of its own, given at construction. Run it with

    LANGGRAPH_CLI_NO_ANALYTICS=1 langgraph dev --no-browser --host 127.0.0.1
"""

import os
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend

HERE = Path(__file__).parent
DATA = Path(os.environ.get("MEMVIEW_DATA", HERE))

MEMORIES = {
    "ana": {1: "Has type-2 diabetes.", 4: "Owes 9,000 on two credit cards."},
    "ben": {4: "Got a bonus and is debt-free."},
}

memview = mv.MemView(
    mv.load_policy(HERE / "meal_policy.yaml"),
    InMemoryBackend(MEMORIES),
    ledger=mv.SqliteLedger(DATA / "ledger.sqlite"),
)

graph = create_agent(
    # Put any LangChain chat model here; `sleep` makes runs overlap in the tests.
    FakeListChatModel(
        responses=["Lentil soup."], sleep=float(os.environ.get("MODEL_SECONDS", "0"))
    ),
    system_prompt="You plan meals.",
    # The subject is the user whom the server has authenticated. What a client writes
    # into the context is not asked.
    middleware=[mv.MemViewMiddleware(memview, audience="meal-app")],
)
