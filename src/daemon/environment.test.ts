import { expect, it } from "vitest";
import { daemonEnvironment } from "./environment.js";

it("a daemon in the background has what it needs, and nothing that is one caller's", () => {
  const needed = {
    PATH: "/usr/bin",
    HOME: "/home/ada",
    LC_ALL: "C",
    XDG_RUNTIME_DIR: "/run/user/1000",
    XDG_STATE_HOME: "/state",
    AGENTKERNEL_DAEMON_LINGER: "1m",
  };
  const others = {
    ANTHROPIC_API_KEY: "k",
    NODE_OPTIONS: "--inspect",
    AGENTKERNEL_DEBUG: "1",
    AGENTKERNEL_DAEMON: "off",
    AGENTKERNEL_RELAY: "1:3",
    AGENTKERNEL_SERVICE: "agentkernel.service",
    SSH_AUTH_SOCK: "/tmp/agent",
    UNSET: undefined,
  };
  expect(daemonEnvironment({ ...others, ...needed })).toEqual(needed);
});
