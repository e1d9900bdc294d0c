"""The tour on a terminal: question, views with reason, answer and ledgers of each turn.

Only public facts are printed. The text fits any width, means the same without colour,
and holds no control characters when it is piped.
"""

from collections.abc import Mapping
from unicodedata import category

from rich.console import Console
from rich.table import Table
from rich.text import Text

from langchain_memview.core.ledger import Balance
from langchain_memview.demo.models import EMBEDDED
from langchain_memview.demo.policy import LABELS
from langchain_memview.demo.turns import SlotLine, Turn

_LABEL_WIDTH = 8
_BAR = 24
_NAME = max(map(len, LABELS.values()))

_STYLES = {"Charged": "magenta", "Capped:": "yellow", "Free:": "green"}


class Screen:
    """Prints the tour to a console.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def header(self, model: str, seed: int | None, questions: int) -> None:
        """Print what this is, what the chat model is told and how views are drawn."""
        asked = "one question" if questions == 1 else f"{questions} questions"
        self._print(
            f"MemView demo: an app asks {asked}, Ana's 28 memories stay behind MemView.",
            style="bold",
        )
        told = "gets the questions and the quoted sentences only."
        if model == EMBEDDED:
            self._print(f"Offline, no API key: the model {told}")
        else:
            self._print(f"Chat model {model}: it {told}")
        self._print()
        if seed is None:
            self._print("Views are drawn with fresh coins: every tour is another one.")
        else:
            self._print(
                f"Draws use seed {seed}, so that this tour can be repeated; the default "
                "one was picked to show the paper's Figure 2. The library never does "
                "that: whoever knows the seed can undo the noise, so there "
                "is no privacy. Real coins: --seed random."
            )
        self._print(
            "An odd view now and then is that noise; it is what hides a person.",
            style="dim",
        )

    def continued(self) -> None:
        """Print that the ledgers were not empty at the start."""
        self._print()
        self._print(
            "This folder was played in before: the ledgers go on from what was spent. A "
            "new conversation or a new process gives nothing back; that is what a cap "
            "is for.",
            style="yellow",
        )

    def question(self, number: int, text: str, about: str = "") -> None:
        """Print a question and what its turn is there to show."""
        self._print()
        self._print(f"{number}. {text}", style="bold")
        if about:
            self._print(f"   {about}", style="dim")

    def turn(self, turn: Turn) -> None:
        """Print views, answer and ledgers of a turn."""
        if turn.is_figure_2:
            self._print("   *** Figure 2 of the paper ***", style="bold yellow")
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=_LABEL_WIDTH + 2)
        grid.add_column(overflow="fold")
        for line in turn.slots:
            self._add_view(grid, line)
        if not turn.slots:
            reason = "no slot active: no memory is read, nothing is charged"
            grid.add_row(self._label("view"), Text(reason, style="green"))
        grid.add_row(self._label("answer"), Text(self._plain(turn.answer)))
        bars = "\n".join(self._bars(turn.balances))
        grid.add_row(self._label("ledgers"), Text(bars))
        self._console.print(grid)

    def footer(self, balances: Mapping[str, Balance], *, kept: bool) -> None:
        """Print what was spent in the end, and what becomes of the ledgers."""
        full = [LABELS[n] for n, b in balances.items() if b.spent == b.cap]
        self._print()
        if full:
            self._print(
                f"At the cap: {', '.join(full)}. Every slot that reads them stays "
                "generic from now on; no ledger ever passes its cap."
            )
        self._print(
            "Memories and ledgers are kept in the folder that you named: play there "
            "again, and the same ledgers go on."
            if kept
            else "Memories and ledgers were in a temporary folder, which is removed. "
            "With --dir FOLDER they are kept, and a second tour goes on with the same "
            "ledgers."
        )

    def _add_view(self, grid: Table, line: SlotLine) -> None:
        style = _STYLES.get(line.reason.partition(" ")[0], "")
        text = Text(f"{line.slot}: ")
        text.append(line.view, "bold")
        text.append(f'\n"{line.say}"\n')
        text.append(f"{line.reason}.", style)
        grid.add_row(self._label("view"), text)

    def _bars(self, balances: Mapping[str, Balance]) -> list[str]:
        wide = max(6, min(_BAR, self._console.width - _LABEL_WIDTH - _NAME - 16))
        spent, left = "█░" if self._console.encoding.startswith("utf") else "#-"
        lines = []
        for name, balance in balances.items():
            full = int(balance.spent / balance.cap * wide)
            lines.append(
                f"{LABELS[name]:{_NAME}} {spent * full}{left * (wide - full)} "
                f"{balance.spent} of {balance.cap}"
            )
        return lines

    def _label(self, name: str) -> Text:
        return Text(f"   {name}", style="dim")

    def _print(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(text, style=style))

    def _plain(self, text: str) -> str:
        """Return a model's text without control characters, in the console's letters."""
        shown = "".join(
            " " if category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter
            for letter in text
        )
        encoding = self._console.encoding
        return " ".join(shown.split()).encode(encoding, "replace").decode(encoding)
