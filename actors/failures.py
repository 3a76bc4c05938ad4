"""What a person is told of a turn that failed."""

from __future__ import annotations

from memory.errors import (
    BudgetSpent,
    MediaFailed,
    ModelError,
    ModelKeyMissing,
    ModelPaused,
    PaintingFailed,
    Refused,
)
from texts.catalogue import Speaker

_OF_MODEL: dict[type[ModelError], str] = {  # ids of texts
    ModelKeyMissing: "model-key-missing",
    ModelPaused: "model-paused",
    BudgetSpent: "budget-spent",
    PaintingFailed: "painter-failed",
}


def sentence(say: Speaker, error: ModelError | Refused | MediaFailed) -> str:
    """Return the sentence that says why there is no answer, or no picture; causes are for the log."""
    match error:
        case Refused():
            return say.refusal(error)
        case MediaFailed():
            return say("draw-failed")
        case _:
            return say(_OF_MODEL.get(type(error), "model-failed"))
