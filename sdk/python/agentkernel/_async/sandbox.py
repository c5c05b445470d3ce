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
from .connection import AsyncConnection
from .files import AsyncFiles
from .stream import AsyncCommandStream

T = TypeVar("T")

_SESSION_TTL = "24h"
"""Of a session whose program died, so that nothing is left for ever."""


class AsyncSandbox:
    def __init__(self, connection: AsyncConnection, name: str) -> None:
        self._connection = connection
        self._path = sandbox_path(name)
        self.name = name
        self.files = AsyncFiles(connection, self._path)

    async def info(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return await self._ask("GET", "", SandboxInfo, options)

    async def exec(self, command: Sequence[str], **options: Unpack[ExecCall]) -> ExecResult:
        """Runs a command. One that fails is a result too."""
        return await self._connection.data(command_request(f"{self._path}/exec", command, options), ExecResult)

    def exec_stream(self, command: Sequence[str], **options: Unpack[ExecCall]) -> AsyncCommandStream:
        """What the command says, while it runs. Leaving the `with` ends the command."""
        return AsyncCommandStream(self._connection, stream_request(f"{self._path}/exec/stream", command, options))

    async def exec_detached(self, command: Sequence[str], **options: Unpack[ExecCall]) -> DetachedExec:
        """Lets it run on; `logs` has its output and its end."""
        body = {**command_body(command, options), "detach": True}
        timeout_ms = options.get("request_timeout_ms")
        request = Request("POST", f"{self._path}/exec", json=body, timeout_ms=timeout_ms)
        return await self._connection.data(request, DetachedExec)

    async def logs(self, exec: str | None = None, **options: Unpack[CallOptions]) -> list[ExecLog]:
        """Output and end of detached commands, oldest first."""
        query = {} if exec is None else {"exec": exec}
        path, timeout_ms = f"{self._path}/logs", options.get("request_timeout_ms")
        found = await self._connection.plain_data(Request("GET", path, query, timeout_ms=timeout_ms))
        return read_as(dict[str, list[ExecLog]], found)["execs"]

    async def start(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return await self._ask("POST", "/start", SandboxInfo, options)

    async def stop(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        """Ends all that runs in it; its files stay."""
        return await self._ask("POST", "/stop", SandboxInfo, options)

    async def pause(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return await self._ask("POST", "/pause", SandboxInfo, options)

    async def resume(self, **options: Unpack[CallOptions]) -> SandboxInfo:
        return await self._ask("POST", "/resume", SandboxInfo, options)

    async def snapshot(
        self, name: str | None = None, *, memory: bool | None = None, **options: Unpack[CallOptions]
    ) -> Snapshot:
        """Keeps what it has written, under this name or one of the server's; of a machine that runs, its memory too,
        unless `memory` is False."""
        given = {"name": name, "memory": memory}
        body = {key: value for key, value in given.items() if value is not None}
        return await self._ask("POST", "/snapshot", Snapshot, options, body)

    async def fork(self, name: str, **options: Unpack[CopyCall]) -> "AsyncSandbox":
        """A second sandbox with everything that it has written, which is started unless `start` is False."""
        await self._connection.data(copy_request(f"{self._path}/fork", name, options), SandboxInfo)
        return AsyncSandbox(self._connection, name)

    async def remove(self, *, force: bool = False, **options: Unpack[CallOptions]) -> None:
        """With all that is in it. `force`: also where it runs."""
        query = {"force": "true"} if force else {}
        request = Request("DELETE", self._path, query, timeout_ms=options.get("request_timeout_ms"))
        await self._connection.plain_data(request)

    async def stats(self, **options: Unpack[CallOptions]) -> Stats:
        return await self._ask("GET", "/stats", Stats, options)

    async def diff(self, **options: Unpack[CallOptions]) -> Diff:
        """What it changed in the project."""
        return await self._ask("GET", "/diff", Diff, options)

    async def patch(self, **options: Unpack[CallOptions]) -> str:
        """The same, as a patch that `git apply` takes."""
        query, timeout_ms = {"format": "patch"}, options.get("request_timeout_ms")
        found = await self._connection.content(Request("GET", f"{self._path}/diff", query, timeout_ms=timeout_ms))
        return found.decode("utf-8", "surrogateescape")

    async def apply(self, paths: Sequence[str] | None = None, **options: Unpack[CallOptions]) -> Changes:
        """Takes its changes over into the project on the host: all, or those at and below `paths`."""
        body = {} if paths is None else {"paths": list(paths)}
        return await self._ask("POST", "/apply", Changes, options, body)

    async def _ask(self, method: str, action: str, kind: type[T], options: CallOptions, body: object = None) -> T:
        timeout_ms = options.get("request_timeout_ms")
        return await self._connection.data(Request(method, self._path + action, json=body, timeout_ms=timeout_ms), kind)


class AsyncSession(AsyncSandbox):
    """A sandbox that is made on entering the `with`, or by `open`, and removed on leaving it, or by `close`."""

    def __init__(self, connection: AsyncConnection, options: CreateCall) -> None:
        super().__init__(connection, f"session-{uuid4()}")
        self._options: CreateCall = {"ttl": _SESSION_TTL, **options}

    async def open(self) -> Self:
        await self._connection.data(create_request(self.name, self._options), SandboxInfo)
        return self

    async def aclose(self) -> None:
        """Removes the sandbox, with whatever runs in it. A second call does nothing."""
        try:
            await self.remove(force=True)
        except NotFoundError:
            pass

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncSandboxes:
    """The sandboxes that stay, by their names."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(self, name: str, **options: Unpack[CreateCall]) -> AsyncSandbox:
        """Makes one, and starts it unless `start` is False."""
        await self._connection.data(create_request(name, options), SandboxInfo)
        return AsyncSandbox(self._connection, name)

    async def get(self, name: str, **options: Unpack[CallOptions]) -> AsyncSandbox:
        """Raises `NotFoundError` where there is none of that name."""
        sandbox = AsyncSandbox(self._connection, name)
        await sandbox.info(**options)
        return sandbox

    async def list(
        self,
        state: Literal["created", "running", "paused", "stopped"] | None = None,
        **options: Unpack[CallOptions],
    ) -> list[SandboxInfo]:
        """Sorted by name: all, or those in one state."""
        query = {} if state is None else {"state": state}
        request = Request("GET", "/sandboxes", query, timeout_ms=options.get("request_timeout_ms"))
        found = await self._connection.plain_data(request)
        return read_as(dict[str, list[SandboxInfo]], found)["sandboxes"]


class AsyncSnapshots:
    """What was kept of sandboxes: files as they were at one moment and, of machines that ran, memory."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def list(self, **options: Unpack[CallOptions]) -> list[Snapshot]:
        """Sorted by name."""
        request = Request("GET", "/snapshots", timeout_ms=options.get("request_timeout_ms"))
        return read_as(dict[str, list[Snapshot]], await self._connection.plain_data(request))["snapshots"]

    async def get(self, name: str, **options: Unpack[CallOptions]) -> Snapshot:
        """Raises `NotFoundError` where there is none of that name."""
        request = Request("GET", snapshot_path(name), timeout_ms=options.get("request_timeout_ms"))
        return await self._connection.data(request, Snapshot)

    async def remove(self, name: str, **options: Unpack[CallOptions]) -> None:
        """Sandboxes that were made of it stay."""
        request = Request("DELETE", snapshot_path(name), timeout_ms=options.get("request_timeout_ms"))
        await self._connection.plain_data(request)

    async def restore(self, snapshot: str, name: str, **options: Unpack[CopyCall]) -> AsyncSandbox:
        """Makes a sandbox of it, and starts it unless `start` is False."""
        await self._connection.data(copy_request(f"{snapshot_path(snapshot)}/restore", name, options), SandboxInfo)
        return AsyncSandbox(self._connection, name)
