import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseOptions } from "../cli/parse-options.js";
import { runSpecOf } from "../cli/run-spec.js";
import { findVerb } from "../cli/verbs.js";
import { isAgentKernelError } from "../core/errors.js";
import type { Surroundings } from "../core/surroundings.js";
import { type CommandStart, startOf } from "../runtime/command-start.js";
import type { RunRequest } from "../runtime/run-request.js";
import { type Configuration, noConfiguration } from "./configuration.js";
import { prepareRun } from "./prepare-run.js";

let root = "";
let project = "";
let home = "";

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "prepare-run-")));
  project = join(root, "project");
  home = join(root, "home");
  for (const folder of [
    "project/vendor",
    "project/.git/hooks",
    "project/etc",
    "home/.ssh",
    "home/.config/gh",
    "home/.cargo",
  ]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  writeFileSync(join(home, ".config/gh/hosts.yml"), "token");
  writeFileSync(join(home, ".npmrc"), "//r/:_authToken=8f3c0a12");
  writeFileSync(join(project, ".npmrc"), "save-exact=true");
  symlinkSync(join(home, ".ssh"), join(project, "innocent"));
});
afterAll(() => rmSync(root, { recursive: true }));

function prepare(...words: string[]): RunRequest {
  return prepareAt(project, ...words);
}

function prepareAt(cwd: string, ...words: string[]): RunRequest {
  const { verb, rest } = findVerb(["run", ...words]);
  const parsed = parseOptions(verb, rest);
  if (parsed.problem) throw parsed.problem;
  const surroundings = { cwd, homeDir: home, env: { PLAIN: "plain", MY_TOKEN: "token" } };
  return prepareRun(runSpecOf(parsed, surroundings), surroundings);
}

function refusal(action: () => unknown): { code: string; message: string; hint: string | undefined } {
  try {
    action();
  } catch (error) {
    if (isAgentKernelError(error)) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** What such a request starts in the host's own programs. */
function inHost(request: RunRequest): CommandStart {
  return startOf(request, { name: "host", defaults: null }, null).command;
}

describe("a request", () => {
  test("of a plain command", () => {
    const request = prepare("ls", "-l");
    expect(request).toMatchObject({
      argv: ["ls", "-l"],
      policy: { profile: "moderate", mode: "native" },
      image: { name: "alpine:3.20", named: false },
      projectDir: project,
      homeDir: null,
      workdir: null,
      tty: false,
      json: false,
    });
    expect(inHost(request)).toMatchObject({ argv: ["ls", "-l"], cwd: "/workspace" });
    expect(inHost(request).env).not.toHaveProperty("PLAIN");
    expect(request.notes).toEqual([]);
  });

  test("of every option", () => {
    const words = "-i host -p permissive --network off -u 1000 -w /tmp --timeout 2s --vcpus 1.5 --memory 64m".split(
      " ",
    );
    const more = "--pids 9 --disk 1g --open-files 99 --workspace none -v ./vendor:/deps/:ro -B linux -t".split(" ");
    const request = prepare(...words, ...more, "-e", "A=b=c", "-e", "MY_TOKEN", "--", "sh");
    expect(request.policy.resources).toMatchObject({
      vcpus: 1.5,
      memoryMiB: 64,
      pids: 9,
      diskMiB: 1024,
      openFiles: 99,
      timeoutMs: 2000,
      outputMiB: 16,
    });
    expect(request.policy.fs.mounts).toEqual([{ host: join(project, "vendor"), guest: "/deps", readonly: true }]);
    expect(request).toMatchObject({ workdir: "/tmp", tty: true, projectDir: null, homeDir: home, notes: [] });
    expect(request.image).toEqual({ name: "host", why: "--image", named: true });
    expect(inHost(request).env).toMatchObject({ A: "b=c", MY_TOKEN: "token", PLAIN: "plain", HOME: home });
    expect(request.origins).toMatchObject({ "resources.pids": "--pids", "fs.mounts": "--mount", profile: "--profile" });
  });

  test("takes a folder as a root, but none that holds the user's home, also where home is a link", () => {
    expect(prepare("-i", "./vendor", "sh").image).toMatchObject({ name: join(project, "vendor"), named: true });
    expect(refusal(() => prepare("-i", root, "sh")).message).toContain("holds your home folder");
    const { verb, rest } = findVerb(["run", "-i", root, "sh"]);
    const linked = join(tmpdir(), `agentkernel-home-${process.pid}`);
    symlinkSync(home, linked);
    try {
      const surroundings = { cwd: project, homeDir: linked, env: {} };
      expect(
        refusal(() => prepareRun(runSpecOf(parseOptions(verb, rest), surroundings), surroundings)).message,
      ).toContain("holds your home");
    } finally {
      rmSync(linked);
    }
  });

  test("passes a token on only when it is named", () => {
    expect(inHost(prepare("-p", "permissive", "ls")).env).not.toHaveProperty("MY_TOKEN");
  });

  test("--allow-domain means an allowlist with these", () => {
    const { net } = prepare("--allow-domain", "A.example", "--allow-domain", "*.b.example", "ls").policy;
    const allow = [{ domain: "a.example" }, { domain: "*.b.example" }];
    expect(net).toEqual({ egress: "allowlist", allow, deny: [], secrets: [] });
  });

  test("--no-network works with each profile", () => {
    for (const profile of ["permissive", "moderate", "restrictive"]) {
      expect(prepare("-p", profile, "--no-network", "ls").policy.net.egress).toBe("off");
    }
  });
});

describe("the backend", () => {
  test("is any where nobody names one, and known by its aliases", () => {
    expect(prepare("ls").backend.name).toBe("auto");
    expect(prepare("--backend", "gvisor", "ls").backend).toEqual({ name: "gvisor", origin: "--backend" });
    expect(prepare("--backend", "hyperlight", "ls").backend.name).toBe("wasm");
  });
});

describe("is refused", () => {
  test.each([
    [["--no-network", "--network", "on"], "invalid_argument", "--no-network contradicts --network on"],
    [["--no-network", "--allow-domain", "a.example"], "invalid_argument", "--no-network contradicts"],
    [["--network", "on", "--allow-domain", "a.example"], "invalid_argument", "--network on contradicts"],
    [["--allow-domain", "127.0.0.1"], "invalid_argument", "is not a domain"],
    [["--image", "Alpine"], "invalid_argument", "image names are lower case"],
    [["--backend", "hyperlight", "--image", "host"], "invalid_argument", "--image contradicts --backend wasm"],
    [["--backend", "wasm", "--network", "on"], "invalid_argument", "reaches no network"],
    [["--lang", "js"], "invalid_argument", "--lang is for the backend wasm"],
    [["--backend", "linus"], "invalid_argument", 'no backend "linus"'],
    [["--user", "a b"], "invalid_argument", "is not a user"],
    [["-p", "restrictive", "--user", "root"], "invalid_argument", "no root"],
    [["--env", "NOT_SET"], "invalid_argument", "NOT_SET is not set here"],
    [["--env", "1A=x"], "invalid_argument", "is not a name of a variable"],
    [["--workdir", "../src"], "invalid_argument", "is no path in the sandbox"],
    [["--memory", "1m"], "invalid_argument", "is not within 16m to 1t"],
    [["--timeout", "0s"], "invalid_argument", "--timeout"],
    [["--tty", "--json"], "invalid_argument", "--tty contradicts --json"],
    [["-v", "vendor"], "invalid_argument", "HOST:GUEST[:ro]"],
    [["-v", "vendor:deps"], "invalid_argument", "HOST:GUEST[:ro]"],
    [["-v", "missing:/deps"], "invalid_argument", 'missing" does not exist'],
    [["-v", "vendor:/"], "invalid_argument", "nothing can be mounted"],
    [["-v", "vendor:/usr/lib/x"], "invalid_argument", "nothing can be mounted"],
    [["-v", "vendor:/a/../proc"], "invalid_argument", "nothing can be mounted"],
    [["-v", "vendor:/a", "-v", "etc:/a"], "invalid_argument", "share the guest path /a"],
    [["-v", "/:/host"], "policy_denied", "the whole machine"],
    [["-v", "/proc:/p:ro"], "policy_denied", "/proc"],
    [["-v", "/dev/null:/n"], "policy_denied", "/dev"],
    [["-v", "../home/.ssh:/keys:ro"], "policy_denied", "**/.ssh"],
    [["-v", "innocent:/keys:ro"], "policy_denied", "**/.ssh"],
    [["-v", "../home/.npmrc:/npmrc:ro"], "policy_denied", "**/.npmrc"],
    [["-v", "../home/.config:/conf:ro"], "policy_denied", "hosts.yml"],
    [["-v", ".git:/git"], "policy_denied", "protected"],
    [["-v", ".git/hooks:/hooks"], "policy_denied", "protected"],
  ])("%j", (words, code, message) => {
    const error = refusal(() => prepare(...words, "ls"));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain("\n");
    if (!message.startsWith("share")) expect(error.hint).toBeDefined();
  });

  test.each([
    ["home", "is a home directory"],
    [".", "is above the home directory"],
  ])("a home directory as a writable project: %s", (below, message) => {
    const { verb, rest } = findVerb(["run", "ls"]);
    const surroundings = { cwd: join(root, below), homeDir: home, env: {} };
    const at = (...words: string[]) =>
      prepareRun(runSpecOf(parseOptions(verb, [...words, ...rest]), surroundings), surroundings);
    for (const words of [
      ["--workspace", "sync"],
      ["--workspace", "mount"],
      ["-p", "permissive"],
    ]) {
      const error = refusal(() => at(...words));
      expect(error.code).toBe("policy_denied");
      expect(error.message).toContain(message);
      expect(error.hint).toContain("--workspace copy");
    }
    expect(at("--workspace", "copy").projectDir).toBe(join(root, below));
  });

  test("a home directory as a writable mount, also where HOME names another one", () => {
    expect(refusal(() => prepare("-v", "../home:/h", "ls")).message).toContain("a home directory");
    expect(refusal(() => prepare("-v", `${userInfo().homedir}:/h`, "ls")).message).toContain("home directory");
    expect(prepare("-v", "../home:/h:ro", "ls").policy.fs.mounts).toHaveLength(1);
  });

  test("an empty word as the command", () => {
    expect(refusal(() => prepare("--", "")).code).toBe("invalid_argument");
  });

  test("a socket as the source of a mount", async () => {
    const path = join(root, "socket");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    try {
      expect(refusal(() => prepare("-v", `${path}:/s`, "ls")).message).toContain("neither a file nor a folder");
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test.each(["/", "/proc/self"])("%s as the project", (cwd) => {
    expect(refusal(() => prepareAt(cwd, "ls")).code).toBe("policy_denied");
  });

  test("a project inside a hidden folder, or above hidden files that its globs would miss", () => {
    expect(refusal(() => prepareAt(join(home, ".ssh"), "ls")).message).toContain("**/.ssh");
    expect(refusal(() => prepareAt(join(home, ".config"), "ls")).message).toContain("hosts.yml");
    expect(prepareAt(join(home, ".ssh"), "--workspace", "none", "ls").projectDir).toBeNull();
  });

  test("a protected folder as a project that would be changed", () => {
    const hooks = join(project, ".git/hooks");
    expect(refusal(() => prepareAt(hooks, "--workspace", "mount", "ls")).message).toContain("protected");
    expect(prepareAt(hooks, "ls").projectDir).toBe(hooks);
  });

  test("never the value of a variable in the message", () => {
    expect(refusal(() => prepare("-e", "A-B=hunter2", "ls")).message).not.toContain("hunter2");
  });
});

describe("is not refused", () => {
  test.each<[string, (path: string) => void]>([
    ["a pipe that nobody writes", (path) => execFileSync("mkfifo", [path])],
    ["an endless file", (path) => symlinkSync("/dev/zero", path)],
  ])("nor held up by a Procfile that is %s", (_, make) => {
    const folder = mkdtempSync(join(root, "procfile-"));
    make(join(folder, "Procfile"));
    expect(prepareAt(folder, "./tool").image).toMatchObject({ name: "alpine:3.20" });
  });

  test.each([
    [["-v", "etc:/conf:ro"]],
    [["-v", ".npmrc:/npmrc:ro"]],
    [["-v", ".git:/git:ro"]],
    [["-v", "../home/.cargo:/cargo"]],
    [["-v", "vendor:/workspace/deps"]],
  ])("%j", (words) => {
    expect(prepare(...words, "ls").policy.fs.mounts).toHaveLength(1);
  });
});

describe("options that are asked for again", () => {
  const words = Object.freeze(["run", "--env", "PLAIN", "true"]);
  const understood = () => {
    const { verb, rest } = findVerb(words);
    return parseOptions(verb, rest);
  };
  const parsed = understood();
  const again = (at: Surroundings, configuration?: Configuration) =>
    prepareRun(runSpecOf(parsed, at), at, configuration);

  test("have the same policy in the same environment, and that of another environment in another", () => {
    const env = Object.freeze({ PLAIN: "one" });
    const first = again({ cwd: project, homeDir: home, env });
    expect(again({ cwd: project, homeDir: home, env }).policy).toBe(first.policy);
    const other = again({ cwd: project, homeDir: home, env: Object.freeze({ PLAIN: "two" }) });
    expect([first, other].map(({ policy }) => policy.proc.env.PLAIN)).toEqual(["one", "two"]);
  });

  test("are looked at anew in an environment that can change", () => {
    const env = { PLAIN: "one" };
    again({ cwd: project, homeDir: home, env });
    env.PLAIN = "two";
    expect(again({ cwd: project, homeDir: home, env }).policy.proc.env.PLAIN).toBe("two");
  });

  test("follow a file as soon as there is one, and are themselves again when it is gone", () => {
    const at = { cwd: project, homeDir: home, env: Object.freeze({ PLAIN: "one" }) };
    const before = again(at).policy.resources.memoryMiB;
    const layer = { origin: "agentkernel.toml", fields: { "resources.memoryMiB": 77 } };
    const combine: typeof noConfiguration.combine = (flags) => ({ ...flags, project: [layer] });
    expect(again(at, { ...noConfiguration, combine }).policy.resources.memoryMiB).toBe(77);
    expect(again(at).policy.resources.memoryMiB).toBe(before);
  });

  test("are refused from a folder that is not to be shown, whoever asked before", () => {
    const env = Object.freeze({ PLAIN: "one" });
    again({ cwd: project, homeDir: home, env });
    const there = () => again({ cwd: join(home, ".ssh"), homeDir: home, env });
    expect(refusal(there).code).toBe("policy_denied");
    expect(refusal(there).code).toBe("policy_denied");
  });
});
