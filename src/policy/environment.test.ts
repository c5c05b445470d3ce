import { describe, expect, test } from "vitest";
import { proxyAddress } from "../core/proxy-address.js";
import { commandEnvironment, passableEnvironment, sandboxHome } from "./environment.js";
import { resolve } from "./resolve.js";

const { proc } = resolve({}).policy;
const base = {
  image: null,
  proc,
  egress: "off",
  hostEnv: {},
  shownHome: null,
  tty: false,
} as const;

describe("what is passed on from the host", () => {
  test.each([
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "client_secret",
    "DB_PASSWORD",
    "PGPASSWORD",
    "MYSQL_PWD",
    "ANTHROPIC_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_PROFILE",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "BASH_ENV",
    "GIT_ASKPASS",
    "DOCKER_HOST",
    "KUBECONFIG",
    "SENTRY_DSN",
    "HOME",
    "PWD",
    "HOSTNAME",
    "TMPDIR",
    "AGENTKERNEL_BASE_URL",
    "BASH_FUNC_x%%",
  ])("never %s", (name) => {
    expect(passableEnvironment({ [name]: "value" })).toEqual({});
  });

  test.each([
    "http://user:pass@proxy.example:3128",
    "postgres://token@db.example/x",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    `ghp_${"a".repeat(36)}`,
    `sk-ant-${"a1".repeat(20)}`,
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
  ])("never a value such as %s, whatever its name", (value) => {
    expect(passableEnvironment({ PLAIN: value })).toEqual({});
  });

  test("the rest as it is", () => {
    const rest = {
      PATH: "/usr/bin",
      EDITOR: "vim",
      HTTP_PROXY: "http://proxy.example:3128",
      AUTHOR: "someone",
      TZ: "UTC",
      CARGO_TERM_COLOR: "always",
    };
    expect(passableEnvironment({ ...rest, UNSET: undefined })).toEqual(rest);
  });
});

describe("the environment of a command", () => {
  test("is a small base where nothing is passed on", () => {
    const env = commandEnvironment({
      ...base,
      hostEnv: { EDITOR: "vim", TERM: "xterm", HOSTNAME: "mine" },
    });
    expect(env).toEqual({
      PATH: expect.stringContaining("/usr/bin"),
      LANG: "C.UTF-8",
      HOME: sandboxHome,
      USER: "root",
      LOGNAME: "root",
    });
  });

  test("has what the policy sets above everything else", () => {
    const passing = { ...proc, passHostEnv: true, env: { EDITOR: "ed", HOME: "/elsewhere" } };
    const env = commandEnvironment({
      ...base,
      proc: passing,
      hostEnv: { EDITOR: "vim", PAGER: "less", HOME: "/root" },
    });
    expect(env).toMatchObject({ EDITOR: "ed", PAGER: "less", HOME: "/elsewhere" });
  });

  test.each(["on", "allowlist"] as const)(
    "leads programs that look for a proxy to the sandbox's own (%s)",
    (egress) => {
      const hostEnv = { HTTPS_PROXY: "http://proxy.example:8080", no_proxy: "*" };
      const passing = { ...proc, passHostEnv: true, env: { ALL_PROXY: "" } };
      const env = commandEnvironment({ ...base, egress, hostEnv, proc: passing });
      const proxy = `http://${proxyAddress.host}:${proxyAddress.port}`;
      expect(env).toMatchObject({ HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, https_proxy: proxy });
      expect(env.NO_PROXY).toBe("localhost,127.0.0.1,::1");
      expect(env.no_proxy).toBe(env.NO_PROXY);
      expect(env.ALL_PROXY).toBe("");
    },
  );

  test("names no proxy where there is no network", () => {
    expect(Object.keys(commandEnvironment(base)).filter((name) => /proxy/i.test(name))).toEqual([]);
  });

  test("names the home that is shown, and the user that runs", () => {
    expect(commandEnvironment({ ...base, shownHome: "/home/u" }).HOME).toBe("/home/u");
    expect(commandEnvironment({ ...base, proc: { ...proc, noRoot: true } }).USER).toBe("sandbox");
    expect(commandEnvironment({ ...base, proc: { ...proc, user: "node:node" } }).USER).toBe("node");
    expect(commandEnvironment({ ...base, proc: { ...proc, user: "1000" } })).not.toHaveProperty("USER");
  });

  test("has the sandbox's name in the prompt of a terminal, unless the image or the user says another", () => {
    const terminal = { ...base, tty: true, sandbox: "box" };
    expect(commandEnvironment(terminal).PS1).toBe("box:$PWD\\$ ");
    expect(commandEnvironment({ ...terminal, tty: false })).not.toHaveProperty("PS1");
    expect(commandEnvironment({ ...terminal, sandbox: null })).not.toHaveProperty("PS1");
    expect(commandEnvironment({ ...terminal, image: { env: ["PS1=> "], user: null } }).PS1).toBe("> ");
    expect(commandEnvironment({ ...terminal, proc: { ...proc, env: { PS1: "$ " } } }).PS1).toBe("$ ");
  });

  test("says what terminal it is only where there is one, and only in safe words", () => {
    expect(commandEnvironment({ ...base, hostEnv: { TERM: "xterm" } })).not.toHaveProperty("TERM");
    expect(commandEnvironment({ ...base, tty: true, hostEnv: { TERM: "screen-256color" } }).TERM).toBe(
      "screen-256color",
    );
    expect(commandEnvironment({ ...base, tty: true, hostEnv: { TERM: "../x\u001b[2J" } }).TERM).toBe("xterm-256color");
  });
});
