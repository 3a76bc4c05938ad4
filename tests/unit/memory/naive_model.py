"""The rules of memory once more, written from RULES.md alone and as plainly as possible, to hold the real ones against.

Nothing of memory/ is imported, and no helper of the other tests: rows are dicts, every step looks at every row.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]


class NaiveModel:
    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.memories: list[Row] = []
        self.candidates: list[Row] = []
        self.messages: list[Row] = []
        self.last_id = 0

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def save(self, kind: str, owner: str, persona: str, text: str, private: bool, now: datetime) -> int | None:
        """Save explicitly (P16 without its match, D9's refusal); None when it is refused."""
        in_list = [m for m in self.memories if (m["kind"], m["owner"], m["persona"]) == (kind, owner, persona)]
        if kind != "global" and len(in_list) >= self.settings[f"capacity_{kind}"]:
            return None
        return self.insert(kind, owner, persona, text, private, 1, now, now)

    def insert(
        self,
        kind: str,
        owner: str,
        persona: str,
        text: str,
        private: bool,
        mentions: int,
        seen: datetime,
        now: datetime,
    ) -> int:
        number = self.next_id()
        self.memories.append(
            {
                "id": number,
                "kind": kind,
                "owner": owner,
                "persona": persona,
                "text": text,
                "private": private,
                "mentions": mentions,
                "first_seen": seen,
                "unused_days": 0,  # D1
                "counted_on": now.date(),
                "last_matched_at": None,
            }
        )
        return number

    def delete(self, number: int) -> None:
        self.memories = [m for m in self.memories if m["id"] != number]

    # --- one turn: D2 to D8, D16

    def wrote(self, room: str, sender: str, now: datetime) -> None:
        self.messages.append({"room": room, "author": sender, "at": now})

    def window(self, room: str, now: datetime) -> list[Row]:
        """What was said here lately. Once out of the window it stays out, also when the clock is then set back."""
        self.messages = [m for m in self.messages if m["room"] != room or now - m["at"] <= timedelta(minutes=60)]
        return [m for m in self.messages if m["room"] == room]

    def visible(self, room: str, private: bool, persona: str, people: set[str], sender: str) -> list[Row]:
        rows = []
        for m in self.memories:
            if m["kind"] == "room":
                mine = m["owner"] == room and m["persona"] == persona
            elif m["kind"] == "personal":
                mine = m["owner"] in people and m["persona"] == persona
            else:
                mine = m["owner"] in people
            if not mine:
                continue
            if m["private"] and self.settings["private_stays_private"]:
                owned = m["owner"] == (room if m["kind"] == "room" else sender)
                if not private or not owned:
                    continue
            rows.append(m)
        return rows

    def turn(
        self,
        room: str,
        private: bool,
        persona: str,
        sender: str,
        members: set[str],
        now: datetime,
        similar: dict[int, float],
    ) -> tuple[list[int], list[int]]:
        """One ask turn whose search succeeds: returns (ids active in the start, ids recalled), and counts."""
        today = now.date()
        window = self.window(room, now)
        people = {m["author"] for m in window if m["author"] in members} | {sender}
        wrote_today = {m["author"] for m in window if m["at"].date() == today} | {sender}
        rows = self.visible(room, private, persona, people, sender)
        rest = self.settings["rest_after_days"]
        active = sorted(m["id"] for m in rows if not self.settings["decay_enabled"] or m["unused_days"] < rest)
        self.wrote(room, sender, now)
        if not self.settings["decay_enabled"]:
            return active, []

        def similarity(row: Row) -> float:
            return similar.get(row["id"], 0.0)

        over = [m for m in rows if similarity(m) >= self.settings["match_threshold"]]
        over.sort(key=lambda m: m["id"])
        over.sort(key=similarity, reverse=True)
        best = over[:3]
        recalled = [m["id"] for m in best if m["unused_days"] >= rest]
        for m in rows:
            if m in best:
                m["unused_days"] = 0
                m["last_matched_at"] = now
                m["counted_on"] = today
            elif m["counted_on"] < today:
                if m["kind"] == "room" or m["owner"] in wrote_today:
                    m["unused_days"] += 1
                    m["counted_on"] = today
            elif (m["counted_on"] - today).days > 7:
                m["counted_on"] = today
        return active, recalled

    # --- one pass: P2 to P12, P18

    @staticmethod
    def cleaned(text: str) -> str:
        hidden = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0e-\x1b\x7f]")
        return re.sub(r"\s+", " ", hidden.sub("", text)).strip()

    @staticmethod
    def same(one: str, other: str) -> bool:
        def key(text: str) -> str:
            folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
            return re.sub(r"[.!?…\s]+$", "", re.sub(r"\s+", " ", folded).strip())

        return key(one) == key(other)

    def durable(self, user: str) -> int:
        return sum(m["owner"] == user and m["kind"] in ("personal", "global") for m in self.memories)

    def extract(
        self,
        room: str,
        private: bool,
        persona: str,
        user: str,
        new_facts: list[str],
        reinforced: list[int],
        now: datetime,
        answered: bool,
    ) -> None:
        if not self.settings["enabled"] or self.durable(user) >= self.settings["max_per_user"]:
            return
        self.prune(user, now)
        if not answered:
            return
        mine = sorted((c for c in self.candidates if c["user"] == user), key=lambda c: c["id"])
        facts = [text for text in map(self.cleaned, new_facts) if text and len(text) <= 500]
        touched = self.said_again(mine, facts, reinforced)
        for c in touched:
            c["mentions"] += 1
            c["last_seen"] = now
        seen = [m for m in self.visible(room, private, persona, {user}, user) if m["kind"] != "room"]
        for text in self.never_said(mine + seen, facts)[:10]:
            c = {"id": self.next_id(), "user": user, "text": text, "mentions": 1, "private": private}
            c |= {"first_seen": now, "last_seen": now}
            self.candidates.append(c)
            touched.append(c)
        for c in sorted(touched, key=lambda c: c["id"]):
            self.promote(c, user, persona, now)

    def prune(self, user: str, now: datetime) -> None:
        ttl = timedelta(days=self.settings["candidate_ttl_days"])
        if ttl:
            self.candidates = [c for c in self.candidates if c["user"] != user or now - c["last_seen"] <= ttl]

    def said_again(self, mine: list[Row], facts: list[str], reinforced: list[int]) -> list[Row]:
        """The candidates that the pass mentions, by id or by the same text; of two with one text the older."""
        mentioned = [c for c in mine if c["id"] in reinforced]
        for text in facts:
            equal = [c for c in mine if self.same(c["text"], text)][:1]
            mentioned += [c for c in equal if c not in mentioned]
        return mentioned

    def never_said(self, known: list[Row], facts: list[str]) -> list[str]:
        fresh: list[str] = []
        for text in facts:
            if not any(self.same(row["text"], text) for row in known) and not any(self.same(f, text) for f in fresh):
                fresh.append(text)
        return fresh

    def promote(self, c: Row, user: str, persona: str, now: datetime) -> None:
        in_list = [m for m in self.memories if (m["kind"], m["owner"], m["persona"]) == ("personal", user, persona)]
        if c["mentions"] < self.settings["promotion_threshold"]:
            return
        if self.durable(user) >= self.settings["max_per_user"] or len(in_list) >= self.settings["capacity_personal"]:
            return
        self.insert("personal", user, persona, c["text"], c["private"], c["mentions"], c["first_seen"], now)
        self.candidates.remove(c)
