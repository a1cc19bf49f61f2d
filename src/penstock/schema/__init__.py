"""Public facts about the data: fields, domains, taxonomies, the privacy unit, and the codes they imply."""

from penstock.privacy.unit import Relation, Unit
from penstock.schema.amounts import Amounts
from penstock.schema.attribute import Attribute, Level
from penstock.schema.bins import Bins, Edges
from penstock.schema.codec import Codec
from penstock.schema.expression import Condition, any_of, everything, parse
from penstock.schema.field import Constraints, Field
from penstock.schema.layout import Layout
from penstock.schema.magnitudes import round_outwards
from penstock.schema.schema import Drafted, Schema
from penstock.schema.taxonomy import Taxonomy

__all__ = [
    "Amounts",
    "Attribute",
    "Bins",
    "Codec",
    "Condition",
    "Constraints",
    "Drafted",
    "Edges",
    "Field",
    "Layout",
    "Level",
    "Relation",
    "Schema",
    "Taxonomy",
    "Unit",
    "any_of",
    "everything",
    "parse",
    "round_outwards",
]
