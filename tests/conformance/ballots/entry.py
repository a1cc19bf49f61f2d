"""What stands in the catalogue."""

from penstock.catalogue import KindInfo, MethodInfo, OptionInfo

ROOM = "tests.conformance.ballots"
KIND = KindInfo(
    "ballots",
    words="ballots",
    units=("record",),
    data=f"{ROOM}.data:Ballots",
    draft=f"{ROOM}.draft:BallotsDraft",
    evaluation=f"{ROOM}.evaluation:evaluate_ballots",
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
FORMS = {"poll": f"{ROOM}.release:PollRelease"}
