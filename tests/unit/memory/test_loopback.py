"""Which addresses lead back to this machine, so that no proxy is asked for them."""

from __future__ import annotations

import pytest

from memory.loopback import on_loopback


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:11434/v1",
        "http://127.8.9.1",
        "http://[::1]:8188/v1",
        "http://localhost:4000",
        "https://LOCALHOST/v1",
        "http://name:key@127.0.0.1:1/",
    ],
)
def test_this_machine(url: str) -> None:
    assert on_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.org/v1",
        "http://192.168.0.7:11434/v1",
        "http://0.0.0.0:1",
        "http://[fe80::1]:1",
        "http://localhost.example.org",
        "http://127.0.0.1.example.org",
        "http://example.org/127.0.0.1",
        "http://127.0.0.1@example.org",
        "",
    ],
)
def test_another_machine(url: str) -> None:
    assert not on_loopback(url)


def test_what_is_no_address_is_not_guessed_at() -> None:
    with pytest.raises(ValueError, match="IPv6"):
        on_loopback("http://[::1")
