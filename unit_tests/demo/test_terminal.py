"""The screen fits every width and encoding, and prints no control characters."""

import io
from fractions import Fraction

import pytest
from rich.console import Console

from langchain_memview.core.ledger import Balance
from langchain_memview.demo.policy import LABELS
from langchain_memview.demo.terminal import Screen
from langchain_memview.demo.turns import SlotLine, Turn

BALANCES = {
    "type2_diabetes": Balance(Fraction(2), Fraction(2)),
    "pregnancy": Balance(Fraction(0), Fraction(2)),
    "severe_debt": Balance(Fraction(2, 3), Fraction(2)),
    "job_loss": Balance(Fraction(4, 3), Fraction(2)),
}
LINE = SlotLine(
    "finance",
    "strict_budget",
    "Keep the meal very cheap.",
    "selected",
    ("severe_debt",),
    Fraction(2, 3),
    (),
)


def printed(answer="Two-bean chilli.", slots=(LINE,), width=80, encoding="utf-8"):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    screen = Screen(Console(file=file, width=width, highlight=False, markup=False))
    screen.header("embedded", 2, 12)
    screen.question(1, "Dinner?", "what it shows")
    screen.turn(Turn("Dinner?", slots, answer, BALANCES))
    screen.footer(BALANCES, kept=False)
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [30, 44, 80, 200])
def test_no_line_is_wider_than_the_terminal(width):
    text = printed(width=width)
    assert max(map(len, text.splitlines())) <= width


def test_a_ledger_is_a_bar_with_the_exact_fraction():
    text = printed()
    assert "severe debt     ████████░░░░░░░░░░░░░░░░ 2/3 of 2" in text
    assert "type 2 diabetes ████████████████████████ 2 of 2" in text
    assert all(label in text for label in LABELS.values())


def test_a_bar_needs_no_special_letters():
    text = printed(answer="Crème brûlée", encoding="ascii")
    assert "severe debt     ########---------------- 2/3 of 2" in text
    assert "Cr?me br?l?e" in text


def test_a_view_is_shown_with_its_sentence_and_its_reason():
    text = printed()
    assert "finance: strict_budget" in text
    assert '"Keep the meal very cheap."' in text
    assert "Charged 2/3 to severe debt." in text
    assert "no slot active" in printed(slots=())


def test_a_models_control_characters_do_not_reach_the_terminal():
    answer = "Soup\x1b[31m red\x07\r\n\u202egone [bold]kept[/bold]"
    text = printed(answer=answer, width=200)
    assert "Soup [31m red gone [bold]kept[/bold]" in text
    assert not [c for c in text if ord(c) < 32 and c != "\n"]


def test_the_header_says_what_the_draws_are_worth():
    text = " ".join(printed().split())
    assert "no privacy" in text
    assert "Offline, no API key" in text


def test_another_model_is_not_called_offline():
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80))
    screen.header("openai:gpt-5", None, 12)
    screen.continued()
    assert "Offline" not in file.getvalue()
    assert "fresh coins" in file.getvalue()
    assert "openai:gpt-5" in file.getvalue()
