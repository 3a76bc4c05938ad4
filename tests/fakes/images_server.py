"""A real HTTP server that speaks `/v1/images/generations`, with a script for its faults.

    async with ImagesServer() as server:
        painter = OpenAiPainter(server.settings())

`picky`: it refuses to be asked for base64, as models do that give nothing else; without that request it then sends
base64 too.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from media.settings import PainterSettings
from tests.fakes.scripted_server import Json, ScriptedServer, Step

KEY = "sk-images-secret"
MODEL = "test-painter"
PICTURE = b"\x89PNG as painted"


class ImagesServer(ScriptedServer):
    """See the module."""

    path = "/v1/images/generations"

    def __init__(self, *steps: Step, picky: bool = False, picture: bytes = PICTURE) -> None:
        super().__init__(*steps)
        self.picky = picky
        self.picture = picture

    def settings(self, **changes: Any) -> PainterSettings:
        base = PainterSettings("openai", self.base_url, MODEL, "512x512", SecretStr(KEY), timeout_seconds=5.0)
        return replace(base, **changes)

    def refusal(self, body: Json) -> Step | None:
        if not self.picky or "response_format" not in body:
            return None
        message = {"message": "Unknown parameter: 'response_format'.", "param": "response_format", "code": None}
        return Step(status=400, raw=json.dumps({"error": message}).encode())

    def usual(self, body: Json) -> Json:
        return {"created": 1, "data": [{"b64_json": base64.b64encode(self.picture).decode()}]}
