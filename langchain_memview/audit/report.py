"""The report of an audit: one JSON document, and one HTML file that needs nothing else.

Neither holds the content of a store, so a report on public stores may be shown to
anybody. One on an operator's own stores says how far apart they are, which is private.
"""

import math
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import Any

from langchain_memview.audit.frequencies import DRAWS, Frequency
from langchain_memview.audit.policy import AttributeAudit, PolicyAudit
from langchain_memview.audit.turns import State
from langchain_memview.core.guarantees import suspicion_in_words
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.policy import Policy

SUSPICION = 0.1
_STYLE = """
:root { color-scheme: light dark; --line: #8888; --cap: #7aa7e044; --spent: #2a6ad0aa;
  --mark: #d0402a; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 52rem;
  padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
svg { display: block; height: auto; margin: .5rem 0 1.5rem; width: 100%; }
svg text { fill: currentColor; font-size: 12px; }
.bad { color: var(--mark); font-weight: bold; }
"""


def audit_document(
    policy: Policy, audit: PolicyAudit, drawn: Sequence[Frequency]
) -> dict[str, Any]:
    """Return the audit as the JSON document `memview.audit/1`; infinity is `null`.

    Args:
        policy: The policy.
        audit: Its audit.
        drawn: Frequencies on a public store; empty for an operator's own stores.
    """
    return {
        "schema": "memview.audit/1",
        "policy": policy.name,
        "fingerprint": policy.fingerprint,
        "depth": audit.depth,
        "queries": list(audit.queries),
        "holds": audit.holds,
        "attributes": [
            {
                "name": one.attribute,
                "cap": float(one.cap),
                "log_ratio": one.audit.log_ratio
                if math.isfinite(one.audit.log_ratio)
                else None,
                "spent": float(one.spent),
                "holds": one.holds,
                "within_ledger": one.within_ledger,
                "pairs": one.pairs,
                "transcripts": one.transcripts,
                "spent_by_turn": _course(policy, one),
            }
            for one in audit.attributes
        ],
        "conditions": [
            {"name": f.condition, "holds": f.holds, "text": f.text}
            for f in audit.findings
        ],
        "frequencies": [vars(one) for one in drawn],
    }


def audit_html(policy: Policy, audit: PolicyAudit, drawn: Sequence[Frequency]) -> str:
    """Return the audit as one HTML page without scripts or anything to load.

    Args:
        policy: The policy.
        audit: Its audit.
        drawn: Frequencies on a public store; empty for an operator's own stores.
    """
    verdict = "Every cap and every condition held." if audit.holds else "VIOLATED."
    parts = [
        f"<h1>Audit of {escape(policy.name)}</h1>",
        f"<p><b{'' if audit.holds else ' class=bad'}>{verdict}</b> All transcripts of "
        f"{audit.depth} turns, whatever is asked of "
        f"{escape(', '.join(repr(q) for q in audit.queries))}; exact for the stores that "
        "were compared. That no other pair passes a cap is what the mechanisms prove.</p>",
        _attributes(audit),
        "<h2>Odds</h2><p>How far the worst transcript moves an observer's odds (red), "
        "what the ledger had charged for it (dark band) and the cap (light band), in "
        "nats.</p>",
        _odds(audit),
        "<h2>Ledgers on the worst transcript</h2>",
        *(_spending(policy, one) for one in audit.attributes),
        "<h2>Contract</h2>",
        _conditions(audit),
    ]
    if drawn:
        parts += [
            "<h2>Views against their law</h2>"
            f"<p>{DRAWS} draws with known coins on a public store: bars are shares, ticks "
            "the exact law, whiskers five standard errors.</p>",
            _frequencies(drawn),
        ]
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>Audit of {escape(policy.name)}</title><style>{_STYLE}</style>"
        + "\n".join(parts)
        + "</html>\n"
    )


def _course(policy: Policy, one: AttributeAudit) -> list[float]:
    """Return what the attribute had spent before the worst transcript and after each turn."""
    states = accumulate(
        one.audit.worst.turns,
        lambda state, turn: state.then(*turn),
        initial=State(Ledger.opened(policy.caps)),
    )
    return [float(s.ledger.balances[one.attribute].spent) for s in states]


def _attributes(audit: PolicyAudit) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.attribute)}<td>{one.audit.log_ratio:.4f}"
        f"<td>{float(one.spent):.4f}<td>{float(one.cap):.4f}"
        f"<td>{one.pairs} pairs, {one.transcripts:,} transcripts"
        f"<td>{suspicion_in_words(SUSPICION, one.cap)}"
        + ("<td>holds" if one.holds else "<td class=bad>passes the cap")
        for one in audit.attributes
    )
    return (
        "<table><tr><th>Attribute<th>Largest ln ratio<th>Charged<th>Cap<th>Compared"
        f"<th>Under the cap<th>Verdict{rows}</table>"
    )


def _conditions(audit: PolicyAudit) -> str:
    rows = "".join(
        f"<tr><td>{f.condition}<td>{escape(f.text)}"
        + ("<td>holds" if f.holds else "<td class=bad>broken")
        for f in audit.findings
    )
    return f"<table><tr><th>Condition<th>What it says<th>Verdict{rows}</table>"


def _odds(audit: PolicyAudit) -> str:
    reach = 1.2 * max(
        max(float(one.cap), min(one.audit.log_ratio, 2 * float(one.cap)))
        for one in audit.attributes
    )
    middle, scale = 420, 260 / reach
    rows = []
    for number, one in enumerate(audit.attributes):
        y = 30 * number + 12
        rows.append(f'<text x="0" y="{y + 13}">{escape(one.attribute)}</text>')
        for value, colour in ((one.cap, "cap"), (one.spent, "spent")):
            half = float(value) * scale
            rows.append(
                f'<rect x="{middle - half:.1f}" y="{y}" width="{2 * half:.1f}" '
                f'height="18" fill="var(--{colour})"/>'
            )
        worst = min(one.audit.log_ratio, reach) * scale
        rows += [
            f'<line x1="{middle + side * worst:.1f}" x2="{middle + side * worst:.1f}" '
            f'y1="{y - 2}" y2="{y + 20}" stroke="var(--mark)" stroke-width="2"/>'
            for side in (-1, 1)
        ]
        rows.append(
            f'<text x="{middle + 265}" y="{y + 13}">±{one.audit.log_ratio:.3f}</text>'
        )
    return _svg(760, 30 * len(audit.attributes) + 16, rows, "odds band")


def _spending(policy: Policy, one: AttributeAudit) -> str:
    course = _course(policy, one)
    cap = float(one.cap)
    top = max(cap, *course)
    bars = []
    for turn, spent in enumerate(course):
        height = 100 * spent / top
        x = 40 + 70 * turn
        bars += [
            f'<rect x="{x}" y="{120 - height:.1f}" width="46" height="{height:.1f}" '
            'fill="var(--spent)"/>',
            f'<text x="{x}" y="136">turn {turn}: {spent:.2f}</text>',
        ]
    y = 120 - 100 * cap / top
    bars += [
        f'<line x1="0" x2="{70 * len(course) + 60}" y1="{y:.1f}" y2="{y:.1f}" '
        'stroke="var(--mark)" stroke-dasharray="4"/>',
        f'<text x="{70 * len(course) + 64}" y="{y + 4:.1f}">cap {cap:.2f}</text>',
    ]
    name = escape(one.attribute)
    return f"<h3>{name}</h3>" + _svg(760, 144, bars, f"ledger of {name}")


def _frequencies(drawn: Sequence[Frequency]) -> str:
    rows = []
    for number, one in enumerate(drawn):
        y, right = 24 * number + 4, 260
        law, error = right + 420 * one.law, 420 * one.error
        label = escape(f"{one.slot}: {one.view}")
        rows += [
            f'<text x="0" y="{y + 13}">{label}</text>',
            f'<rect x="{right}" y="{y}" width="{420 * one.drawn:.1f}" height="16" '
            'fill="var(--spent)"/>',
            f'<line x1="{law - error:.1f}" x2="{law + error:.1f}" y1="{y + 8}" '
            f'y2="{y + 8}" stroke="currentColor"/>',
            f'<line x1="{law:.1f}" x2="{law:.1f}" y1="{y - 2}" y2="{y + 18}" '
            'stroke="var(--mark)" stroke-width="2"/>',
            f'<text x="{right + 430}" y="{y + 13}">{one.drawn:.3f} ({one.law:.3f})</text>',
        ]
    return _svg(780, 24 * len(drawn) + 8, rows, "views against their law")


def _svg(width: int, height: int, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        + "".join(parts)
        + "</svg>"
    )
