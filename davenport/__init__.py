"""Composition root: settings, wiring, command line and demo."""
