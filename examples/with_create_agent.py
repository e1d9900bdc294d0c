"""An agent with a checkpointer on disk, memories in Chroma and one line of MemView.

Run it twice: python examples/with_create_agent.py. The ledger remembers the first run.
"""

import sqlite3
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
from langgraph.checkpoint.sqlite import SqliteSaver

import langchain_memview as mv
from langchain_memview.backends import ChromaBackend


def main(directory: Path = Path("example-data")) -> None:
    """Ask one question and print what the ledger says."""
    directory.mkdir(exist_ok=True)
    connection = sqlite3.connect(directory / "agent.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    memview = mv.MemView(
        mv.load_policy(Path(__file__).with_name("meal_policy.yaml")),
        ChromaBackend(directory / "memories"),
        ledger=mv.ledger_from_checkpointer(saver),
    )
    memview.remember("ana", "Owes 9,000 on two credit cards.", position=4)
    agent = create_agent(
        ParrotFakeChatModel(),  # put any LangChain chat model here
        middleware=[mv.MemViewMiddleware(memview, audience="meal-app")],
        checkpointer=saver,
    )
    agent.invoke(
        {"messages": [("user", "Plan an affordable dinner.")]},
        {"configurable": {"thread_id": "t1"}},
        context={"user_id": "ana"},
    )
    for name, balance in memview.balances("ana").items():
        print(f"{name}: {balance.spent} of {balance.cap} spent")
    connection.close()


if __name__ == "__main__":
    main()
