"""Poll under audit."""

from penstock.audit.methods import SUBTLE, Audits, MethodAudit

BALLOTS = """
kind: ballots
ballot: {vote: party}
fields:
  - {name: party, constraints: {enum: [red, green]}}
"""
THREE = BALLOTS.replace("[red, green]", "[red, green, blue]")
AUDITS = Audits(
    (
        MethodAudit("poll", BALLOTS, (("red",), ("green",)), copies=SUBTLE),
        MethodAudit("poll", THREE, (("red",), ("blue",)), parameters={"least": 1}, label="three", copies=()),
    )
)
