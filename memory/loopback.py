"""Whether an address leads back to this machine: what asks servers goes there past any proxy, which could not."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def on_loopback(url: str) -> bool:
    """Whether the host of a URL is this machine, told by the URL alone. Raises ValueError for what cannot be one."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
