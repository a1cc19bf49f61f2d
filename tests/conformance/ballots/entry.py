"""What stands in the catalogue."""

from penstock.catalogue import FormInfo, KindInfo, MethodInfo, OptionInfo, UnitInfo

ROOM = "tests.conformance.ballots"
KIND = KindInfo(
    "ballots",
    words="ballots",
    units=(UnitInfo("ballot", yours="your ballot"),),
    data=f"{ROOM}.data:Ballots",
    draft=f"{ROOM}.draft:BallotsDraft",
    evaluation=f"{ROOM}.evaluation:BallotsEvaluation",
    audits=f"{ROOM}.audits:AUDITS",
    layout=("ballot", f"{ROOM}.layout:BallotLayout"),
    options=(OptionInfo("votes", "votes", "NAME", "how many votes somebody has."),),
)
METHOD = MethodInfo(
    "poll",
    "ballots",
    f"{ROOM}.method:Poll",
    "poll",
    "noisy votes for every candidate",
    answer="counts",
    default=True,
)
FORM = FormInfo("poll", f"{ROOM}.release:PollRelease", keys=("votes",))
