"""
The SDK for Python: the HTTP API of agentkernel as calls with types, with and without `async`. It runs nothing itself.
"""

from . import _error_codes, _results
from ._async.client import AsyncAgentKernel
from ._async.files import AsyncFiles
from ._async.sandbox import AsyncSandbox, AsyncSandboxes, AsyncSession, AsyncSnapshots
from ._async.stream import AsyncCommandStream
from ._error_codes import *  # noqa: F403
from ._errors import AgentKernelError, ApiError, BadAnswerError, RequestTimeoutError, TransportError
from ._events import CommandEvent, ExitEvent, OutputEvent, StartedEvent
from ._network import Network, NetworkRules
from ._options import (
    CopyOptions,
    CreateOptions,
    ExecOptions,
    MountOptions,
    PublishOptions,
    Resources,
    RunOptions,
    SecretOptions,
)
from ._requests import BatchCommand
from ._results import *  # noqa: F403
from ._sync.client import AgentKernel
from ._sync.files import Files
from ._sync.sandbox import Sandbox, Sandboxes, Session, Snapshots
from ._sync.stream import CommandStream

__all__ = [
    "AgentKernel",
    "AgentKernelError",
    "ApiError",
    "AsyncAgentKernel",
    "AsyncCommandStream",
    "AsyncFiles",
    "AsyncSandbox",
    "AsyncSandboxes",
    "AsyncSession",
    "AsyncSnapshots",
    "BadAnswerError",
    "BatchCommand",
    "CommandEvent",
    "CommandStream",
    "CopyOptions",
    "CreateOptions",
    "ExecOptions",
    "ExitEvent",
    "Files",
    "MountOptions",
    "Network",
    "NetworkRules",
    "OutputEvent",
    "PublishOptions",
    "RequestTimeoutError",
    "Resources",
    "RunOptions",
    "Sandbox",
    "Sandboxes",
    "SecretOptions",
    "Session",
    "Snapshots",
    "StartedEvent",
    "TransportError",
]
__all__ += _error_codes.__all__
__all__ += _results.__all__
