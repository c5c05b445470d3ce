"""What a sandbox can reach."""

from typing import Literal, TypedDict


class NetworkRules(TypedDict, total=False):
    enabled: bool
    """False: nothing is reached."""
    allowed_domains: list[str]
    """Only these are reached; `*.example.com` stands for subdomains."""


Network = bool | Literal["on", "off", "allowlist"] | NetworkRules
"""Everything public, nothing, what its allowlist names, or the domains named here."""
