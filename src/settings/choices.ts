/** The words that settings with a choice take. */
export const profileNames = ["permissive", "moderate", "restrictive"] as const;
export const compatibilityModes = ["native", "claude", "codex", "gemini"] as const;
export const workspaceModes = ["copy", "sync", "mount", "none"] as const;
export const egressModes = ["off", "on", "allowlist"] as const;
export const pullChoices = ["missing", "always", "never"] as const;

/** Those that this version has, in the order in which they are shown. */
export const usableBackends = ["linux", "podman", "docker", "gvisor", "microvm", "wasm", "apple"] as const;
/** What a request can ask for; `hyperlight` is another name of `wasm`. */
export const backendChoices = ["auto", ...usableBackends, "hyperlight"] as const;
