"""What holds over what, and what is left out: pure rules of settings set in chat."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from davenport.in_force import InForce, Misfit, Place, Why, key_in_chat, put, within_bounds
from davenport.settings import Settings
from davenport.settings_fields import Key, all_keys
from davenport.settings_load import Sources, load
from davenport.settings_typed import typed_in_chat

WriteConfig = Callable[..., Path]
ROOM = "!room:hs"
BASE = Settings.model_validate({"matrix": {"homeserver": "https://a", "user_id": "@b:a"}})
SETTABLE = [key for key in all_keys() if key.live and not key.secret and not isinstance(key.field.default, dict)]
SETTABLE = [key for key in SETTABLE if key.dotted != "matrix.admins"]


@pytest.mark.parametrize("key", all_keys(), ids=lambda key: key.dotted)
def test_exactly_what_acts_at_once_and_is_no_secret_and_no_table_can_be_set(key: Key) -> None:
    try:
        key_in_chat(Place(key.dotted), Sources())
    except Misfit as misfit:
        assert key not in SETTABLE
        assert misfit.why in {Why.SECRET, Why.FILE, Why.RESTART}
    else:
        assert key in SETTABLE


@pytest.mark.parametrize("key", SETTABLE, ids=lambda key: key.dotted)
def test_every_default_can_be_typed_as_it_is_shown(key: Key) -> None:
    """As TOML; where nothing is the default, an empty text is nothing."""
    value, as_json = within_bounds(key, typed_in_chat(key, key.default or '""'), BASE)
    assert value == getattr(getattr(BASE, key.section), key.name)
    settings = put(BASE, {Place(key.dotted): as_json}, Sources()).settings
    assert settings == BASE


@pytest.mark.parametrize("key", SETTABLE, ids=lambda key: key.dotted)
def test_only_keys_of_the_scope_room_have_a_value_for_a_room(key: Key) -> None:
    value = getattr(getattr(BASE, key.section), key.name)
    outcome = put(BASE, {Place(key.dotted, ROOM): value}, Sources())
    if key.scope == "room":
        assert outcome.misfits == {}
        assert key.name in getattr(outcome.settings.rooms[ROOM], key.section).model_fields_set
    else:
        assert outcome.misfits[Place(key.dotted, ROOM)].why is Why.NOT_OF_ROOM
        assert outcome.settings == BASE


@given(
    everywhere=st.none() | st.integers(1, 9),
    of_room=st.none() | st.integers(1, 9),
    in_file=st.none() | st.integers(1, 9),
    for_room_in_file=st.none() | st.integers(1, 9),
)
def test_the_strongest_that_is_set_holds(
    everywhere: int | None, of_room: int | None, in_file: int | None, for_room_in_file: int | None
) -> None:
    rooms = {} if for_room_in_file is None else {ROOM: {"context": {"max_messages": for_room_in_file}}}
    context = {} if in_file is None else {"max_messages": in_file}
    matrix = {"homeserver": "https://a", "user_id": "@b:a"}
    base = Settings.model_validate({"matrix": matrix, "context": context, "rooms": rooms})
    places = {Place("context.max_messages"): everywhere, Place("context.max_messages", ROOM): of_room}
    settings = put(base, {place: value for place, value in places.items() if value is not None}, Sources()).settings
    own = settings.rooms.get(ROOM)
    here = own.context.max_messages if own is not None else settings.context.max_messages
    assert here == next(v for v in (of_room, for_room_in_file, everywhere, in_file, 20) if v is not None)
    assert settings.context.max_messages == next(v for v in (everywhere, in_file, 20) if v is not None)


def test_values_that_are_right_only_together_are_taken_in_any_order(write_config: WriteConfig) -> None:
    config = '[llm]\nassistant_model = "x"\nmemory_model = "y"\n[llm.prices.a]\ninput = 1\noutput = 1\n'
    base = load(write_config(config), {})
    together = {
        Place("llm.budget_unit"): "currency",
        Place("llm.daily_budget"): 5.0,
        Place("llm.assistant_model"): "a",
        Place("llm.memory_model"): "",
    }
    assert put(base, together, Sources()).misfits == {}
    broken = {**together, Place("llm.max_tokens"): 0}
    outcome = put(base, broken, Sources())
    assert {place.key: misfit.why for place, misfit in outcome.misfits.items()} == {"llm.max_tokens": Why.BOUNDS}
    assert outcome.settings.llm.budget_unit == "currency"
    lacking = {place: value for place, value in together.items() if place.key != "llm.memory_model"}
    outcome = put(base, lacking, Sources())
    assert {misfit.why for misfit in outcome.misfits.values()} == {Why.PRICE}
    assert outcome.settings.llm.assistant_model == "a"  # what fits is taken all the same


def test_followers_hear_of_changes_alone_and_of_a_misfit_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    in_force = InForce(BASE)
    heard: list[int] = []
    in_force.follow(lambda settings: heard.append(settings.memory.max_per_user))
    place = Place("memory.max_per_user")
    for value in (50, 6, 6, 0, 0, 7):
        in_force.override({place: value})
    assert heard == [50, 6, 50, 7]
    assert [record.getMessage() for record in caplog.records] == [
        "what was set in chat for memory.max_per_user does not act: its value is not allowed (any more)"
    ]
