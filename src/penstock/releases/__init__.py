"""What comes out of the gate: releases, their folders and their public report."""

from penstock.releases.answer import Answer
from penstock.releases.disk import check_destination
from penstock.releases.loading import load
from penstock.releases.model import Manifest, Model
from penstock.releases.question import Question, Written
from penstock.releases.release import Release

__all__ = ["Answer", "Manifest", "Model", "Question", "Release", "Written", "check_destination", "load"]
