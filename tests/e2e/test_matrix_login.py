"""Login, renewal of tokens, cross-signing, and what the sender refuses, over a real Synapse."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import vodozemac
from nio.api import Api

from davenport.homeserver import Homeserver
from matrix.account import Account
from matrix.http import endpoint
from matrix.person import MemoryAccountStore
from memory.errors import LoginFailed, MatrixError
from memory.events import Answer
from tests.e2e.conftest import NewUser, People
from tests.e2e.matrix_bot import MatrixBot, outbox_row
from tests.e2e.people import PASSWORD
from tests.e2e.test_matrix_rooms import ROOMS, room_with

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]


async def devices(bot: MatrixBot) -> list[str]:
    answer = await bot.client.request("GET", endpoint("devices"))
    return [device["device_id"] for device in answer["devices"]]


async def test_restart_keeps_token_device_and_keys(matrix_bot: MatrixBot) -> None:
    token, device_id = matrix_bot.client.access_token, matrix_bot.client.device_id
    identity = matrix_bot.client.machine.account.identity_keys
    await matrix_bot.stop()
    matrix_bot.password = None  # not needed any more
    await matrix_bot.start()
    assert (matrix_bot.client.access_token, matrix_bot.client.device_id) == (token, device_id)
    assert matrix_bot.client.machine.account.identity_keys == identity
    assert await devices(matrix_bot) == [device_id]


async def test_key_files_are_for_their_owner_only(matrix_bot: MatrixBot) -> None:
    folder = matrix_bot.folder / "crypto"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


async def test_homeserver_has_a_fallback_key_for_when_the_others_run_out(people: People, matrix_bot: MatrixBot) -> None:
    alice, device_id = await people("alice"), str(matrix_bot.client.device_id)
    claim = {"one_time_keys": {matrix_bot.client.user_id: {device_id: "signed_curve25519"}}}
    for _ in range(60):
        answer = await alice.client.request("POST", endpoint("keys", "claim"), claim)
        [key] = answer["one_time_keys"][matrix_bot.client.user_id][device_id].values()
        if key.get("fallback"):
            break
    assert key.get("fallback"), "no fallback key was ever handed out"


@pytest.mark.parametrize("with_refresh_token", [True, False], ids=["by refresh token", "by password"])
async def test_rejected_token_is_renewed_for_the_same_device(
    people: People, matrix_bot: MatrixBot, with_refresh_token: bool
) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    await matrix_bot.hears(await alice.say(room_id, "before"))
    device_id, stored = matrix_bot.client.device_id, json.loads(matrix_bot.account_store.values["matrix.login"])
    if not with_refresh_token:
        await matrix_bot.account_store.set("matrix.login", json.dumps({**stored, "refresh_token": "syr_spent"}))
        await matrix_bot.stop()
        await matrix_bot.start()
    matrix_bot.client.access_token = "syt_expired"

    await matrix_bot.hears(await alice.say(room_id, "after"))
    renewed = json.loads(matrix_bot.account_store.values["matrix.login"])
    assert renewed["access_token"] not in {stored["access_token"], "syt_expired"}
    assert renewed["device_id"] == device_id
    assert await devices(matrix_bot) == [device_id]


async def test_wrong_password_names_the_key(homeserver: Homeserver, new_user: NewUser, tmp_path: Path) -> None:
    user_id = await new_user("davenport")
    account = Account(
        MemoryAccountStore(), homeserver=homeserver.url, user=user_id, password="wrong", data_dir=tmp_path
    )
    with pytest.raises(LoginFailed, match=r"matrix\.password"):
        await account.connect()


async def test_data_folder_of_another_account_is_refused(matrix_bot: MatrixBot) -> None:
    await matrix_bot.stop()
    matrix_bot.user = "@somebody-else:localhost"
    with pytest.raises(LoginFailed, match=r"matrix\.user"):
        await matrix_bot.start()


async def test_unreachable_homeserver_is_not_permanent(tmp_path: Path) -> None:
    account = Account(
        MemoryAccountStore(), homeserver="http://127.0.0.1:9", user="davenport", password="x", data_dir=tmp_path
    )
    with pytest.raises(MatrixError) as caught:
        await account.open()
    assert not caught.value.permanent


async def test_outage_is_waited_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "matrix.backoff")
    async with Homeserver() as homeserver:
        bot = MatrixBot(homeserver.url, await homeserver.register("davenport", PASSWORD), PASSWORD, tmp_path / "bot")
        await bot.start()
        batches = bot.journal.batches
        await homeserver.stop()
        async with asyncio.timeout(30):
            while not any("trying on" in record.message for record in caplog.records):  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.01)
        await homeserver.start()
        await bot.journal.until(lambda: bot.journal.batches > batches, seconds=90)  # pauses between tries grow
        await bot.stop()
    said = [record.message for record in caplog.records if record.name == "matrix.backoff"]
    assert len(said) == 2, "one line when the outage begins, one when it ends"
    assert all(homeserver.url in line for line in said)


# --- cross-signing ------------------------------------------------------------------------------------------------


def signed_by(key_object: dict[str, Any], user_id: str, public: str) -> bool:
    """Verify a signature with another library than it was made with."""
    bare = {name: value for name, value in key_object.items() if name not in {"signatures", "unsigned"}}
    signature = key_object["signatures"][user_id][f"ed25519:{public}"]
    try:
        vodozemac.Ed25519PublicKey.from_base64(public).verify_signature(
            Api.to_canonical_json(bare).encode(), vodozemac.Ed25519Signature.from_base64(signature)
        )
    except vodozemac.SignatureException:
        return False
    return True


async def published(person: Any, bot: MatrixBot) -> dict[str, Any]:
    user_id = bot.client.user_id
    return await person.client.request("POST", endpoint("keys", "query"), {"device_keys": {user_id: []}})


async def test_device_is_signed_as_another_account_sees_it(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    assert await matrix_bot.signer.ensure()
    user_id = matrix_bot.client.user_id
    keys = await published(alice, matrix_bot)
    [master] = keys["master_keys"][user_id]["keys"].values()
    self_signing = keys["self_signing_keys"][user_id]
    [signer] = self_signing["keys"].values()
    device = keys["device_keys"][user_id][matrix_bot.client.device_id]
    assert signed_by(self_signing, user_id, master)
    assert signed_by(device, user_id, signer)
    assert (
        device["keys"][f"ed25519:{matrix_bot.client.device_id}"]
        == (matrix_bot.client.machine.account.identity_keys["ed25519"])
    )


async def test_signing_again_changes_nothing(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    assert await matrix_bot.signer.ensure()
    before = await published(alice, matrix_bot)
    await matrix_bot.stop()
    await matrix_bot.start()
    assert await matrix_bot.signer.ensure()
    assert await published(alice, matrix_bot) == before


# --- sending ------------------------------------------------------------------------------------------------------


async def test_no_plaintext_in_an_encrypted_room_after_nios_store_was_lost(
    people: People, matrix_bot: MatrixBot
) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    asked = await alice.say(room_id, "hello")
    await matrix_bot.hears(asked)
    old_device = matrix_bot.client.device_id
    await matrix_bot.stop()
    shutil.rmtree(matrix_bot.folder / "crypto")
    await matrix_bot.start()
    assert matrix_bot.client.device_id != old_device, "nobody would trust new keys of an old device"

    room = matrix_bot.client.rooms[room_id]
    room.encrypted = False  # whatever nio thinks
    matrix_bot.client.encrypted_rooms.clear()
    [content] = matrix_bot.sender.render(Answer(room_id, asked, alice.user_id, "still here"))
    sent = await matrix_bot.sender.send(outbox_row(room_id, content, event_id=asked))
    answer = await alice.wait_for_answer(asked)
    assert (answer.event_id, answer.encrypted, answer.body) == (sent, True, "still here")


@ROOMS
async def test_room_that_nio_does_not_know_yet_is_loaded_first(
    people: People, matrix_bot: MatrixBot, encrypted: bool
) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=encrypted)
    asked = await alice.say(room_id, "hello")
    await matrix_bot.hears(asked)
    matrix_bot.client.rooms.clear()
    matrix_bot.client.encrypted_rooms.clear()
    [content] = matrix_bot.sender.render(Answer(room_id, asked, alice.user_id, "hello you"))
    await matrix_bot.sender.send(outbox_row(room_id, content, event_id=asked))
    answer = await alice.wait_for_answer(asked)
    assert (answer.body, answer.encrypted) == ("hello you", encrypted)


async def test_forbidden_room_is_a_permanent_error(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await alice.create_room()
    with pytest.raises(MatrixError) as caught:
        await matrix_bot.sender.send(outbox_row(room_id, '{"msgtype": "m.text", "body": "x"}'))
    assert caught.value.permanent


async def test_failed_key_sharing_is_made_up_for(
    people: People, matrix_bot: MatrixBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A room key that the homeserver did not take is sent again before the next try to send the event."""
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    asked = await alice.say(room_id, "hello")
    await matrix_bot.hears(asked)
    [content] = matrix_bot.sender.render(Answer(room_id, asked, alice.user_id, "readable"))
    row = outbox_row(room_id, content, event_id=asked)
    request = matrix_bot.client.request

    async def busy(method: str, path: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        if "/sendToDevice/" in path:
            raise MatrixError("busy", retry_after=0.1)
        return await request(method, path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(matrix_bot.client, "request", busy)
        with pytest.raises(MatrixError, match="busy"):
            await matrix_bot.sender.send(row)
    await matrix_bot.sender.send(row)
    assert (await alice.wait_for_answer(asked)).body == "readable"


async def test_events_of_an_old_device_are_found_again(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    asked = await alice.say(room_id, "hello")
    await matrix_bot.hears(asked)
    [content] = matrix_bot.sender.render(Answer(room_id, asked, alice.user_id, "hello you"))
    row = outbox_row(room_id, content, event_id=asked)
    sent = await matrix_bot.sender.send(row)
    await matrix_bot.stop()
    shutil.rmtree(matrix_bot.folder / "crypto")
    await matrix_bot.start()
    assert await matrix_bot.sender.find_sent(row) == sent
