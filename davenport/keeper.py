"""Runs one command for a parent and never lets it outlive that parent, however the parent ends.

    python keeper.py FOLDER COMMAND ...

The parent holds the other end of this process's stdin. When that end closes without the command having ended, the
parent was killed: the command is killed too, and FOLDER, the parent's temporary folder, is removed. In the ordinary
case the parent signals the process group, the command ends, and so does this process, with the same status.

Run as a file, by the standard library alone, so that it starts at once.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading


def main(folder: str, *command: str) -> int:
    """Run the command to its end, or to the end of the parent; return its status."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Meant for the command, which is in the same process group. SIG_IGN would be handed down to it.
        signal.signal(number, lambda *_: None)
    abandoned = threading.Event()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as child:  # noqa: S603 - the parent's own command

        def watch() -> None:
            while os.read(0, 1024):
                continue
            abandoned.set()
            child.kill()

        threading.Thread(target=watch, daemon=True).start()
        status = child.wait()
    if abandoned.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
