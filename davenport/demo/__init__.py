"""The demo: a conversation of many days, played by a script over a real homeserver with the real bot."""

from davenport.demo.play import play

__all__ = ["play"]
