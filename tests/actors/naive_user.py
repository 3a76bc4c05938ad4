"""RULES.md P1-P20 a second time, as plainly as can be: rows are dictionaries, every rule is a loop.

Written from the rules alone, for test_machine.py to compare the whole bot with; nothing here comes from the project.
The rules of D that touch P are here too: what is hidden (D8), what a search changes (D1-D5), what a full list does
(D9-D11). What a text is about is one or more of the WORDS in it; how like two texts are follows from that alone.
"""

# ruff: noqa: C901, PLR0911, PLR0912, SIM103 - one rule stands after the other, in their words

from __future__ import annotations

import fnmatch
import math
import re
import unicodedata
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]

WORDS = ("tea", "cat", "dog", "piano", "norway", "chess", "garden", "bread")
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class NaiveBot:
    """Everything the bot remembers, and the passes that are under way."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.settings: Row = {
            "enabled": True,
            "promotion_threshold": 2,
            "candidate_ttl_days": 14,
            "max_per_user": 50,
            "cleanup_interval": 3,
            "decay_enabled": True,
            "rest_after_days": 7,
            "match_threshold": 0.25,
            "capacity_room": 100,
            "capacity_personal": 100,
            "private_stays_private": True,
            "blacklist": (),
        }
        self.embeds = True
        self.candidates: list[Row] = []
        self.memories: list[Row] = []
        self.mentions: list[Row] = []
        self.counters: dict[str, int] = {}
        self.privacy: dict[str, str] = {}
        self.personas: dict[str, str] = {}
        self.said: dict[str, list[Row]] = {}  # by room: what was said to the bot and answered
        self.members: dict[str, set[str]] = {}
        self.turns: list[Row] = []  # in turn order, until their passes are done
        self.cleanups: dict[str, Row] = {}  # by user: the one that is running
        self.wanted: dict[str, Row] = {}  # by user: the settings of a pass that wanted one meanwhile
        self.undos: dict[str, Row] = {}
        self.number = 0

    # --- a turn -----------------------------------------------------------------------------------------------------

    def turn_begins(self, event: str, user: str, room: str, text: str, private: bool) -> list[Row]:
        """The bot takes up a message: it searches (D2), and keeps the place of the pass that may follow (P20).

        Returns the user's own memories that stand in the prompt (D5, D6).
        """
        persona = self.personas.get(room, "default")
        turn = {
            "event": event,
            "user": user,
            "room": room,
            "persona": persona,
            "private": private,
            "text": text,
            "at": self.now,
            "heard": [*[each["text"] for each in self.said.get(room, [])], text],
            "ended": False,
            "dropped": False,
            "running": None,
        }
        self.members.setdefault(room, set()).add(user)
        self.turns.append(turn)
        shown = self.search(user, room, persona, private, text)
        return [each for each in shown if self.owns(user, each)]

    def turn_ends(self, event: str, answered: bool) -> None:
        """The bot has answered, or could not (P1)."""
        turn = self.turn(event)
        if not answered:
            self.turns.remove(turn)
        else:
            turn["ended"] = True
            self.said.setdefault(turn["room"], []).append(
                {"event": event, "author": turn["user"], "text": turn["text"], "at": turn["at"]}
            )
        self.start_passes()

    def restarted(self) -> None:
        """The bot was stopped and started: every pass that had begun begins anew (P20)."""
        for turn in self.turns:
            turn["running"] = None
            if turn["ended"]:
                turn["heard"] = [turn["text"]]  # what else stood in the window is not known any more
            else:
                turn["persona"] = self.personas.get(turn["room"], "default")
        self.wanted.clear()
        asked = [(user, run["event"]) for user, run in self.cleanups.items() if run["event"] is not None]
        self.cleanups.clear()
        for user, event in asked:
            self.clean(user, event)  # what was asked for is done in the end; a periodic one waits for a promotion (P13)
        self.start_passes()

    def turn(self, event: str) -> Row:
        """The turn of an event."""
        for turn in self.turns:
            if turn["event"] == event:
                return turn
        raise LookupError(event)

    # --- a pass -----------------------------------------------------------------------------------------------------

    def start_passes(self) -> None:
        """P20: of each user, the first pass in turn order runs, as soon as its turn is over."""
        for user in {turn["user"] for turn in self.turns}:
            while True:
                first = [turn for turn in self.turns if turn["user"] == user][:1]
                if not first or not first[0]["ended"] or first[0]["running"]:
                    break
                if not first[0]["dropped"]:
                    self.start(first[0])
                if first[0]["running"]:
                    break
                self.turns.remove(first[0])

    def start(self, turn: Row) -> None:
        """P1-P6."""
        user, settings = turn["user"], dict(self.settings)
        if not self.may_learn(user):
            return  # P1
        if not settings["enabled"]:
            return  # P2
        if self.count(user) >= settings["max_per_user"]:
            return  # P3
        if settings["candidate_ttl_days"] > 0:
            for candidate in list(self.candidates):
                old = self.now - candidate["last_seen"] > timedelta(days=settings["candidate_ttl_days"])
                if candidate["user"] == user and old:
                    self.candidates.remove(candidate)  # P4
        turn["running"] = {
            "settings": settings,
            "now": self.now,
            "candidates": [dict(each) for each in self.of(self.candidates, user)],
            "memories": [
                dict(each)
                for each in self.of(self.list_of(user, turn["persona"]), user)
                if self.usable(each, turn["room"], turn["private"], turn["heard"])
            ],
        }

    def running(self, user: str) -> Row | None:
        """The turn whose pass is waiting for the model."""
        for turn in self.turns:
            if turn["user"] == user and turn["running"]:
                return turn
        return None

    def answer_pass(self, user: str, facts: list[str] | None, ids: list[int]) -> None:
        """The model has answered the running pass; None: it could not (P17)."""
        turn = self.running(user)
        assert turn is not None
        if facts is not None and not turn["dropped"]:
            self.apply(turn, facts, ids)
        self.turns.remove(turn)
        self.start_passes()

    def apply(self, turn: Row, facts: list[str], ids: list[int]) -> None:
        """P7-P13."""
        user, running = turn["user"], turn["running"]
        settings, now = running["settings"], running["now"]
        shown = [each["id"] for each in running["candidates"]]
        touched: list[Row] = []
        for number in ids:
            for candidate in self.of(self.candidates, user):
                if candidate["id"] == number and number in shown and candidate not in touched:
                    touched.append(candidate)
        new: list[str] = []
        for fact in facts:
            text = clean(fact)
            if not text or len(text) > 500:
                continue  # P18
            same = [each for each in self.of(self.candidates, user) if equal(each["text"], text)]
            if same:
                if same[0] not in touched:
                    touched.append(same[0])  # P9
            elif any(equal(each["text"], text) for each in running["memories"]):
                continue  # P9
            elif not any(equal(each, text) for each in new):
                new.append(text)
        reinforced = []
        for candidate in touched:
            if self.mention(turn["event"], candidate["id"], None):
                candidate["mentions"] += 1
                candidate["last_seen"] = now  # P8
                reinforced.append(candidate)
        for text in new[:10]:
            candidate = {
                "id": self.next_number(),
                "user": user,
                "text": text,
                "mentions": 1,
                "first_seen": now,
                "last_seen": now,
                "room": turn["room"],
                "event": turn["event"],
                "private": turn["private"],
            }
            self.candidates.append(candidate)  # P7
            self.mention(turn["event"], candidate["id"], None)
            reinforced.append(candidate)
        promoted = 0
        for candidate in sorted(reinforced, key=lambda each: each["id"]):
            if candidate["mentions"] < settings["promotion_threshold"]:
                continue  # P10
            if self.count(user) >= settings["max_per_user"]:
                continue  # P11
            if len(self.counted(user, turn["persona"])) >= settings["capacity_personal"]:
                continue  # P11
            self.promote(candidate, turn)
            promoted += 1
        if promoted:
            self.counters[user] = self.counters.get(user, 0) + 1  # P13
            self.maybe_clean(user, settings)

    def promote(self, candidate: Row, turn: Row) -> None:
        """P12."""
        memory = self.insert("personal", candidate["user"], turn["persona"], candidate["text"], "promotion")
        for key in ("mentions", "first_seen", "room", "event", "private"):
            memory[key] = candidate[key]
        memory["created_at"] = turn["running"]["now"]  # a pass reads the clock once
        memory["counted_on"] = turn["running"]["now"].date()
        self.candidates.remove(candidate)
        for mention in self.mentions:
            if mention["candidate"] == candidate["id"]:
                mention["candidate"], mention["memory"] = None, memory["id"]

    def mention(self, event: str, candidate: int | None, memory: int | None) -> bool:
        """P8: an event, with all its edits, mentions a fact once."""
        row = {"event": event, "candidate": candidate, "memory": memory}
        if row in self.mentions:
            return False
        self.mentions.append(row)
        return True

    def taken_back(self, event: str) -> None:
        """The event was redacted or edited: what only it taught goes, and its pass is dropped (P20)."""
        for turn in list(self.turns):
            if turn["event"] == event:
                turn["dropped"] = True
        for room in self.said.values():
            room[:] = [each for each in room if each["event"] != event]
        gone = [each for each in self.mentions if each["event"] == event]
        self.mentions = [each for each in self.mentions if each["event"] != event]
        for candidate in list(self.candidates):
            if any(each["candidate"] == candidate["id"] for each in gone):
                candidate["mentions"] -= 1
                if candidate["mentions"] == 0:
                    self.candidates.remove(candidate)
        for memory in list(self.memories):
            before = {**self.kept(memory), "events": [*self.events_of(memory), event]}
            if not any(each["memory"] == memory["id"] for each in gone):
                continue
            left = without(before, event)
            if [row["id"] for row in left] == [memory["id"]]:
                memory["parts"] = left[0]["parts"]
            else:
                self.remove(memory)
                self.bring_back(left)
        for user, step in list(self.undos.items()):
            step["was"] = [left for row in step["was"] for left in without(row, event)]
            if not step["was"]:
                del self.undos[user]
        self.start_passes()

    def bring_back(self, rows: list[Row]) -> None:
        """Memories that were kept are there again, with what mentioned them."""
        for row in rows:
            self.memories.append({key: value for key, value in row.items() if key != "events"})
            for event in row["events"]:
                self.mention(event, None, row["id"])

    # --- cleanup ----------------------------------------------------------------------------------------------------

    def maybe_clean(self, user: str, settings: Row) -> None:
        """P13: when the counter reaches the interval and none is running, one runs; if one is, another may follow."""
        interval = settings["cleanup_interval"]
        if interval == 0 or self.counters.get(user, 0) < interval:
            return
        if user in self.cleanups:
            self.wanted[user] = settings
        elif self.may_learn(user, settings):
            self.start_cleanup(user, settings, None)

    def clean(self, user: str, event: str) -> bool:
        """`!memories cleanup`: False when it is refused, or when there is nothing to do."""
        if user in self.cleanups or not self.may_learn(user):
            return False
        return self.start_cleanup(user, dict(self.settings), event)

    def start_cleanup(self, user: str, settings: Row, event: str | None) -> bool:
        """P14: the groups as they are now; without an event it is the periodic one."""
        groups = self.groups([each for each in self.memories if self.owns(user, each)])
        if not groups:
            if event is None:
                self.counters[user] = 0  # P13: there was nothing to do
            return False
        counted = self.counters.get(user, 0) if event is None else 0
        self.cleanups[user] = {"groups": groups, "event": event, "counted": counted, "settings": settings}
        return True

    def groups(self, rows: list[Row]) -> list[list[Row]]:
        """P14: one scope and one visibility, at least two memories, not all protected; by their lowest ids."""
        found: dict[Any, list[Row]] = {}
        for row in sorted(rows, key=lambda each: each["id"]):
            key = (row["scope"], row["owner"], row["persona"], *visibility(row))
            found.setdefault(key, []).append(dict(row))
        return [group for group in found.values() if len(group) >= 2 and not all(row["protected"] for row in group)]

    def cleanup_answered(self, user: str, drops: list[tuple[int, int]] | None, merges: list[Row]) -> bool:
        """P15: all or nothing. drops: (id, survivor); merges: {"ids", "text"}; None: the model could not."""
        run = self.cleanups.pop(user)
        done = drops is not None and self.may_learn(user, run["settings"])
        if drops is not None and done:
            done = self.acceptable(run["groups"], drops, merges)
            if done:
                self.carry_out(user, run, drops, merges)
        if user in self.wanted:
            self.maybe_clean(user, self.wanted.pop(user))
        return done

    def carry_out(self, user: str, run: Row, drops: list[tuple[int, int]], merges: list[Row]) -> None:
        """P15, and the counter of P13."""
        gone = [self.memory(number) for number, _ in drops]
        gone += [self.memory(number) for merge in merges for number in merge["ids"]]
        was = [self.kept(row) for row in gone]
        for number, _ in drops:
            self.remove(self.memory(number))
        now = [self.merge([self.memory(number) for number in merge["ids"]], clean(merge["text"])) for merge in merges]
        if run["event"] is None:
            self.counters[user] = self.counters.get(user, 0) - run["counted"]
        elif was:
            self.undos[user] = {"at": self.now, "was": was, "now": [dict(row) for row in now]}

    def acceptable(self, groups: list[list[Row]], drops: list[tuple[int, int]], merges: list[Row]) -> bool:
        """P15's reasons for rejecting, one after the other."""
        asked = {row["id"]: (place, row) for place, group in enumerate(groups) for row in group}
        used = [number for number, _ in drops] + [number for merge in merges for number in merge["ids"]]
        survivors = [survivor for _, survivor in drops]
        if any(number not in asked for number in [*used, *survivors]):
            return False
        if len(used) != len(set(used)):
            return False
        for number, survivor in drops:
            if survivor in used or asked[survivor][0] != asked[number][0]:
                return False
        for merge in merges:
            if len(merge["ids"]) < 2 or len({asked[number][0] for number in merge["ids"]}) > 1:
                return False
            if not clean(merge["text"]) or len(clean(merge["text"])) > 500:
                return False
        if any(asked[number][1]["protected"] for number in used):
            return False
        for number in [*used, *survivors]:
            there = [each for each in self.memories if each["id"] == number]
            if not there or changed(there[0], asked[number][1]):
                return False
        return True

    def merge(self, rows: list[Row], text: str) -> Row:
        """P15: what a merged memory takes from those it is made of."""
        first = min(rows, key=lambda each: (each["created_at"], each["id"]))
        new = self.insert(first["scope"], first["owner"], first["persona"], text, "merge")
        matched = [each["last_matched_at"] for each in rows if each["last_matched_at"] is not None]
        new["created_at"] = min(each["created_at"] for each in rows)
        new["last_matched_at"] = max(matched) if matched else None
        new["counted_on"] = max(each["counted_on"] for each in rows)
        new["unused_days"] = min(each["unused_days"] for each in rows)
        new["mentions"] = max(each["mentions"] for each in rows)
        new["first_seen"] = min(each["first_seen"] for each in rows)
        for key in ("private", "shared", "rooms", "tags", "room", "event"):
            new[key] = first[key]
        for row in rows:
            for event in self.events_of(row):
                self.mention(event, None, new["id"])
            new["parts"] += row["parts"] or [self.kept(row)]
            self.remove(row)
        return new

    def events_of(self, memory: Row) -> list[str]:
        """The events that mentioned a memory."""
        return [each["event"] for each in self.mentions if each["memory"] == memory["id"]]

    def remove(self, memory: Row) -> None:
        """A memory goes, with its mentions."""
        self.memories = [each for each in self.memories if each["id"] != memory["id"]]
        self.mentions = [each for each in self.mentions if each["memory"] != memory["id"]]

    # --- explicit saves ---------------------------------------------------------------------------------------------

    def save(self, scope: str, owner: str, persona: str, text: str, source: str, place: Row) -> None:
        """P16, P18, D9-D11: nothing, where it is refused. place: room, event and whether it is private."""
        wording = clean(text)
        if not wording or len(wording) > 500 or not self.may_learn(owner):
            return
        hidden = {"private": place["private"], "shared": False, "rooms": (), "tags": ()}
        rows = self.list_of(owner, persona) if scope == "personal" else self.room_list(owner, persona)
        for row in sorted(rows, key=lambda each: each["id"]):
            if equal(row["text"], wording) and visibility(row) == visibility(hidden):
                if self.settings["decay_enabled"] and self.embeds:
                    self.used(row)  # D3, D13
                row["protected"] = row["protected"] or source == "command"  # D11: added by a person
                return
        limit = self.settings["capacity_room" if scope == "room" else "capacity_personal"]
        counted = rows if scope == "room" else self.counted(owner, persona)
        if len(counted) >= limit:
            forgotten = self.forgettable(counted)
            if forgotten is None:
                return  # D10
            self.remove(forgotten)
        new = self.insert(scope, owner, persona, wording, source)
        new.update(hidden)
        new["room"], new["event"], new["protected"] = place["room"], place["event"], source == "command"

    def forgettable(self, rows: list[Row]) -> Row | None:
        """D9: resting and unprotected; never matched first, oldest first; then the one matched longest ago."""
        if not self.settings["decay_enabled"] or not self.embeds:
            return None  # D10
        found = [each for each in rows if not each["protected"]]
        found = [each for each in found if each["unused_days"] >= self.settings["rest_after_days"]]
        never = [each for each in found if each["last_matched_at"] is None]
        if never:
            return min(never, key=lambda each: (each["created_at"], each["id"]))
        if found:
            return min(found, key=lambda each: (each["last_matched_at"], each["id"]))
        return None

    # --- commands ---------------------------------------------------------------------------------------------------

    def delete(self, user: str, ids: list[int]) -> None:
        """The caller's own of these memories go, whatever becomes of the others."""
        gone = [each for each in self.memories if each["id"] in ids and self.owns(user, each)]
        if gone:
            self.undos[user] = {"at": self.now, "was": [self.kept(row) for row in gone], "now": []}
        for row in gone:
            self.remove(row)

    def edit(self, user: str, number: int, text: str) -> None:
        """D11: an edit protects, and leaves the counters."""
        wording = clean(text)
        for memory in self.memories:
            if memory["id"] == number and self.owns(user, memory) and wording and len(wording) <= 500:
                was = self.kept(memory)
                memory["text"], memory["protected"] = wording, True
                self.undos[user] = {"at": self.now, "was": [was], "now": [dict(memory)]}

    def clear(self, user: str) -> None:
        """D18: all of the caller's durable memories; P20: passes in flight are dropped."""
        gone = [each for each in self.memories if self.owns(user, each)]
        if gone:
            self.undos[user] = {"at": self.now, "was": [self.kept(row) for row in gone], "now": []}
        for row in gone:
            self.remove(row)
        self.drop_passes(user)

    def kept(self, memory: Row) -> Row:
        """A memory as it is, with what mentioned it."""
        return {**memory, "events": self.events_of(memory)}

    def undo(self, user: str) -> None:
        """The last of del, edit, clear and cleanup, for ten minutes; nothing, where a row it left was changed."""
        step = self.undos.get(user)
        if step is None:
            return
        if self.now - step["at"] > timedelta(minutes=10):
            return
        before = {row["id"]: row for row in step["was"]}
        for left in step["now"]:
            there = [each for each in self.memories if each["id"] == left["id"]]
            if not there or (there[0]["text"], there[0]["protected"]) != (left["text"], left["protected"]):
                return
            if left["id"] not in before and changed(there[0], left):
                return
        del self.undos[user]
        for left in step["now"]:
            memory = self.memory(left["id"])
            if left["id"] in before:
                memory["text"] = before[left["id"]]["text"]
                memory["protected"] = before[left["id"]]["protected"] or memory["scope"] == "global"
                memory["parts"] = before[left["id"]]["parts"]
            else:
                self.remove(memory)
        for number, row in before.items():
            if number not in [left["id"] for left in step["now"]]:
                self.bring_back([row])

    def share(self, user: str, number: int, on: bool) -> None:
        """D8: only what was said in private can be shared; that protects nothing (D11)."""
        for memory in self.memories:
            if memory["id"] == number and self.owns(user, memory) and memory["private"]:
                memory["shared"] = on

    def limit(self, user: str, number: int, room: str | None) -> None:
        """D8: the memory is used in this room and those named before; None: in all again."""
        for memory in self.memories:
            if memory["id"] == number and self.owns(user, memory):
                memory["rooms"] = () if room is None else (*[each for each in memory["rooms"] if each != room], room)

    def tag(self, user: str, number: int, words: tuple[str, ...]) -> None:
        """D8: the memory is used only when one of the words occurs."""
        for memory in self.memories:
            if memory["id"] == number and self.owns(user, memory):
                memory["tags"] = words

    def make_global(self, user: str, number: int) -> None:
        """D11: global memories are protected. One that says the same is enough."""
        for memory in self.memories:
            if memory["id"] == number and self.owns(user, memory) and memory["scope"] != "global":
                others = [each for each in self.memories if self.owns(user, each) and each["scope"] == "global"]
                if not any(equal(each["text"], memory["text"]) for each in others):
                    memory["scope"], memory["persona"], memory["protected"] = "global", "", True

    def drop_passes(self, user: str) -> None:
        """P20: the user cleared, erased or switched learning off."""
        for turn in self.turns:
            if turn["user"] == user:
                turn["dropped"] = True
        self.start_passes()

    def set_privacy(self, user: str, level: str) -> None:
        """`!privacy`: whoever is silent is not answered and stands in no context."""
        if self.privacy.get(user, "open") == level:
            return
        self.privacy[user] = level
        if level == "silent":
            for room in self.said.values():
                room[:] = [each for each in room if each["author"] != user]
            self.turns = [turn for turn in self.turns if turn["user"] != user or turn["ended"]]
        self.drop_passes(user)

    def listed(self, user: str, room: str, private: bool) -> tuple[list[Row], int]:
        """D18: those usable here over all personas, and how many more there are."""
        own = [each for each in self.memories if self.owns(user, each)]
        if private:
            return own, 0
        heard = [each["text"] for each in self.said.get(room, [])]
        shown = [each for each in own if self.usable(each, room, private, heard)]
        return shown, len(own) - len(shown)

    # --- what is there, and who may see it --------------------------------------------------------------------------

    def may_learn(self, user: str, settings: Row | None = None) -> bool:
        """P1, D8: neither privacy level nor blacklisting forbids it."""
        globs = (settings or self.settings)["blacklist"]
        return self.privacy.get(user, "open") == "open" and not any(fnmatch.fnmatchcase(user, glob) for glob in globs)

    def usable(self, memory: Row, room: str, private: bool, heard: list[str]) -> bool:
        """D8: whether nothing hides a memory from a conversation."""
        if memory["scope"] != "room" and not self.may_learn(memory["owner"]):
            return False
        if memory["rooms"] and room not in memory["rooms"]:
            return False
        if memory["tags"] and not any(word_in(tag, text) for tag in memory["tags"] for text in heard):
            return False
        if memory["private"] and not memory["shared"] and not private and self.settings["private_stays_private"]:
            return False
        return True

    def owns(self, user: str, memory: Row) -> bool:
        """Whether a memory is this user's own."""
        return memory["scope"] != "room" and memory["owner"] == user

    def of(self, rows: list[Row], user: str) -> list[Row]:
        """The user's rows by id."""
        return sorted((each for each in rows if each.get("user", each.get("owner")) == user), key=lambda row: row["id"])

    def list_of(self, user: str, persona: str) -> list[Row]:
        """Words: the memories of one user and persona with that user's global memories."""
        return [
            each
            for each in self.memories
            if self.owns(user, each) and (each["scope"] == "global" or each["persona"] == persona)
        ]

    def counted(self, user: str, persona: str) -> list[Row]:
        """D9: a capacity is of one persona; global memories are of none, and none of them is ever forgotten."""
        return [each for each in self.list_of(user, persona) if each["scope"] == "personal"]

    def room_list(self, room: str, persona: str) -> list[Row]:
        """Words: the memories of one room and persona."""
        return [
            each
            for each in self.memories
            if each["scope"] == "room" and each["owner"] == room and each["persona"] == persona
        ]

    def count(self, user: str) -> int:
        """P3: personal and global memories over all personas."""
        return len([each for each in self.memories if self.owns(user, each)])

    def memory(self, number: int) -> Row:
        """The memory with this id."""
        for each in self.memories:
            if each["id"] == number:
                return each
        raise LookupError(number)

    def insert(self, scope: str, owner: str, persona: str, text: str, source: str) -> Row:
        """D1: a new memory has no unused day, and today counts as used."""
        memory = {
            "id": self.next_number(),
            "scope": scope,
            "owner": owner,
            "persona": "" if scope == "global" else persona,
            "text": text,
            "source": source,
            "protected": False,
            "unused_days": 0,
            "counted_on": self.now.date(),
            "last_matched_at": None,
            "mentions": 1,
            "first_seen": self.now,
            "created_at": self.now,
            "room": "",
            "event": "",
            "private": False,
            "shared": False,
            "rooms": (),
            "tags": (),
            "parts": [],  # of a merged one: what it is made of, as it was
        }
        self.memories.append(memory)
        return memory

    def next_number(self) -> int:
        """An id never used before."""
        self.number += 1
        return self.number

    # --- the search -------------------------------------------------------------------------------------------------

    def search(self, user: str, room: str, persona: str, private: bool, text: str) -> list[Row]:
        """D2-D5: one search a turn, over the room's list and the lists of those who take part.

        Returns what stands in the prompt: what was active before, and what was found (D6).
        """
        heard = [*[each["text"] for each in self.said.get(room, [])], text]
        people = {user, *[each["author"] for each in self.said.get(room, [])]} & self.members[room]
        searched = [*self.room_list(room, persona)]
        for person in people:
            searched += self.list_of(person, persona)
        searched = [each for each in searched if self.usable(each, room, private, heard)]
        if not self.embeds or not self.settings["decay_enabled"] or not clean(text):
            return searched  # D13: every memory is active
        active = [each for each in searched if each["unused_days"] < self.settings["rest_after_days"]]
        ranked = sorted(searched, key=lambda each: (-likeness(each["text"], text), each["id"]))
        found = [each for each in ranked if likeness(each["text"], text) >= self.settings["match_threshold"]][:3]
        today = self.now.date()
        wrote = {each["author"] for each in self.said.get(room, []) if each["at"].date() == today} | {user}
        for memory in searched:
            if memory["counted_on"] > today + timedelta(days=7):
                memory["counted_on"] = today  # D16
            if memory in found:
                self.used(memory)  # D3
            elif memory["counted_on"] < today and (memory["scope"] == "room" or memory["owner"] in wrote):
                memory["unused_days"] += 1  # D4
                memory["counted_on"] = today
        return [*active, *[each for each in found if each not in active]]

    def used(self, memory: Row) -> None:
        """D3."""
        memory["unused_days"] = 0
        memory["last_matched_at"] = self.now
        memory["counted_on"] = self.now.date()


def without(row: Row, event: str) -> list[Row]:
    """What is left of a memory when an event is taken back: what only that had taught goes; a person's own stays.

    A merged one that lacks a part is taken apart: the others come back, seen and counted as it was.
    """
    if event not in row["events"]:
        return [row]
    parts = [left for part in row["parts"] for left in without(part, event)]
    left = {**row, "events": [each for each in row["events"] if each != event], "parts": parts}
    if row["protected"]:
        return [left]
    if len(parts) < len(row["parts"]):
        kept = {key: row[key] for key in ("shared", "rooms", "tags", "unused_days", "counted_on", "last_matched_at")}
        return [{**part, **kept} for part in parts]
    return [left] if left["events"] or row["source"] != "promotion" else []


def changed(row: Row, other: Row) -> bool:
    """P15: text, protection, scope or visibility; counters are no change."""
    if any(row[key] != other[key] for key in ("text", "protected", "scope", "owner", "persona")):
        return True
    return visibility(row) != visibility(other)


def visibility(row: Row) -> tuple[Any, ...]:
    """Words: private origin or not, shared or not, its room limits, its tags."""
    return (row["private"], row["shared"], tuple(sorted(row["rooms"])), tuple(sorted(row["tags"])))


def clean(text: str) -> str:
    """P18: white space collapsed, then control and bidi-override characters removed, trimmed."""
    kept = ""
    for character in text:
        if character.isspace():
            kept += " "
        elif unicodedata.category(character) != "Cc" and character not in BIDI:
            kept += character
    while "  " in kept:
        kept = kept.replace("  ", " ")
    return kept.strip(" ")


def equal(one: str, other: str) -> bool:
    """P9."""
    return flat(one) == flat(other)


def flat(text: str) -> str:
    """P9: NFC, case folding, white space collapsed, trailing .!?… stripped."""
    folded = unicodedata.normalize("NFC", text).casefold()
    folded = " ".join(folded.split())
    while folded and folded[-1] in ".!?… ":
        folded = folded[:-1]
    return folded


def word_in(tag: str, text: str) -> bool:
    """D8: whether a word stands in a text, in any case, and not inside another word."""
    return re.search(rf"(?<!\w){re.escape(tag.casefold())}(?!\w)", text.casefold()) is not None


def likeness(one: str, other: str) -> float:
    """The cosine between two texts that are about some of the WORDS each, or about nothing."""
    first = {word for word in WORDS if word in one.casefold()} or {"nothing"}
    second = {word for word in WORDS if word in other.casefold()} or {"nothing"}
    return len(first & second) / math.sqrt(len(first) * len(second))
