"""What the SDK and its HTTP library raise, as the errors of this project.

The messages are for operators: status, kind and request id, never the key, the prompt or what the server wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import anthropic
import httpx2

from memory.errors import ModelError, ModelRequestInvalid, ModelRequestRefused, ModelUnavailable

_KIND = re.compile(r"[a-z_]{1,60}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")


# The SDK's own errors, its HTTP library's, and the bare ones it raises where a server sends garbage.
_RAISED = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,  # TimeoutError among them
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RuntimeError,
    AssertionError,
)

_REQUEST_FAULTS = frozenset(range(400, 500)) - {401, 402, 403, 407, 408, 425, 429}
_NOT_TAKEN = frozenset({400, 413, 415, 422})


@contextmanager
def as_model_errors(timeout_seconds: float) -> Iterator[None]:
    """Turn what a model call raises into ModelError; ModelUnavailable where any would fail. Cancellation passes.

    ModelRequestRefused where this request alone was not taken. ModelRequestInvalid where the text cannot be sent; what
    cannot be decoded, though, came from the server.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise ModelRequestInvalid(f"the request cannot be built ({type(error).__name__})") from None
    except _RAISED as error:
        kind = _kind_of(error)
        # Not chained: the SDK's texts quote what the server wrote, which may quote the prompt.
        raise kind(_cause(error, timeout_seconds)) from None


def _is_answer(error: Exception) -> bool:
    """Whether the server works and only this request was wrong, such as 400, 404 or 413.

    A key that is not taken (401, 402, 403) is no such answer: it concerns every request until somebody mends it. An
    error within a stream comes with the status of the stream, 200.
    """
    return isinstance(error, anthropic.APIStatusError) and error.status_code in _REQUEST_FAULTS


def _kind_of(error: Exception) -> type[ModelError]:
    if not _is_answer(error):
        return ModelUnavailable
    return ModelRequestRefused if getattr(error, "status_code", None) in _NOT_TAKEN else ModelError


def _cause(error: Exception, timeout_seconds: float) -> str:
    if isinstance(error, anthropic.APIStatusError):
        return _status_cause(error)
    if isinstance(error, TimeoutError):
        return f"no whole answer within {timeout_seconds:g} s (llm.timeout_seconds)"
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return "the model server stopped answering"
    if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError)):
        return f"the model server cannot be reached or broke off ({_origin(error)})"
    return f"the model server sent what is no answer ({type(error).__name__})"


def _origin(error: Exception) -> str:
    """Return the class name of what lies beneath, such as ConnectError."""
    return type(error.__cause__ or error).__name__


def _status_cause(error: anthropic.APIStatusError) -> str:
    kind = str(error.type) if error.type and _KIND.fullmatch(str(error.type)) else "no kind given"
    request = str(error.request_id or "")
    suffix = f", request {request}" if _REQUEST_ID.fullmatch(request) else ""
    hint = "; check llm.api_key" if error.status_code in (401, 403) else ""
    return f"the model server answered with status {error.status_code} ({kind}{suffix}){hint}"
