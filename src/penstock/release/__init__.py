"""What comes out of the gate: releases, their folders and their public report."""

from penstock.release.folder import check_destination, load, save
from penstock.release.release import Answer, Manifest, Model, Picture, Release

__all__ = ["Answer", "Manifest", "Model", "Picture", "Release", "check_destination", "load", "save"]
