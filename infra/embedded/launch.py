"""Becomes a server that ends with its parent; run as a script in front of every embedded server.

Usage: launch.py PARENT SIGNAL GUARD ACCOUNT COMMAND ...

PARENT is the pid of the caller, SIGNAL the number of the signal that stops the server, GUARD is `prctl` or
`watch`, ACCOUNT is `UID:GID` or `same`. A script and no `preexec_fn`, because running Python between fork and
exec can deadlock when the parent has threads. It uses the standard library alone and starts without `site`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

_PR_SET_PDEATHSIG = 1
_WATCH_SECONDS = 0.5


def _take_account(account: str) -> None:
    if account == "same":
        return
    uid, gid = (int(number) for number in account.split(":"))
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def _ask_kernel(parent: int, stop_signal: int) -> None:
    """The kernel sends the signal when the parent's thread that spawned us ends; it survives exec."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, stop_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        sys.exit("The parent ended before its server began.")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _watch(parent: int, stop_signal: int) -> None:
    """Fork a watcher that stops the server (our own process after exec) once the parent is gone."""
    server = os.getpid()
    if os.fork() != 0:
        return
    while os.getppid() == server:
        if not _exists(parent):
            os.kill(server, stop_signal)
            break
        time.sleep(_WATCH_SECONDS)
    os._exit(0)


def main(arguments: list[str]) -> None:
    parent, stop_signal, guard, account, *command = arguments
    # A change of user clears the parent-death signal, so the account comes first.
    _take_account(account)
    if guard == "prctl":
        _ask_kernel(int(parent), int(stop_signal))
    else:
        _watch(int(parent), int(stop_signal))
    try:
        os.execv(command[0], command)  # noqa: S606 -- no shell is the point
    except OSError as error:
        sys.exit(f"cannot run {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
