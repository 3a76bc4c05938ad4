"""D1-D18 of RULES.md as one plain list of rows and loops, for comparison with the bot.

Written from RULES.md alone: nothing of the project is imported. What RULES.md leaves to the bot is told from outside:
who is joined to a room, which memories have a vector of the current model (D17), whether a search works (D7).
Similarities are whole quarters, so that nothing is rounded: a text has no topic, one or four of them.
"""

from __future__ import annotations

import copy
import math
import re
import unicodedata
from datetime import date, datetime, timedelta
from typing import Any

Row = dict[str, Any]

TOPICS = ("cat", "dog", "tea", "piano", "norway", "bread", "boat", "chess")
WINDOW = timedelta(minutes=60)
TRIMMED = timedelta(minutes=45)  # a window too old is cut by a quarter more than it must be
BOT_SAYS = "answer"


def topics(text: str) -> set[str]:
    return {topic for topic in TOPICS if topic in text.lower()}


def quarters(one: str, other: str) -> int:
    """The cosine of two texts, in quarters."""
    left, right = topics(one), topics(other)
    if not left or not right:
        return 4 if left == right else 0
    return 4 * len(left & right) // math.isqrt(len(left) * len(right))


def equal(one: str, other: str) -> bool:
    """P9."""
    return plain(one) == plain(other)


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".!?… ")


class NaiveDecay:
    """Every memory there is, and what was said in every room."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.settings: Row = {
            "decay_enabled": True,
            "embeds": True,
            "rest_after_days": 7,
            "quarters": 1,
            "capacity_room": 100,
            "capacity_personal": 100,
            "private_stays_private": True,
            "blacklist": (),
        }
        self.memories: list[Row] = []
        self.last_id = 0
        self.embedded: set[int] = set()
        self.privacy: dict[str, str] = {}
        self.personas: dict[str, str] = {}
        self.members: dict[str, set[str]] = {}
        self.windows: dict[str, Row] = {}
        self.turns: list[Row] = []  # all that there ever were, in the order they arrived

    # --- the conversation window ------------------------------------------------------------------------------------

    def window(self, room: str) -> Row:
        """What a turn in this room begins with: what was said, and the participants in the order they joined (D14)."""
        if room not in self.windows:
            self.read_again(room)
        self.add(room, [], self.members[room])
        return copy.deepcopy(self.windows[room])

    def window_after_restart(self, room: str) -> Row:
        """What `window` would say if the bot began anew now."""
        one = copy.deepcopy(self)
        one.restarted()
        return one.window(room)

    def read_again(self, room: str) -> None:
        """As it grew: a clock that says less than before was set back, and what it says from then on is later."""
        self.windows[room] = {"said": [], "people": []}
        moments: list[tuple[int, datetime, list[Row]]] = []
        set_back, last = 0, None
        for turn in self.turns:
            answered_at = turn["answered_at"]
            if turn["room"] != room or answered_at is None or answered_at < self.now - 24 * WINDOW:
                continue
            if last is not None and turn["received_at"] < last:
                set_back += 1
            last = turn["received_at"]
            moments.append((set_back, last, []))
            if answered_at < last:
                set_back, last = set_back + 1, None
            moments.append((set_back, answered_at, entries(turn)))
        for _, at, said in sorted(moments, key=lambda moment: moment[:2]):
            self.add(room, said, self.members[room], at)

    def add(self, room: str, said: list[Row], here: set[str], at: datetime | None = None) -> None:
        """Who left the room goes at the next trim (D14); who is there and has said something has joined."""
        window, now = self.windows[room], at or self.now
        window["said"] += said
        here = here | {entry["author"] for entry in said}

        def join(people: list[str]) -> None:
            for entry in window["said"]:
                if entry["author"] is not None and entry["author"] in here and entry["author"] not in people:
                    people.append(entry["author"])

        join(window["people"])
        if any(now - entry["at"] > WINDOW for entry in window["said"]):
            window["said"] = [entry for entry in window["said"] if now - entry["at"] <= TRIMMED]
            staying: list[str] = []
            join(staying)
            window["people"] = [each for each in window["people"] if each in staying]

    # --- who may see what (D8) --------------------------------------------------------------------------------------

    def hidden(self, row: Row, turn: Row, heard: set[str]) -> bool:
        settings = turn["settings"]
        if row["scope"] != "room" and self.privacy.get(row["owner"], "open") != "open":
            return True
        if row["owner"] in settings["blacklist"]:
            return True
        if row["rooms"] and turn["room"] not in row["rooms"]:
            return True
        if row["tags"] and not heard & set(row["tags"]):
            return True
        stays = settings["private_stays_private"] and row["private"] and not row["shared"]
        return bool(stays and not turn["private"])

    def in_list(self, kind: str, owner: str, persona: str) -> list[Row]:
        """A list (Words), by id: a person's has their global memories too."""
        return [
            row
            for row in self.memories
            if row["owner"] == owner
            and (
                (row["scope"] == kind and row["persona"] == persona)
                or (kind == "personal" and row["scope"] == "global")
            )
        ]

    # --- turns ------------------------------------------------------------------------------------------------------

    def turn_begins(
        self, event: str, user: str, room: str, text: str, *, private: bool, search: str = "works", unread: str = ""
    ) -> Row:
        """One search before the model is asked (D2). Returns what the prompt holds.

        search: "works", or how it fails (D7). unread: the owner of a list that cannot even be read.
        """
        turn: Row = {"event": event, "user": user, "room": room, "text": text, "private": private}
        turn |= {"received_at": self.now, "answered_at": None, "over": False, "matches": None, "rested": []}
        self.turns.append(turn)
        return self.prepare(turn, search, unread)

    def prepare(self, turn: Row, search: str, unread: str = "") -> Row:
        """Begin a turn, or begin it again after a restart: what was counted is not counted again (D2)."""
        turn["now"] = self.now
        turn["settings"] = settings = dict(self.settings)
        turn["persona"] = persona = self.personas.get(turn["room"], "default")
        turn["members"] = set(self.members[turn["room"]])
        window = self.window(turn["room"])
        heard: set[str] = set()
        for said in [*(entry["text"] for entry in window["said"]), turn["text"]]:
            heard |= set(re.findall(r"\w+", said.lower()))
        people = [*window["people"], *([] if turn["user"] in window["people"] else [turn["user"]])]
        of_room = self.in_list("room", turn["room"], persona)
        lists = [of_room, *(self.in_list("personal", user, persona) for user in people)]
        usable = [
            [row for row in rows if not self.hidden(row, turn, heard) and row["owner"] != unread] for rows in lists
        ]
        decays = settings["decay_enabled"] and settings["embeds"]
        rests = {row["id"]: decays and row["unused_days"] >= settings["rest_after_days"] for row in self.memories}
        if turn["matches"] is None and decays and turn["text"].strip() and search == "works":
            here = [usable[0]] + [
                rows
                for user, rows in zip(people, usable[1:], strict=True)
                if user == turn["user"] or user in self.members[turn["room"]]
            ]
            searched = {row["id"]: row for rows in here for row in rows if row["id"] in self.embedded}
            today = self.now.date()
            wrote = {entry["author"] for entry in window["said"] if entry["at"].date() == today}
            if turn["received_at"].date() == today:
                wrote.add(turn["user"])
            turn["matches"] = self.settle(list(searched.values()), turn, wrote)
            turn["recalled"] = [number for number in turn["matches"] if rests[number]]
            turn["rested"] = [
                row["id"]
                for row in searched.values()
                if row["unused_days"] >= settings["rest_after_days"] and not rests[row["id"]]
            ]
        recalled = turn["recalled"] if turn["matches"] is not None else []
        for number in turn["rested"]:  # they show in the start of this reply still (D14), also when it begins again
            rests[number] = False
        active = [[row for row in rows if not rests[row["id"]] and row["id"] not in recalled] for rows in usable]
        there = {row["id"] for rows in usable for row in rows}
        blocks = [(turn["room"], active[0]), *zip(people, active[1:], strict=True)]
        start = [
            (about, [(row["id"], row["created_at"].date()) for row in rows if not row["tags"]])
            for about, rows in blocks
        ]
        return {
            "start": [(about, rows) for about, rows in start if rows],
            "tagged": {row["id"] for rows in active for row in rows if row["tags"]},
            "recalled": {number for number in recalled if number in there},
        }

    def settle(self, searched: list[Row], turn: Row, wrote: set[str]) -> list[int]:
        """D3, D4, D16. Returns the ids of the matches, best first."""
        near = [row for row in searched if quarters(turn["text"], row["text"]) >= turn["settings"]["quarters"]]
        near.sort(key=lambda row: (-quarters(turn["text"], row["text"]), row["id"]))
        best = [row["id"] for row in near[:3]]
        today: date = turn["now"].date()
        for row in searched:
            if row["id"] in best:
                row["unused_days"], row["last_matched_at"], row["counted_on"] = 0, turn["now"], today
            elif row["counted_on"] > today + timedelta(days=7):
                row["counted_on"] = today
            elif row["counted_on"] < today and (row["scope"] == "room" or row["owner"] in wrote):
                row["unused_days"] += 1
                row["counted_on"] = today
        return best

    def turn_ends(self, event: str, *, answered: bool) -> None:
        """What was said and answered stands in the window; a failed turn does not."""
        turn = self.turn(event)
        turn["over"] = True
        if answered:
            turn["answered_at"] = self.now
            if turn["room"] in self.windows:
                self.add(turn["room"], entries(turn), turn["members"])

    def turn(self, event: str) -> Row:
        return next(turn for turn in self.turns if turn["event"] == event)

    def restarted(self) -> None:
        """Windows are read again from what was said and answered."""
        self.windows.clear()

    # --- saves (D1, D9-D11, P16) ------------------------------------------------------------------------------------

    def save(
        self,
        scope: str,
        owner: str,
        persona: str,
        text: str,
        *,
        private: bool,
        by_hand: bool,
        now: datetime,
        settings: Row,
        searchable: bool = True,
    ) -> str:
        """An explicit save; returns "saved", "forgot", "matched" or "refused"."""
        decays = settings["decay_enabled"] and settings["embeds"]
        if owner in settings["blacklist"] or self.privacy.get(owner, "open") != "open":
            return "refused"
        for row in self.in_list(scope, owner, persona):
            same_sight = row["private"] == private and not (row["shared"] or row["rooms"] or row["tags"])
            if same_sight and equal(row["text"], text):
                if decays:
                    row["unused_days"], row["last_matched_at"] = 0, now
                    if not now.date() < row["counted_on"] <= self.now.date():  # settled while the model answered
                        row["counted_on"] = now.date()
                row["protected"] = row["protected"] or by_hand
                return "matched"
        counted = [row for row in self.in_list(scope, owner, persona) if row["scope"] == scope]
        forgotten = None
        if len(counted) >= settings[f"capacity_{scope}"]:
            free = [
                row for row in counted if row["unused_days"] >= settings["rest_after_days"] and not row["protected"]
            ]
            if not decays or not searchable or not free:
                return "refused"
            never = [row for row in free if row["last_matched_at"] is None]
            key = "created_at" if never else "last_matched_at"
            forgotten = min(never or free, key=lambda row: (row[key], row["id"]))
            self.memories.remove(forgotten)
        self.insert(scope, owner, persona, text, private=private, protected=by_hand, now=now)
        return "forgot" if forgotten else "saved"

    def promote(self, user: str, room: str, persona: str, text: str, *, private: bool) -> None:
        """P11: nothing is forgotten for it. P1: of whom, and where, nothing may be learned, nothing is."""
        forbidden = {user, room} & set(self.settings["blacklist"]) or self.privacy.get(user, "open") != "open"
        held = [row for row in self.in_list("personal", user, persona) if row["scope"] == "personal"]
        if not forbidden and len(held) < self.settings["capacity_personal"]:
            self.insert("personal", user, persona, text, private=private, protected=False, now=self.now)

    def insert(
        self, scope: str, owner: str, persona: str, text: str, *, private: bool, protected: bool, now: datetime
    ) -> None:
        """D1: the day it is saved counts as used."""
        self.last_id += 1
        row: Row = {"id": self.last_id, "scope": scope, "owner": owner, "persona": persona, "text": text}
        row |= {"unused_days": 0, "counted_on": now.date(), "last_matched_at": None, "created_at": now}
        row |= {"protected": protected, "private": private, "shared": False, "rooms": (), "tags": ()}
        self.memories.append(row)

    # --- what people change -----------------------------------------------------------------------------------------

    def own(self, user: str, number: int) -> Row | None:
        for row in self.memories:
            if row["id"] == number and row["scope"] != "room" and row["owner"] == user:
                return row
        return None

    def edit(self, user: str, number: int, text: str) -> None:
        """D11: protects, even if the text stays the same; counters stay."""
        row = self.own(user, number)
        if row is not None:
            row["text"], row["protected"] = text, True

    # Sharing, limiting and tagging do not protect (D11).

    def tag(self, user: str, number: int, tags: tuple[str, ...]) -> None:
        row = self.own(user, number)
        if row is not None:
            row["tags"] = tags

    def share(self, user: str, number: int, *, on: bool) -> None:
        """What was not said in private is no secret that could be shared."""
        row = self.own(user, number)
        if row is not None and row["private"]:
            row["shared"] = on

    def limit(self, user: str, number: int, room: str | None) -> None:
        """To one room more; None: to none."""
        row = self.own(user, number)
        if row is not None and room is None:
            row["rooms"] = ()
        elif row is not None and room not in row["rooms"]:
            row["rooms"] = (*row["rooms"], room)

    def make_global(self, user: str, number: int) -> None:
        """D11: global memories are protected. One that says the same already is enough."""
        row = self.own(user, number)
        if row is None or row["scope"] == "global":
            return
        for other in self.memories:
            if other["owner"] == user and other["scope"] == "global" and equal(other["text"], row["text"]):
                return
        row["scope"], row["persona"], row["protected"] = "global", "", True

    def delete(self, user: str, number: int) -> None:
        row = self.own(user, number)
        if row is not None:
            self.memories.remove(row)

    def clear(self, user: str) -> None:
        """D18: all personas, global, hidden and protected ones; the rooms' stay."""
        self.memories = [row for row in self.memories if row["scope"] == "room" or row["owner"] != user]


def entries(turn: Row) -> list[Row]:
    return [
        {"author": turn["user"], "text": turn["text"], "at": turn["received_at"]},
        {"author": None, "text": BOT_SAYS, "at": turn["answered_at"]},
    ]
