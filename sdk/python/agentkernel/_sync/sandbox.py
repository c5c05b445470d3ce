"""Sandboxes that stay: what runs in one, its files, and its states."""

from collections.abc import Sequence
from types import TracebackType
from typing import Literal, Self, TypeVar, Unpack
from uuid import uuid4

from .._answers import read_as
from .._error_codes import NotFoundError
from .._requests import (
    CallOptions,
    CopyCall,
    CreateCall,
    ExecCall,
    Request,
    command_body,
    command_request,
    copy_request,
    create_request,
    sandbox_path,
    snapshot_path,
    stream_request,
)
from .._results import Changes, DetachedExec, Diff, ExecLog, ExecResult, SandboxInfo, Snapshot, Stats
from .connection import Connection
from .files import Files
from .stream import CommandStream

T = TypeVar("T")

_SESSION_TTL = "24h"
"""Of a session whose program died, so that nothing is left for ever."""


class Sandbox:
    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._path = sandbox_path(name)
        self.name = name
        self.files = Files(connection, self._path)

    def info(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return self._ask("GET", "", SandboxInfo, options)

    def exec(self, command: Sequence[str], **options: Unpack[ExecCall]) -> ExecResult:
        """Runs a command. One that fails is a result too."""
        return self._connection.data(command_request(f"{self._path}/exec", command, options), ExecResult)

    def exec_stream(self, command: Sequence[str], **options: Unpack[ExecCall]) -> CommandStream:
        """What the command says, while it runs. Leaving the `with` ends the command."""
        return CommandStream(self._connection, stream_request(f"{self._path}/exec/stream", command, options))

    def exec_detached(self, command: Sequence[str], **options: Unpack[ExecCall]) -> DetachedExec:
        """Lets it run on; `logs` has its output and its end."""
        body = {**command_body(command, options), "detach": True}
        timeout_ms = options.get("request_timeout_ms")
        request = Request("POST", f"{self._path}/exec", json=body, timeout_ms=timeout_ms)
        return self._connection.data(request, DetachedExec)

    def logs(self, exec: str | None = None, **options: Unpack[CallOptions]) -> list[ExecLog]:
        """Output and end of detached commands, oldest first."""
        query = {} if exec is None else {"exec": exec}
        path, timeout_ms = f"{self._path}/logs", options.get("request_timeout_ms")
        found = self._connection.plain_data(Request("GET", path, query, timeout_ms=timeout_ms))
        return read_as(dict[str, list[ExecLog]], found)["execs"]

    def start(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return self._ask("POST", "/start", SandboxInfo, options)

    def stop(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        """Ends all that runs in it; its files stay."""
        return self._ask("POST", "/stop", SandboxInfo, options)

    def pause(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return self._ask("POST", "/pause", SandboxInfo, options)

    def resume(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return self._ask("POST", "/resume", SandboxInfo, options)

    def snapshot(
        self, name: str | None = None, *, memory: bool | None = None, **options: Unpack[CallOptions]
    ) -> Snapshot:
        """Keeps what it has written, under this name or one of the server's; of a machine that runs, its memory too,
        unless `memory` is False."""
        given = {"name": name, "memory": memory}
        body = {key: value for key, value in given.items() if value is not None}
        return self._ask("POST", "/snapshot", Snapshot, options, body)

    def fork(self, name: str, **options: Unpack[CopyCall]) -> "Sandbox":
        """A second sandbox with everything that it has written, which is started unless `start` is False."""
        self._connection.data(copy_request(f"{self._path}/fork", name, options), SandboxInfo)
        return Sandbox(self._connection, name)

    def remove(self, *, force: bool = False, **options: Unpack[CallOptions]) -> None:
        """With all that is in it. `force`: also where it runs."""
        query = {"force": "true"} if force else {}
        request = Request("DELETE", self._path, query, timeout_ms=options.get("request_timeout_ms"))
        self._connection.plain_data(request)

    def stats(self, **options: Unpack[CallOptions]) -> Stats:
        return self._ask("GET", "/stats", Stats, options)

    def diff(self, **options: Unpack[CallOptions]) -> Diff:
        """What it changed in the project."""
        return self._ask("GET", "/diff", Diff, options)

    def patch(self, **options: Unpack[CallOptions]) -> str:
        """The same, as a patch that `git apply` takes."""
        query, timeout_ms = {"format": "patch"}, options.get("request_timeout_ms")
        found = self._connection.content(Request("GET", f"{self._path}/diff", query, timeout_ms=timeout_ms))
        return found.decode("utf-8", "surrogateescape")

    def apply(self, paths: Sequence[str] | None = None, **options: Unpack[CallOptions]) -> Changes:
        """Takes its changes over into the project on the host: all, or those at and below `paths`."""
        body = {} if paths is None else {"paths": list(paths)}
        return self._ask("POST", "/apply", Changes, options, body)

    def _ask(self, method: str, action: str, kind: type[T], options: CallOptions, body: object = None) -> T:
        timeout_ms = options.get("request_timeout_ms")
        return self._connection.data(Request(method, self._path + action, json=body, timeout_ms=timeout_ms), kind)


class Session(Sandbox):
    """A sandbox that is made on entering the `with`, or by `open`, and removed on leaving it, or by `close`."""

    def __init__(self, connection: Connection, options: CreateCall) -> None:
        super().__init__(connection, f"session-{uuid4()}")
        self._options: CreateCall = {"ttl": _SESSION_TTL, **options}

    def open(self) -> Self:
        self._connection.data(create_request(self.name, self._options), SandboxInfo)
        return self

    def close(self) -> None:
        """Removes the sandbox, with whatever runs in it. A second call does nothing."""
        try:
            self.remove(force=True)
        except NotFoundError:
            pass

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Sandboxes:
    """The sandboxes that stay, by their names."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, name: str, **options: Unpack[CreateCall]) -> Sandbox:
        """Makes one, and starts it unless `start` is False."""
        self._connection.data(create_request(name, options), SandboxInfo)
        return Sandbox(self._connection, name)

    def get(self, name: str, **options: Unpack[CallOptions]) -> Sandbox:
        """Raises `NotFoundError` where there is none of that name."""
        sandbox = Sandbox(self._connection, name)
        sandbox.info(**options)
        return sandbox

    def list(
        self,
        state: Literal["created", "running", "paused", "stopped"] | None = None,
        **options: Unpack[CallOptions],
    ) -> list[SandboxInfo]:
        """Sorted by name: all, or those in one state."""
        query = {} if state is None else {"state": state}
        request = Request("GET", "/sandboxes", query, timeout_ms=options.get("request_timeout_ms"))
        found = self._connection.plain_data(request)
        return read_as(dict[str, list[SandboxInfo]], found)["sandboxes"]


class Snapshots:
    """What was kept of sandboxes: files as they were at one moment and, of machines that ran, memory."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **options: Unpack[CallOptions]) -> list[Snapshot]:
        """Sorted by name."""
        request = Request("GET", "/snapshots", timeout_ms=options.get("request_timeout_ms"))
        return read_as(dict[str, list[Snapshot]], self._connection.plain_data(request))["snapshots"]

    def get(self, name: str, **options: Unpack[CallOptions]) -> Snapshot:
        """Raises `NotFoundError` where there is none of that name."""
        request = Request("GET", snapshot_path(name), timeout_ms=options.get("request_timeout_ms"))
        return self._connection.data(request, Snapshot)

    def remove(self, name: str, **options: Unpack[CallOptions]) -> None:
        """Sandboxes that were made of it stay."""
        request = Request("DELETE", snapshot_path(name), timeout_ms=options.get("request_timeout_ms"))
        self._connection.plain_data(request)

    def restore(self, snapshot: str, name: str, **options: Unpack[CopyCall]) -> Sandbox:
        """Makes a sandbox of it, and starts it unless `start` is False."""
        self._connection.data(copy_request(f"{snapshot_path(snapshot)}/restore", name, options), SandboxInfo)
        return Sandbox(self._connection, name)
