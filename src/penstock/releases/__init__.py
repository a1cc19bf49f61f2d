"""What comes out of the gate: releases, their folders and their public report."""

from penstock.releases.folder import check_destination, load, save
from penstock.releases.release import Answer, Manifest, Model, Picture, Release

__all__ = ["Answer", "Manifest", "Model", "Picture", "Release", "check_destination", "load", "save"]
