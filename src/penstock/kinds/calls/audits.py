"""Audits of calls."""

from penstock.audit.methods import Audits

AUDITS = Audits()
