"""What of the crypto folder is made private."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import cast

from matrix.account import Account
from matrix.ports import AccountStore


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_files_of_the_folder_itself_are_made_private(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "crypto", tmp_path / "elsewhere"
    (folder / "sub").mkdir(parents=True)
    for file in (elsewhere, folder / "keys.db", folder / "sub" / "file"):
        file.touch()
        file.chmod(0o644)
    (folder / "sub").chmod(0o755)
    (folder / "link").symlink_to(elsewhere)
    (folder / "dangling").symlink_to(tmp_path / "nowhere")
    store = cast(AccountStore, None)  # is not asked
    account = Account(store, homeserver="http://hs", user="@bot:hs", password=None, data_dir=tmp_path)
    account._folder_is_private()
    assert mode(folder / "keys.db") == 0o600
    assert (mode(elsewhere), mode(folder / "sub"), mode(folder / "sub" / "file")) == (0o644, 0o755, 0o644)
