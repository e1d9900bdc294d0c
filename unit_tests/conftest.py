"""Hypothesis profiles; sockets are off here, so a unit test cannot reach a network."""

import os

import pytest
from hypothesis import settings
from pytest_socket import disable_socket

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=300, deadline=None, derandomize=True, print_blob=True
)
settings.register_profile("deep", max_examples=20_000, deadline=None)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)


@pytest.fixture(autouse=True)
def _no_network() -> None:
    disable_socket(allow_unix_socket=True)
