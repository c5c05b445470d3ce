/** The SDKs, and how the conformance runner of each is built and started. */
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "../repository.js";
import { scenariosPath } from "./scenarios.js";

export interface Sdk {
  readonly name: string;
  readonly program: readonly string[];
}

const built = join(repository, ".build", "sdk");
const python = [join(built, "python", "bin", "python3"), join(repository, "sdk/python/conformance/runner.py")];

export const sdks: readonly Sdk[] = [
  {
    name: "typescript",
    program: [process.execPath, join(repository, "sdk/typescript/dist/checks/conformance/runner.js")],
  },
  { name: "python", program: python },
  { name: "python-async", program: [...python, "--async"] },
  { name: "golang", program: [join(built, "golang", "conformance")] },
  { name: "rust", program: [join(repository, ".build/target-sdk/debug/examples/conformance")] },
];

/** Makes the runner; quick where nothing changed. */
export async function buildSdk({ name }: Pick<Sdk, "name">): Promise<void> {
  await promisify(execFile)("sh", [join(repository, "scripts", "build-sdk.sh"), name.replace("-async", "")]);
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
  { program: [program = "", ...before] }: Sdk,
  server: "real" | "scripted",
  env: Readonly<Record<string, string>>,
): Promise<readonly Outcome[]> {
  const child = spawn(program, [...before, scenariosPath, server], { env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  if (status !== 0) throw new Error(`the runner ended with ${status}: ${stderr}\n${stdout.slice(-1000)}`);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
