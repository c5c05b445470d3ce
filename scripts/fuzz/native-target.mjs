// Targets of Rust: `native/fuzz/src/bin/NAME.rs`, compiled with the coverage that libFuzzer follows, and searched by it.
// Stable Rust has no option for that coverage of its own; its compiler takes LLVM's.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const COVERAGE = [
  "-Cpasses=sancov-module",
  "-Cllvm-args=-sanitizer-coverage-level=4",
  "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
  "-Cllvm-args=-sanitizer-coverage-pc-table",
  "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
const SHORTENING_SECONDS = 20;

const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-gnu`;

/** Compiles the targets. Returns the folder of their programs. */
export function compiled(root, names) {
  const targetFolder = join(root, ".build", "fuzz", "target");
  const { status, error } = spawnSync(
    "cargo",
    [
      ...["build", "--release", "--quiet", "--target", triple, "--target-dir", targetFolder],
      ...names.flatMap((name) => ["--bin", name]),
    ],
    {
      cwd: join(root, "native", "fuzz"),
      stdio: "inherit",
      env: { ...process.env, CARGO_ENCODED_RUSTFLAGS: COVERAGE.join("\x1f") },
    },
  );
  if (error) throw error;
  if (status !== 0) throw new Error("the Rust targets cannot be compiled");
  return join(targetFolder, triple, "release");
}

/** Ends when the time is over or an input went wrong; the shortest that does then comes as a path. */
export function searchedNative({ program, work, corpus, found, maxBytes, minutes }) {
  rmSync(found, { recursive: true, force: true });
  for (const folder of [work, found]) mkdirSync(folder, { recursive: true });
  const limits = [`-max_len=${maxBytes}`, "-timeout=20", "-rss_limit_mb=2048"];
  const { status, stderr, error } = spawnSync(
    program,
    [...limits, `-max_total_time=${Math.ceil(minutes * 60)}`, `-artifact_prefix=${found}/`, work, corpus],
    { encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "ignore", "pipe"] },
  );
  if (error) throw error;
  const summary = [...stderr.matchAll(/^#(\d+).*\bcov: (\d+) ft: (\d+)/gm)].at(-1);
  const [, executions = "0", reached = "0", features = "0"] = summary ?? [];
  const result = { executions: Number(executions), reached: Number(reached), features: Number(features) };
  if (status === 0) return { kind: "done", ...result };
  const [artifact] = readdirSync(found);
  const reason = stderr.split("\n").slice(-40).join("\n");
  if (artifact === undefined) throw new Error(`libFuzzer failed:\n${reason}`);
  return { kind: "failed", path: shortened(program, join(found, artifact), limits), reason, ...result };
}

function shortened(program, path, limits) {
  const shorter = `${path}-shorter`;
  const options = ["-minimize_crash=1", `-max_total_time=${SHORTENING_SECONDS}`, `-exact_artifact_path=${shorter}`];
  spawnSync(program, [...limits, ...options, path], { stdio: "ignore" });
  try {
    return statSync(shorter).size < statSync(path).size ? shorter : path;
  } catch (error) {
    if (error.code === "ENOENT") return path;
    throw error;
  }
}

/** Adds to the corpus what reaches something that it does not reach yet, the shortest inputs first. */
export function mergedNative({ program, work, corpus, maxBytes }) {
  const before = readdirSync(corpus).length;
  const staging = `${work}-merging`;
  rmSync(staging, { recursive: true, force: true });
  cpSync(corpus, staging, { recursive: true });
  spawnSync(program, ["-merge=1", `-max_len=${maxBytes}`, staging, work], { stdio: "ignore" });
  return { staging, before };
}
