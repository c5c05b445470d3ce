"""Which server is asked, and where the user's daemon listens."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ._errors import AgentKernelError

_DEFAULT_URL = "http://localhost:8080"
START_HINT = (
    "Start a server with `agentkernel daemon start` or `agentkernel serve`, or name another in AGENTKERNEL_BASE_URL."
)
_EXPECTED = "give http://host:port, https://host:port or unix:///path/to/socket"


@dataclass(frozen=True)
class Place:
    url: str
    socket: str | None
    """Of a Unix socket; then the URL only stands for it."""

    def local_token(self) -> str | None:
        """
        What stands for the user at a server of theirs on loopback, which writes it to a file that only the user can
        read. Read for each request: a server makes a new one when it starts.
        """
        parts = urlsplit(self.url)
        if self.socket is not None or not re.fullmatch(r"localhost|127(\.\d{1,3}){3}|::1", parts.hostname or ""):
            return None
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            return (_state_folder() / "agentkernel/api-tokens" / str(port)).read_text().strip() or None
        except (FileNotFoundError, PermissionError):
            return None


def find_place(base_url: str | None) -> Place:
    """What is said outright, else AGENTKERNEL_BASE_URL, else the socket of the user's daemon if there is one, else localhost:8080."""
    named = base_url or os.environ.get("AGENTKERNEL_BASE_URL")
    if not named:
        socket = _daemon_socket()
        return Place(_DEFAULT_URL, None) if socket is None else Place("http://localhost", str(socket))
    parts = urlsplit(named)
    if parts.scheme == "unix" and not parts.netloc and parts.path.startswith("/"):
        return Place("http://localhost", unquote(parts.path))
    if parts.scheme in ("http", "https") and parts.netloc:
        return Place(named.rstrip("/"), None)
    raise AgentKernelError(f"the base URL {named!r} is of no kind that is known: {_EXPECTED}")


def _daemon_socket() -> Path | None:
    socket = _daemon_folder() / "daemon.sock"
    try:
        return socket if stat.S_ISSOCK(socket.stat().st_mode) else None
    except OSError:
        return None


def _daemon_folder() -> Path:
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute() and _is_own_folder(runtime):
        return runtime / "agentkernel"
    return _state_folder() / "agentkernel/daemon"


def _state_folder() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return state if state.is_absolute() else Path.home() / ".local/state"


def _is_own_folder(path: Path) -> bool:
    """Under sudo the variable may still name the folder of the user before."""
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
