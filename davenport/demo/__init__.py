"""The demo: a chat in a real room, or a conversation of many days played by a script, with the real bot."""

from davenport.demo.start import Options, demo

__all__ = ["Options", "demo"]
