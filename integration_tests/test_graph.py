"""The node in a StateGraph, awaited; what makes it run again is in `test_graph_faults`."""

from fault_kit import CONTEXT, MEMORY, POLICY, SENTENCES, asked
from langgraph.graph import START, StateGraph

import langchain_memview as mv


async def test_the_node_works_asynchronously_and_gives_the_prompt() -> None:
    memview = mv.MemView(POLICY, MEMORY, ledger=mv.InMemoryLedger())
    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile()
    )
    out = await graph.ainvoke(asked(), context=CONTEXT)
    text = mv.views_message(POLICY, out).text
    assert text.splitlines()[1] in SENTENCES.values()
    assert mv.views_message(POLICY, {}).text.startswith("No personal guidance")
