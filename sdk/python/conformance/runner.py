"""
Does what sdk/conformance/scenarios.json says, by this SDK, and writes what came of each step as a line of JSON. Whether
that is right is judged by whoever started it.

    python3 runner.py [--async] scenarios.json real|scripted
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from agentkernel import (
    AgentKernel,
    AgentKernelError,
    ApiError,
    AsyncAgentKernel,
    BadAnswerError,
    NotFoundError,
    OutputEvent,
    RequestTimeoutError,
    TransportError,
)
from agentkernel._options import CopyOptions, CreateOptions, ExecOptions, Resources, RunOptions

Step = dict[str, Any]

STEP_FIELDS = set(
    """as base64 call cancel_after_ms cols command commands content expect force from leave_after memory mode name name_of
    on options parallel path paths recursive rows skip state stdin_base64 typed""".split()
)
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("run", "stream", "batch"), RunOptions),
    **dict.fromkeys(("exec", "exec_stream", "exec_detached"), ExecOptions),
    **dict.fromkeys(("session", "scoped", "create"), CreateOptions),
    **dict.fromkeys(("fork", "restore"), CopyOptions),
}


class UnknownError(Exception):
    """Something of a scenario that this runner does not know. It ends the runner."""


def refuse_unknown(step: Step) -> None:
    """An option that goes missing would pass every test."""
    only_known(step, STEP_FIELDS, f"field of the step {step['call']}")
    kind = OPTIONS.get(step["call"])
    known = set(kind.__annotations__) if kind else set()
    for one in [step, *step.get("commands", [])]:
        only_known(one.get("options", {}), known, f"option of {step['call']}")
        only_known(one.get("options", {}).get("resources", {}), set(Resources.__annotations__), "resource")
    for command in step.get("commands", []):
        only_known(command, {"command", "options"}, "field of a command")


def only_known(given: dict[str, Any], known: set[str], what: str) -> None:
    for name in given.keys() - known:
        raise UnknownError(f"{name} is no {what} that this runner knows")


class Calls:
    """What each call of a scenario is in this SDK. With `async` an answer may be awaited, and is by `finished`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sandboxes: dict[str, Any] = {}

    async def do(self, step: Step) -> Any:
        call: Callable[[Step], Awaitable[Any]] | None = getattr(self, step["call"], None)
        if call is None:
            raise UnknownError(f"{step['call']} is no call that this runner knows")
        return await call(step)

    def on(self, step: Step) -> Any:
        return self.sandboxes[step["on"]]

    async def health(self, step: Step) -> Any:
        return await finished(self.client.health())

    async def version(self, step: Step) -> Any:
        return await finished(self.client.version())

    async def run(self, step: Step) -> Any:
        return await finished(self.client.run(step["command"], **options(step)))

    async def batch(self, step: Step) -> Any:
        commands = [{"command": one["command"], **one.get("options", {})} for one in step["commands"]]
        results = await finished(self.client.batch(commands, parallel=step.get("parallel")))
        return {
            "results": [
                {"error": {"kind": "api", "code": one.code}} if isinstance(one, ApiError) else asdict(one)
                for one in results
            ]
        }

    async def session(self, step: Step) -> Any:
        session = self.sandboxes[step["as"]] = await finished(self.client.session(**options(step)).open())
        return await finished(session.info())

    async def scoped(self, step: Step) -> Any:
        session = self.client.session(**options(step))
        if hasattr(session, "__aenter__"):
            async with session:
                inside = (await session.info()).state
        else:
            with session:
                inside = session.info().state
        try:
            await finished(self.client.sandboxes.get(session.name))
        except NotFoundError as error:
            return {"inside": inside, "after": error.code}
        return {"inside": inside, "after": "there"}

    async def create(self, step: Step) -> Any:
        return await self.kept(step, await finished(self.client.sandboxes.create(step["name"], **options(step))))

    async def get(self, step: Step) -> Any:
        name = self.sandboxes[step["name_of"]].name if "name_of" in step else step["name"]
        return await finished((await finished(self.client.sandboxes.get(name))).info())

    async def list(self, step: Step) -> Any:
        return {"names": [one.name for one in await finished(self.client.sandboxes.list(step.get("state")))]}

    async def close(self, step: Step) -> Any:
        session = self.on(step)
        await finished(session.aclose() if hasattr(session, "aclose") else session.close())
        return {}

    async def start(self, step: Step) -> Any:
        return await finished(self.on(step).start())

    async def stop(self, step: Step) -> Any:
        return await finished(self.on(step).stop())

    async def pause(self, step: Step) -> Any:
        return await finished(self.on(step).pause())

    async def resume(self, step: Step) -> Any:
        return await finished(self.on(step).resume())

    async def snapshot(self, step: Step) -> Any:
        return await finished(self.on(step).snapshot(step.get("name"), memory=step.get("memory")))

    async def fork(self, step: Step) -> Any:
        return await self.kept(step, await finished(self.on(step).fork(step["name"], **options(step))))

    async def snapshots(self, step: Step) -> Any:
        return {"names": [one.name for one in await finished(self.client.snapshots.list())]}

    async def get_snapshot(self, step: Step) -> Any:
        return await finished(self.client.snapshots.get(step["name"]))

    async def restore(self, step: Step) -> Any:
        restored = self.client.snapshots.restore(step["from"], step["name"], **options(step))
        return await self.kept(step, await finished(restored))

    async def remove_snapshot(self, step: Step) -> Any:
        await finished(self.client.snapshots.remove(step["name"]))
        return {}

    async def kept(self, step: Step, sandbox: Any) -> Any:
        self.sandboxes[step.get("as", "")] = sandbox
        return await finished(sandbox.info())

    async def remove(self, step: Step) -> Any:
        await finished(self.on(step).remove(force=step.get("force", False)))
        return {}

    async def stats(self, step: Step) -> Any:
        return await finished(self.on(step).stats())

    async def diff(self, step: Step) -> Any:
        return await finished(self.on(step).diff())

    async def patch(self, step: Step) -> Any:
        return {"patch": await finished(self.on(step).patch())}

    async def apply(self, step: Step) -> Any:
        return await finished(self.on(step).apply(step.get("paths")))

    async def exec(self, step: Step) -> Any:
        return await finished(self.on(step).exec(step["command"], **options(step)))

    async def exec_detached(self, step: Step) -> Any:
        return await finished(self.on(step).exec_detached(step["command"], **options(step)))

    async def logs(self, step: Step) -> Any:
        return {"execs": [asdict(one) for one in await finished(self.on(step).logs())]}

    async def read(self, step: Step) -> Any:
        return {"base64": base64.b64encode(await finished(self.on(step).files.read(step["path"]))).decode()}

    async def write(self, step: Step) -> Any:
        content = step["content"] if "content" in step else base64.b64decode(step["base64"])
        mode = int(step["mode"], 8) if "mode" in step else None
        return await finished(self.on(step).files.write(step["path"], content, mode=mode))

    async def make_folder(self, step: Step) -> Any:
        return await finished(self.on(step).files.make_folder(step["path"]))

    async def list_files(self, step: Step) -> Any:
        return await finished(self.on(step).files.list(step["path"]))

    async def remove_file(self, step: Step) -> Any:
        await finished(self.on(step).files.remove(step["path"], recursive=step.get("recursive", False)))
        return {}

    async def events(self, step: Step, events: list[Any]) -> None:
        on = self.client.stream if step["call"] == "stream" else self.on(step).exec_stream
        stream = on(step["command"], **options(step))
        if hasattr(stream, "__aiter__"):
            async with stream:
                async for event in stream:
                    events.append(shown(event, step))
                    if event.type == step.get("leave_after"):
                        return
        else:
            with stream:
                for event in stream:
                    events.append(shown(event, step))
                    if event.type == step.get("leave_after"):
                        return


async def finished(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def options(step: Step) -> dict[str, Any]:
    stdin = {"stdin": base64.b64decode(step["stdin_base64"])} if "stdin_base64" in step else {}
    return {**step.get("options", {}), **stdin}


def shown(event: Any, step: Step) -> dict[str, Any]:
    if not isinstance(event, OutputEvent):
        return asdict(event)
    if step.get("options", {}).get("encoding") == "base64":
        return {"type": event.type, "base64": base64.b64encode(event.data).decode()}
    return {"type": event.type, "text": event.text}


async def outcome(calls: Calls, step: Step) -> dict[str, Any]:
    events: list[Any] = []
    try:
        async with asyncio.timeout(step["cancel_after_ms"] / 1000 if "cancel_after_ms" in step else None):
            if step["call"] in ("stream", "exec_stream"):
                await calls.events(step, events)
                return {"events": events}
            result = await calls.do(step)
    except (AgentKernelError, TimeoutError) as error:
        return {"error": error_shown(error), **({"events": events} if events else {})}
    return {"result": asdict(result) if is_dataclass(result) and not isinstance(result, type) else result}


def error_shown(error: Exception) -> dict[str, Any]:
    if isinstance(error, ApiError):
        told = {"code": error.code, "status": error.status, "hint": error.hint, "retryable": error.retryable}
        return {"kind": "api", **told, "retry_after_ms": error.retry_after_ms, "has_message": str(error) != ""}
    kinds = {RequestTimeoutError: "timeout", TransportError: "transport", BadAnswerError: "bad_answer"}
    return {
        "kind": kinds.get(type(error), "cancelled" if type(error) is TimeoutError else "other"),
        "message": str(error),
    }


async def main(is_async: bool, file: str, server: str) -> None:
    text = Path(file).read_text()
    for name in ("name", "dir"):
        text = text.replace("{" + name + "}", os.environ.get(f"CONFORMANCE_{name.upper()}", ""))
    for scenario in json.loads(text)["scenarios"]:
        if scenario["server"] != server:
            continue
        url = f"{os.environ['CONFORMANCE_SCRIPTED_URL']}/{scenario['id']}" if server == "scripted" else None
        settings = scenario.get("client", {})
        kind = AsyncAgentKernel if is_async else AgentKernel
        client: Any = await finished(kind.local(**settings)) if server == "local" else kind(url, **settings)
        calls = Calls(client)
        for index, step in enumerate(scenario["steps"]):
            refuse_unknown(step)
            if ("python-async" if is_async else "python") in step.get("skip", {}):
                continue
            line = {"scenario": scenario["id"], "step": index, **await outcome(calls, step)}
            print(json.dumps(line), flush=True)
        await finished(client.aclose() if is_async else client.close())


words = sys.argv[1:]
asyncio.run(main(words[0] == "--async", *words[-2:]))
