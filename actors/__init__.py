"""Actors: one per room, one per user; they serialise decisions and own what is loaded."""
