from collections.abc import Callable
from pathlib import Path

import pytest

REQUIRED = """
[matrix]
homeserver = "https://matrix.example.org"
user_id = "@davenport:example.org"
password = "sesame-open"
"""


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[[str], Path]:
    """Write a config.toml: what must be given, then what the test adds."""

    def write(more: str = "", *, required: str = REQUIRED) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(required + more, encoding="utf-8")
        path.chmod(0o600)
        return path

    return write
