"""Cross-signing of the bot's own device, since clients drop or flag devices that their owner has not signed.

nio knows nothing of it: keys and signatures are made and uploaded here, by the Matrix specification's section on
cross-signing. The private seeds stay in one file that only its owner may read.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa
from nio.api import Api

from matrix.client import Client
from matrix.errors import Rejected
from matrix.http import Json, endpoint
from memory.errors import MatrixError

log = logging.getLogger(__name__)

_USAGES = ("master", "self_signing", "user_signing")
_FIX = (
    "other clients may refuse to encrypt for the bot; set matrix.password, or sign the bot's device from another "
    "session of its account"
)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key pair; `seed` is its 32 secret bytes."""

    seed: bytes

    @classmethod
    def generate(cls) -> Self:
        """Return a new random key."""
        return cls(os.urandom(32))

    @property
    def public(self) -> str:
        """The public key in unpadded base64, as Matrix writes keys."""
        return _base64(self._key().public_key().export_key(format="raw"))

    def signed(self, user_id: str, content: Mapping[str, Any]) -> Json:
        """Return a copy of a JSON object with our signature added to those it has."""
        bare = {name: value for name, value in content.items() if name not in {"signatures", "unsigned"}}
        signature = eddsa.new(self._key(), "rfc8032").sign(Api.to_canonical_json(bare).encode())
        signatures = {user: dict(keys) for user, keys in content.get("signatures", {}).items()}
        signatures.setdefault(user_id, {})[f"ed25519:{self.public}"] = _base64(signature)
        return {**bare, "signatures": signatures}

    def _key(self) -> ECC.EccKey:
        return ECC.construct(curve="Ed25519", seed=self.seed)


class CrossSigner:
    """Makes sure that the account has cross-signing keys and that they sign this device."""

    def __init__(self, client: Client, seeds: Path, password: str | None) -> None:
        """`seeds`: the file of the private keys. `password`: for the homeserver to confirm new keys with."""
        self._client = client
        self._seeds = seeds
        self._password = password or None

    async def ensure(self) -> bool:
        """Bring keys and signature to the homeserver where they are missing; whether the device is signed now.

        May be called again at any time. Never raises for what the homeserver says: an unsigned device still works
        with many clients, so the failure is logged with its fix.
        """
        try:
            signed = await self._ensure()
        except MatrixError as error:
            log.warning("the bot's device is not cross-signed (%s): %s", error, _FIX)
            return False
        self._client.signing_due = False
        return signed

    async def _ensure(self) -> bool:
        client, user_id = self._client, self._client.user_id
        answer = await client.request("POST", endpoint("keys", "query"), {"device_keys": {user_id: []}})
        published = _published_master(answer, user_id)
        keys = self._load()
        if published is None:
            keys = keys or self._create()
            await self._upload(keys)
        elif keys is None or published != keys["master"].public:
            log.warning(
                "another client has set up cross-signing for %s: sign device %s there", user_id, client.device_id
            )
            return False
        device = answer.get("device_keys", {}).get(user_id, {}).get(client.device_id)
        if device is None:
            raise MatrixError("the homeserver does not list this device's keys yet")
        own = f"ed25519:{keys['self_signing'].public}"
        if own in device.get("signatures", {}).get(user_id, {}):
            return True
        await self._sign(keys["self_signing"], device)
        log.info("device %s is cross-signed", client.device_id)
        return True

    async def _upload(self, keys: Mapping[str, SigningKey]) -> None:
        user_id = self._client.user_id
        body: Json = {}
        for usage in _USAGES:
            public = keys[usage].public
            content = {"user_id": user_id, "usage": [usage], "keys": {f"ed25519:{public}": public}}
            body[f"{usage}_key"] = content if usage == "master" else keys["master"].signed(user_id, content)
        path = endpoint("keys", "device_signing", "upload")
        try:
            await self._client.request("POST", path, body)
        except Rejected as error:
            if "flows" not in error.body or self._password is None:
                raise
            await self._client.request("POST", path, body | {"auth": self._confirmation(error.body)})

    def _confirmation(self, challenge: Mapping[str, Any]) -> Json:
        return {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self._client.user_id},
            "password": self._password,
            "session": challenge.get("session"),
        }

    async def _sign(self, key: SigningKey, device: Mapping[str, Any]) -> None:
        user_id, device_id = self._client.user_id, str(self._client.device_id)
        if device.get("keys", {}).get(f"ed25519:{device_id}") != self._client.machine.account.identity_keys["ed25519"]:
            raise MatrixError("the homeserver lists other keys for this device than it has")
        body = {user_id: {device_id: key.signed(user_id, device)}}
        answer = await self._client.request("POST", endpoint("keys", "signatures", "upload"), body)
        if answer.get("failures"):
            raise MatrixError("the homeserver did not take the device's signature")

    def _load(self) -> dict[str, SigningKey] | None:
        if not self._seeds.exists():
            return None
        stored = json.loads(self._seeds.read_text("ascii"))
        return {usage: SigningKey(base64.b64decode(stored[usage])) for usage in _USAGES}

    def _create(self) -> dict[str, SigningKey]:
        keys = {usage: SigningKey.generate() for usage in _USAGES}
        stored = {usage: base64.b64encode(key.seed).decode() for usage, key in keys.items()}
        # Written whole before the upload: keys that are published but not kept could never be used again.
        draft = self._seeds.with_suffix(".new")
        with open(draft, "w", encoding="ascii", opener=_private) as file:
            json.dump(stored, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._seeds)
        return keys


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _published_master(answer: Mapping[str, Any], user_id: str) -> str | None:
    keys = answer.get("master_keys", {}).get(user_id, {}).get("keys", {})
    return next(iter(keys.values()), None)
