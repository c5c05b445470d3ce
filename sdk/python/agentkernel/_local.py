"""Starts the user's daemon, by the command line, unless it is up."""

import json
import os
import subprocess
from urllib.parse import quote

from ._errors import AgentKernelError

_INSTALL_HINT = "install agentkernel, or name its program (`program`, AGENTKERNEL_PROGRAM)"


def start_daemon(program: str | None) -> str:
    """The URL of its socket."""
    named = program or os.environ.get("AGENTKERNEL_PROGRAM") or "agentkernel"
    words = [named, "daemon", "start", "--json", "--idle-timeout", "1h"]
    try:
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise AgentKernelError(f"{named} cannot be started ({error.strerror}): {_INSTALL_HINT}") from error
    try:
        answer = json.loads(ended.stdout)
        if answer["success"]:
            return f"unix://{quote(answer['data']['socket'])}"
        why = answer["error"]["message"]
    except (ValueError, KeyError, TypeError):
        why = ended.stderr.decode(errors="replace").strip() or "it did not say where it listens"
    raise AgentKernelError(f"{named} daemon start: {why}")
