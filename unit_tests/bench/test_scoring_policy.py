"""The policy that scorers are measured with, and what its cues find in the dev half."""

from importlib import resources

from langchain_memview import load_policy
from langchain_memview.bench.sentences import ATTRIBUTES, part, sentences
from langchain_memview.scorers import PositionScorer

FILE = resources.files("langchain_memview.bench") / "scoring_policy.yaml"


def _slot():
    with resources.as_file(FILE) as path:
        return load_policy(path).slots[0]


def _share(supports, sentence):
    """Return 1 by the number of views that tie with the right one, or 0."""
    best = [
        name
        for name, value in zip(ATTRIBUTES, supports[1:], strict=True)
        if value and value == max(supports[1:])
    ]
    return 1 / len(best) if sentence.view in best else 0


def test_there_is_a_view_for_each_attribute_and_none_states_it():
    slot = _slot()
    assert tuple(slot.vocabulary) == ("generic", *ATTRIBUTES)
    assert all(view.support for view in tuple(slot.vocabulary.values())[1:])
    assert not any("user" in view.say.casefold() for view in slot.vocabulary.values())


def test_cues_find_the_right_view_of_most_evidence_to_tune_on():
    slot, scorer = _slot(), PositionScorer()
    own = [
        s
        for s in sentences()
        if (s.kind, s.language, part(s)) == ("evidence", "en", "dev")
    ]
    shares = [_share(scorer.position_support(slot, s.text), s) for s in own]
    assert sum(shares) / len(shares) >= 0.9


def test_cues_leave_neutral_sentences_alone():
    slot, scorer = _slot(), PositionScorer()
    own = [s for s in sentences() if s.kind == "neutral" and part(s) == "dev"]
    assert sum(scorer.position_support(slot, s.text)[0] for s in own) / len(own) >= 0.9
