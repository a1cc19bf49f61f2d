"""Made-up data to try Penstock on, without a network and without anybody's secrets."""

from penstock.demo.friends import friends, friends_schema
from penstock.demo.loans import loans, loans_schema
from penstock.demo.log import log_schema, quarters_of_a_day
from penstock.demo.phones import phones, phones_schema
from penstock.demo.survey import survey, survey_schema
from penstock.demo.town import rides, rides_schema
from penstock.demo.visits import visits, visits_schema

__all__ = [
    "friends",
    "friends_schema",
    "loans",
    "loans_schema",
    "log_schema",
    "phones",
    "phones_schema",
    "quarters_of_a_day",
    "rides",
    "rides_schema",
    "survey",
    "survey_schema",
    "visits",
    "visits_schema",
]

DATASETS = {
    "survey": (survey, survey_schema),
    "rides": (rides, rides_schema),
    "visits": (visits, visits_schema),
    "phones": (phones, phones_schema),
    "loans": (loans, loans_schema),
    "friends": (friends, friends_schema),
}
"""What makes each dataset, and the text of its reviewed schema."""
