"""What bench.dialogue measured, as tables: for the terminal, and as docs/decay-measured.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from bench.dialogue_days import Day
from llm.offline.usage import count_tokens
from memory.model import Usage
from memory.settings import ContextSettings, MemorySettings

ANSWER = "That is good to hear, thank you for telling me. How did it go on from there, and what comes next for you?"
PAUSE = timedelta(minutes=1)  # from one message of a session to the next
WRITE, READ = 1.25, 0.1  # what a token costs that is written to the cache or read from it; 1: one that is neither


@dataclass(frozen=True)
class Limits:
    """memory.max_per_user and memory.capacity_personal of a run."""

    name: str
    per_user: int
    capacity: int

    @classmethod
    def both(cls) -> tuple[Self, Self]:
        """Return limits that leave no fact out, and the defaults."""
        rules = MemorySettings()
        return cls("no limit", 1000, 1000), cls("default limits", rules.max_per_user, rules.capacity_personal)


@dataclass(frozen=True)
class Measured:
    """One chat day. usage: of each reply. active, resting: memories of its people when it ended. recalled: in replies,
    counted each time."""

    day: Day
    usage: tuple[Usage, ...]
    active: int
    resting: int
    recalled: int


@dataclass(frozen=True)
class Sums:
    """Tokens of some replies."""

    replies: int
    tokens: int
    read: int
    written: int

    @classmethod
    def of(cls, usage: Iterable[Usage]) -> Self:
        each = list(usage)
        read = sum(one.cache_read_tokens for one in each)
        written = sum(one.cache_write_tokens for one in each)
        return cls(len(each), sum(one.input_tokens for one in each) + read + written, read, written)

    @property
    def each(self) -> float:
        """Prompt tokens a reply, however they were paid for."""
        return self.tokens / self.replies

    @property
    def share_read(self) -> float:
        return self.read / self.tokens

    @property
    def paid(self) -> float:
        """What a reply costs, in tokens at the plain price."""
        plain = self.tokens - self.read - self.written
        return (plain + WRITE * self.written + READ * self.read) / self.replies


@dataclass(frozen=True)
class Run:
    """All days with decay on or off."""

    limits: Limits
    decay: bool
    days: tuple[Measured, ...]

    def of(self, conversation: str) -> list[Measured]:
        return [each for each in self.days if each.day.conversation == conversation]

    @property
    def conversations(self) -> list[str]:
        return sorted({each.day.conversation for each in self.days})

    @property
    def sums(self) -> Sums:
        return Sums.of(usage for each in self.days for usage in each.usage)

    @property
    def last_quarter(self) -> Sums:
        """Of the last quarter of each conversation's days."""
        late = (day for name in self.conversations for day in self.of(name)[-(len(self.of(name)) // 4) :])
        return Sums.of(usage for day in late for usage in day.usage)

    @property
    def full(self) -> list[int]:
        """The day of each conversation after which its lists grew no more."""
        sizes = [[each.active + each.resting for each in self.of(name)] for name in self.conversations]
        return [each.index(each[-1]) + 1 for each in sizes]

    @property
    def at_the_end(self) -> tuple[int, int]:
        """Memories active and resting after the last day of each conversation."""
        last = [self.of(name)[-1] for name in self.conversations]
        return sum(each.active for each in last), sum(each.resting for each in last)


_SUMMARY = (
    "Run",
    "prompt tokens a reply",
    "of these read from cache",
    "paid a reply",
    "tokens a reply in the last quarter",
    "paid a reply in the last quarter",
    "active at the end",
    "resting at the end",
    "recalled",
)
_BY_DAY = (
    "Day",
    "Date",
    "Replies",
    "tokens on",
    "tokens off",
    "cached on",
    "cached off",
    "paid on",
    "paid off",
    "active",
    "resting",
    "recalled",
)


def _summary(runs: Sequence[Run]) -> list[list[str]]:
    rows = []
    for run in runs:
        sums, late, (active, resting) = run.sums, run.last_quarter, run.at_the_end
        rows.append(
            [
                f"decay {'on' if run.decay else 'off'}, {run.limits.name}",
                f"{sums.each:,.0f}",
                f"{sums.share_read:.1%}",
                f"{sums.paid:,.0f}",
                f"{late.each:,.0f}",
                f"{late.paid:,.0f}",
                f"{active:,}",
                f"{resting:,}",
                f"{sum(each.recalled for each in run.days):,}",
            ]
        )
    return rows


def _by_day(on: Run, off: Run, conversation: str) -> list[list[str]]:
    rows = []
    for one, other in zip(on.of(conversation), off.of(conversation), strict=True):
        with_decay, without = Sums.of(one.usage), Sums.of(other.usage)
        rows.append(
            [
                str(one.day.number),
                one.day.begins.date().isoformat(),
                str(with_decay.replies),
                f"{with_decay.each:,.0f}",
                f"{without.each:,.0f}",
                f"{with_decay.share_read:.0%}",
                f"{without.share_read:.0%}",
                f"{with_decay.paid:,.0f}",
                f"{without.paid:,.0f}",
                str(one.active),
                str(one.resting),
                str(one.recalled),
            ]
        )
    return rows


def printed(runs: Sequence[Run]) -> str:
    """Return all tables as aligned columns."""
    tables = [_aligned(_SUMMARY, _summary(runs))]
    on, off = runs[:2]
    tables += [f"{name}, {on.limits.name}\n{_aligned(_BY_DAY, _by_day(on, off, name))}" for name in on.conversations]
    return "\n\n".join(tables)


def page(runs: Sequence[Run], embedder: str) -> str:
    """Return docs/decay-measured.md."""
    on, off = runs[:2]
    days, facts = len(on.days), sum(len(message.facts) for each in on.days for message in each.day.messages)
    parts = [
        _HEAD.format(
            days=days,
            rooms=len(on.conversations),
            replies=f"{on.sums.replies:,}",
            facts=facts,
            answer=count_tokens(ANSWER),
            window=ContextSettings().max_messages,
            threshold=MemorySettings().promotion_threshold,
            per_user=runs[2].limits.per_user,
            capacity=runs[2].limits.capacity,
            embedder=embedder,
            write=WRITE,
            read=READ,
        ),
        _markdown(_SUMMARY, _summary(runs)),
        _READING.format(no_limit=_compared(on, off), limit=_compared(*runs[2:]), full=max(runs[3].full)),
        "## Day by day\n\n![Prompt tokens a reply, share read from cache, and memories by day](dialogue.svg)\n",
        "On: with decay; off: without, where every memory is active. Active, resting and recalled are with decay.\n"
        "Nothing is left out for a limit.\n",
    ]
    parts += [f"### {name}\n\n{_markdown(_BY_DAY, _by_day(on, off, name))}" for name in on.conversations]
    return "\n".join(parts)


def _compared(on: Run, off: Run) -> str:
    """Say how a reply of the last quarter of the days changes with decay."""
    tokens = on.last_quarter.each / off.last_quarter.each - 1
    paid = on.last_quarter.paid / off.last_quarter.paid - 1
    return f"{tokens:+.0%} prompt tokens a reply and {paid:+.0%} paid"


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    sides = [":--", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, sides, *rows)) + "\n"


_HEAD = """\
# What decay saves, measured

Written by `python -m bench.dialogue`, which leads {days} dated sessions of dialogue (LoCoMo, CC BY-NC 4.0, {rooms}
conversations of two people each) end to end through the bot as chat days: {replies} messages, each one answered, one a
minute within a session. Between sessions lie days or weeks, by the moved clock.

- **Facts**: the {facts} observations that the data set lists, each learned from the message it fits best. As each is
  stated once, one mention makes a memory here (`memory.promotion_threshold` 1; the default is {threshold}).
- **Limits**: first none that would leave a fact out, then the defaults (`memory.max_per_user` {per_user},
  `memory.capacity_personal` {capacity}).
- **Answers** are scripted, always the same {answer} tokens. The window holds {window} messages, as by default.
- **Recall** is the built-in embedder's (`{embedder}`) at its own threshold.
- **Tokens and cache** are as the offline server counts them, see `llm/offline/usage.py`: a token is up to four letters
  or digits in a row or one other character; a breakpoint caches at least 1,024 tokens for five minutes from the last
  hit. "Paid" is in tokens at the plain price: one written to the cache weighs {write}, one read from it {read}, as the
  Messages API prices them.
"""

_READING = """\
The last quarter of each conversation's days, with decay against without:

- with nothing left out, {no_limit};
- at the default limits, {limit}.

What that means. Decay makes prompts shorter, the more the longer people talk. The start of a prompt is written to the
cache at the beginning of each session, where the last one has expired, and anew whenever a memory in it is learned or
moves. Without a limit something is learned all the time, so a shorter start costs less. At the default limits nobody
here has room for another fact after day {full}; from then on, without decay, nothing in the start changes any more and
nearly all of it is read, while with decay memories still rest and return. "Recalled" counts a resting memory each time
it was added to a reply.
"""
