/** Options into a policy and, for `run`, into a whole request. All checks that need no sandbox are made here. */
import { statSync } from "node:fs";
import { AgentKernelError } from "../core/errors.js";
import type { Policy } from "../core/policy.js";
import { commandEnvironment } from "../policy/environment.js";
import { type ResolvedPolicy, resolve } from "../policy/resolve.js";
import { checkBackend, chooseImage } from "./choices.js";
import { parseMount } from "./mount-argument.js";
import type { ParsedOptions } from "./option-spec.js";
import { policyInputs } from "./policy-flags.js";
import type { RunRequest } from "./run-request.js";
import { refuseUnlessShowable } from "./shown-paths.js";
import type { Surroundings } from "./surroundings.js";

/** The policy that these options make here, with everything checked that a run would check. */
export function preparePolicy(parsed: ParsedOptions, surroundings: Surroundings): ResolvedPolicy {
  checkBackend(parsed.values.get("backend")?.[0]);
  chooseImage(parsed.values.get("image")?.[0]);
  workingFolder(parsed);
  const mounts = (parsed.values.get("mount") ?? []).map((text) => parseMount(text, surroundings.cwd));
  const resolved = resolve(policyInputs(parsed, mounts, surroundings.env));
  checkShownPaths(resolved.policy, surroundings);
  return resolved;
}

export function prepareRun(parsed: ParsedOptions, surroundings: Surroundings): RunRequest {
  const json = parsed.flags.has("json");
  const tty = parsed.flags.has("tty");
  if (parsed.rest[0] === "") throw new AgentKernelError("invalid_argument", "the command is an empty word");
  if (tty && json) {
    throw new AgentKernelError("invalid_argument", "--tty contradicts --json", {
      hint: "a terminal's output is for people; leave one of them out",
    });
  }
  const { policy, origins } = preparePolicy(parsed, surroundings);
  const homeDir = policy.fs.home === "readonly" ? showableHome(surroundings.homeDir) : null;
  return {
    argv: parsed.rest,
    policy,
    origins,
    image: chooseImage(parsed.values.get("image")?.[0]),
    projectDir: policy.fs.workspace.mode === "none" ? null : surroundings.cwd,
    homeDir,
    cwd: workingFolder(parsed),
    env: commandEnvironment({
      proc: policy.proc,
      egress: policy.net.egress,
      hostEnv: surroundings.env,
      shownHome: homeDir,
      tty,
    }),
    tty,
    json,
    notes: notesFor(policy, homeDir),
  };
}

function workingFolder(parsed: ParsedOptions): string {
  const folder = parsed.values.get("workdir")?.[0] ?? "/workspace";
  if (!folder.startsWith("/") || folder.includes("\0")) {
    throw new AgentKernelError("invalid_argument", `--workdir: "${folder}" is not an absolute path`, {
      hint: "it is a path inside the sandbox, where the project is /workspace; for example --workdir /workspace/src",
    });
  }
  return folder;
}

function checkShownPaths(policy: Policy, { cwd }: Surroundings): void {
  const { mode, readonly } = policy.fs.workspace;
  if (mode !== "none") {
    refuseUnlessShowable(
      {
        what: "the current folder",
        path: cwd,
        writable: mode !== "copy" && !readonly,
        readonlyHint: "change to the project's own folder, or use --workspace copy",
      },
      policy,
    );
  }
  for (const { host, readonly: isReadonly } of policy.fs.mounts) {
    const what = "the source of --mount";
    const readonlyHint = "add :ro to the mount to only show it";
    refuseUnlessShowable({ what, path: host, writable: !isReadonly, readonlyHint }, policy);
  }
}

function showableHome(homeDir: string): string | null {
  if (!homeDir.startsWith("/") || homeDir === "/") return null;
  return statSync(homeDir, { throwIfNoEntry: false })?.isDirectory() ? homeDir : null;
}

function notesFor(policy: Policy, homeDir: string | null): readonly string[] {
  const notes: string[] = [];
  if (policy.net.egress !== "off") {
    notes.push(`network "${policy.net.egress}" is not in this version yet: the sandbox has no network`);
  }
  if (policy.fs.home === "readonly" && homeDir === null) {
    notes.push("there is no home folder that could be shown: the sandbox has none");
  }
  return notes;
}
