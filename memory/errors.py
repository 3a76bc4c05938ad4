"""The error tree. Each adapter maps its library's errors onto one of these at its boundary.

Only a Refused is for the person who asked, and it holds no sentence but the id of one; the message of every other
error is English for operators.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory.model import Usage


class DavenportError(Exception):
    """Base of every error of this project."""


class Refused(DavenportError):
    """Something a person asked for cannot be done; the sentence of this id says why and what to do instead.

    `values` go into that sentence; they may be what people wrote, so the error's own text is the id alone.
    """

    def __init__(self, text_id: str, /, **values: str | int) -> None:
        """`text_id`: an entry of texts/davenport.pot."""
        super().__init__(text_id)
        self.text_id = text_id
        self.values = values


class Declined(DavenportError):
    """Something an operator asked of the running bot cannot be done; the message says why."""


class SettingsError(DavenportError):
    """A setting is missing, unknown or out of bounds; the message names key, file and what is allowed."""


class StorageError(DavenportError):
    """The database cannot be used; the message names the file and the fix."""


class EmbeddingError(DavenportError):
    """A text could not be embedded (D7, D17)."""


class ModelError(DavenportError):
    """The model gave no usable answer: unreachable, timed out, cut off, refused or over its limits."""

    def __init__(self, message: str, usage: Iterable[Usage] = ()) -> None:
        """`usage`: what the calls cost all the same, as far as the API said so."""
        super().__init__(message)
        self.usage = tuple(usage)


class ModelUnavailable(ModelError):
    """The model's server serves nobody just now: unreachable, overloaded, timed out, or it does not take the key."""


class ModelRequestInvalid(ModelError):
    """The request could not be built, so nothing was sent: it says nothing of the server."""


class ModelRequestRefused(ModelError):
    """The model's server works, but does not take a request like this one."""


class ModelPaused(ModelError):
    """The model was not asked, since its server failed time after time; it is tried again in a while."""


class BudgetSpent(ModelError):
    """The model was not asked, since what it may cost today is spent."""


class ModelKeyMissing(ModelError):
    """No API key is configured for the provider."""


class ModelAnswerInvalid(ModelError):
    """The model answered, but not in the shape that was asked for (P17)."""


class PaintingFailed(ModelError):
    """The server that paints gave no usable picture; its causes are those of a model."""


class MediaFailed(DavenportError):
    """No picture or document could be worked on: the process for it could not be had, or it broke."""


class MatrixError(DavenportError):
    """The homeserver refused or could not be reached."""

    def __init__(self, message: str, *, retry_after: float | None = None, permanent: bool = False) -> None:
        """`retry_after` in seconds, where the homeserver named it; `permanent` when trying again cannot help."""
        super().__init__(message)
        self.retry_after = retry_after
        self.permanent = permanent


class LoginFailed(MatrixError):
    """The homeserver does not accept the configured credentials; the message names the key."""


class ActorFailed(DavenportError):
    """A handler raised; the asker is told so instead of waiting for ever."""


class Stopping(DavenportError):
    """The bot is shutting down and takes no new work."""
