"""The fallback key of a device, which nio does not know of."""

from __future__ import annotations

from typing import Any

from nio.crypto.olm_machine import Olm

from matrix.http import Json

FALLBACK_TYPE = "signed_curve25519"


def fallback_keys(machine: Olm, user_id: str) -> Json:
    """Generate a fallback key, signed; it stands in when one-time keys ran out and is replaced once it was used."""
    account: Any = machine.account._account  # nio has no way to fallback keys
    account.generate_fallback_key()
    keys: Json = {}
    for key_id, key in account.fallback_key.items():
        signed: Json = {"key": key.to_base64(), "fallback": True}
        signature = machine.sign_json(signed)
        signed["signatures"] = {user_id: {f"ed25519:{machine.device_id}": signature}}
        keys[f"{FALLBACK_TYPE}:{key_id}"] = signed
    return keys
