/** The SDKs, and how the conformance runner of each is built and started. */
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../repository.js";
import { scenariosPath } from "./scenarios.js";

export interface Sdk {
  readonly name: string;
  /** Its conformance runner, and its example. */
  readonly runner: readonly string[];
  readonly example: readonly string[];
  /** It cannot reach the daemon's socket. */
  readonly isTcpOnly?: true;
  /** It cannot start a daemon. */
  readonly startsNothing?: true;
}

const sources = join(repository, "sdk");
const built = join(repository, ".build", "sdk");
const checks = join(sources, "typescript", "dist", "checks");
const rust = join(repository, ".build", "target-sdk", "debug", "examples");
const python = join(built, "python", "bin", "python3");

export const sdks: readonly Sdk[] = [
  {
    name: "typescript",
    runner: [process.execPath, join(checks, "conformance", "runner.js")],
    example: [process.execPath, join(checks, "examples", "first.js")],
  },
  {
    name: "typescript-fetch",
    runner: [process.execPath, join(checks, "conformance", "runner.js"), "--fetch"],
    example: [process.execPath, join(checks, "examples", "first.js")],
    isTcpOnly: true,
  },
  {
    name: "python",
    runner: [python, join(sources, "python", "conformance", "runner.py")],
    example: [python, join(sources, "python", "examples", "first.py")],
  },
  {
    name: "python-async",
    runner: [python, join(sources, "python", "conformance", "runner.py"), "--async"],
    example: [python, join(sources, "python", "examples", "first_async.py")],
  },
  { name: "golang", runner: [join(built, "golang", "conformance")], example: [join(built, "golang", "first")] },
  { name: "rust", runner: [join(rust, "conformance")], example: [join(rust, "first")] },
];

const swiftPrograms = join(built, "swift", "debug");
const swiftScript = join(repository, "scripts", "swift.sh");

/** Tried by a lane of its own: its toolchain is not one that a machine has. */
export const swift: Sdk = {
  name: "swift",
  startsNothing: true,
  runner: ["sh", swiftScript, "exec", join(swiftPrograms, "Conformance")],
  example: ["sh", swiftScript, "exec", join(swiftPrograms, "First")],
};

/** Makes the runner; quick where nothing changed. */
export async function buildSdk({ name }: Pick<Sdk, "name">): Promise<void> {
  await promisify(execFile)("sh", [join(repository, "scripts", "build-sdk.sh"), name.replace(/-(async|fetch)$/, "")]);
}

export interface Outcome {
  readonly scenario: string;
  readonly step: number;
  readonly result?: unknown;
  readonly events?: readonly Readonly<Record<string, unknown>>[];
  readonly error?: unknown;
}

/** What came of each step. Rejects where the runner itself failed. */
export async function runScenarios(
  { runner }: Sdk,
  server: string,
  env: Readonly<Record<string, string>>,
  path = scenariosPath,
): Promise<readonly Outcome[]> {
  const stdout = await outputOf([...runner, path, server], env);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Rejects where it ends with another status than 0. */
export async function outputOf(
  [program = "", ...words]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}\n${stdout.slice(-1000)}`);
  return stdout;
}
