"""One tiny call of each model in use, to see whether key, address and names are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from llm.client import AnthropicModel
from llm.settings import LlmSettings
from memory.errors import ModelError
from memory.model import Block, Prompt, PromptMessage, ToolCall, ToolResult

SECONDS = 30.0
TOKENS = 256  # what a model that thinks first needs for one word
_PROMPT = Prompt((), (PromptMessage("user", (Block("Answer with the one word: yes"),)),))


async def probe(settings: LlmSettings) -> Mapping[str, str]:
    """Ask each model for one word; return the cause by name for those that did not answer."""
    faults = {}
    seconds = min(settings.timeout_seconds, SECONDS)
    for name in dict.fromkeys((settings.assistant_model, settings.extraction_model)):
        one = replace(settings, assistant_model=name, max_tokens=TOKENS, timeout_seconds=seconds, max_retries=0)
        model = AnthropicModel(one)
        try:
            await model.reply(_PROMPT, (), _no_tool)
        except ModelError as error:
            faults[name] = str(error)
        finally:
            await model.aclose()
    return faults


async def _no_tool(call: ToolCall) -> ToolResult:
    return ToolResult("There is no such tool.", is_error=True)
