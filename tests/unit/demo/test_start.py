"""What the demo cannot do is refused in one line, before anything starts."""

from pathlib import Path

import pytest

from davenport.demo import Options, demo


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(chat=True, provider="anthropic"), "--provider anthropic needs a key: set ANTHROPIC_API_KEY"),
        (Options(chat=True, script=Path("x.toml")), "--chat goes with neither --script nor --picture"),
        (Options(script=Path("no-such.toml")), "no-such.toml: there is no such file"),
        (Options(picture=Path("/no/such/folder/x.svg")), "/no/such/folder/x.svg: no picture can be written there"),
        (Options(picture=Path("/")), "/: no picture can be written there"),
    ],
)
def test_a_refusal_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: Options, said: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert demo(options) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(said)
    assert list(tmp_path.iterdir()) == []
