"""Models that are retried or replaced under MemView: every one gets the one release."""

from typing import Any

import pytest
from fault_kit import CHARGE, CONTEXT, SENTENCES, Model, World, asked, failing, thread
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware

WHERE = pytest.mark.parametrize("where", ["outside", "inside"])


def ask(world: World, model: Model, where: str, layer: Any) -> str:
    """Return the answer of an agent with a middleware around or under MemView's."""
    agent = world.agent(model, **{where: [layer]})
    out = agent.invoke(asked(), thread(), context=CONTEXT)
    text: str = out["messages"][-1].text
    return text


@WHERE
def test_a_model_that_is_retried_gets_the_one_release(world: World, where: str) -> None:
    model = Model(before=failing(2))
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0)
    answer = ask(world, model, where, retry)
    (view,) = world.views()
    assert model.prompts == [SENTENCES[view]] * 3
    assert answer == SENTENCES[view]
    world.check(f"ModelRetryMiddleware {where}, 3 attempts", 1, 0, CHARGE)


@WHERE
def test_a_model_that_stands_in_gets_the_one_release(world: World, where: str) -> None:
    model, other = Model(before=failing(1)), Model()
    answer = ask(world, model, where, ModelFallbackMiddleware(other))
    (view,) = world.views()
    assert model.prompts == other.prompts == [SENTENCES[view]]
    assert answer == SENTENCES[view]
    world.check(f"ModelFallbackMiddleware {where}", 1, 0, CHARGE)
