"""A StateGraph whose answering node sees released views and never a memory.

Run it: python examples/with_state_graph.py
"""

from pathlib import Path

from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend

MEMORIES = {
    "ana": {
        1: "Was told she has type-2 diabetes and takes metformin.",
        2: "Counts carbs at every meal.",
        3: "Buys sugar-free snacks when they are cheap.",
        4: "Owes 9,000 on two credit cards and pays the minimum.",
        6: "Has a long commute and is home at seven.",
    }
}

model = ParrotFakeChatModel()  # put any LangChain chat model here
policy = mv.load_policy(Path(__file__).with_name("meal_policy.yaml"))
memview = mv.MemView(
    policy,
    InMemoryBackend(MEMORIES),
    # The conversation below is in memory as well; on disk, use a SqliteSaver and
    # mv.ledger_from_checkpointer(saver).
    ledger=mv.InMemoryLedger(),
)


def answer(state: mv.MemViewState) -> dict[str, list[object]]:
    """Return the model's answer to the views and the question."""
    system = mv.views_message(policy, state)
    return {"messages": [model.invoke([system, *state["messages"]])]}


graph = (
    StateGraph(mv.MemViewState)
    .add_node("memview", mv.memview_node(memview, audience="meal-app"))
    .add_node("answer", answer)
    .add_edge(START, "memview")
    .add_edge("memview", "answer")
    .compile(checkpointer=InMemorySaver())
)

if __name__ == "__main__":
    for question in ("A healthy lunch?", "An affordable dinner?", "A quick snack?"):
        state = graph.invoke(
            {"messages": [("user", question)]},
            {"configurable": {"thread_id": "t1"}},
            context={"user_id": "ana"},
        )
        print(question)
        for slot, view in state["memview"]["views"].items():
            print(f"  {slot}: {view} ({state['memview']['outcomes'][slot]})")
        for name, balance in memview.balances("ana").items():
            print(f"  {name}: {balance.spent} of {balance.cap} spent")
