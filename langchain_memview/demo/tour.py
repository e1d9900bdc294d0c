"""The scripted tour: twelve questions in an order that makes the ledgers tell a story.

Three questions about health alone spend the diabetes ledger. The fourth is then the
running example of the paper (its Figure 2): food would have to charge two ledgers, one
of them is at its cap, so food is generic, while finance is admitted.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TourQuestion:
    """A question of the tour.

    Attributes:
        text: What the app asks. Public.
        about: What this turn is there to show.
    """

    text: str
    about: str


SEED = 2
"""Seed of the demo's draws; with it the fourth turn draws the view of the figure."""

FIGURE_2_QUESTION = "Plan an affordable dinner for tonight."
"""The query of the paper's running example."""

TOUR = (
    TourQuestion(
        "What would be a healthy way to start the day?",
        "a first private selection: one ledger is charged",
    ),
    TourQuestion(
        "What keeps my energy up in the afternoon?",
        "the same slot, charged again",
    ),
    TourQuestion(
        "I want to feel light and rested this evening. Any idea?",
        "the third charge: this ledger is now at its cap, for good",
    ),
    TourQuestion(
        FIGURE_2_QUESTION,
        "one ledger is spent, so food is generic; finance is admitted",
    ),
    TourQuestion(
        "What do I cook when I come home from work?",
        "another slot, another ledger",
    ),
    TourQuestion(
        "Surprise me with something new.",
        "no slot is active, so no memory is read",
    ),
    TourQuestion(
        "What can I cook ahead on Sunday?",
        "nothing protected is read, so the best view costs nothing",
    ),
    TourQuestion(
        "Something that suits the whole household?",
        "a read set across two slots, charged once",
    ),
    TourQuestion(
        "A cheap lunch for the office, please.",
        "three slots at once: two are admitted",
    ),
    TourQuestion(
        "How do I keep the grocery bill down this week?",
        "the third charge to debt: a second ledger is spent",
    ),
    TourQuestion(
        "A budget dinner for friends on Saturday?",
        "both spent ledgers: only what is free is still personal",
    ),
    TourQuestion(
        "A weekend breakfast for the family before I go to work?",
        "four slots: capped, free and charged side by side",
    ),
)
"""The questions, in order."""
