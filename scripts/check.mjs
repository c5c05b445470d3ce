// `npm run check`: what an edit can break and a minute can show. Linters and types of everything, the architecture, the
// unit tests that the module graph leads to from changed files, and cargo's checks where Rust changed. Changed means:
// not yet in the upstream branch (or, without one, in the last commit). Nothing is built, and nothing starts a sandbox;
// `npm test` is what has to pass.
//
//   npm run check              compared with the upstream branch
//   npm run check -- v0.1.0    compared with another commit
import { execFileSync, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function git(...words) {
  return execFileSync("git", words, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** The commit that changes are counted from. */
function baseOf(asked) {
  if (asked !== undefined) return git("rev-parse", "--verify", `${asked}^{commit}`);
  try {
    return git("merge-base", "HEAD", "@{upstream}");
  } catch {
    return git("rev-parse", "HEAD");
  }
}

function changedSince(base) {
  const lists = [git("diff", "--name-only", base), git("ls-files", "--others", "--exclude-standard")];
  return lists.flatMap((list) => list.split("\n")).filter((path) => path !== "");
}

function bin(name) {
  return join(root, "node_modules", ".bin", name);
}

function stepsFor(base, changed) {
  const native = join(root, "native");
  const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-gnu`;
  const compiled = ["--workspace", "--target", triple, "--target-dir", "../.build/target"];
  const vitest = ["run", "--reporter=dot", "--reporter=./scripts/failure-reporter.mjs", "--project", "unit"];
  const steps = [
    ["biome", root, bin("biome"), ["check", "."]],
    ["tsc", root, bin("tsc"), ["--noEmit"]],
    ["architecture", root, bin("vitest"), [...vitest, "test/architecture"]],
    ["unit tests of what changed", root, bin("vitest"), [...vitest, "--changed", base]],
  ];
  if (!changed.some((path) => path.startsWith("native/"))) return steps;
  return [
    ...steps,
    ["cargo fmt", native, "cargo", ["fmt", "--all", "--check"]],
    [
      "cargo clippy",
      native,
      "cargo",
      ["clippy", ...compiled, "--exclude", "ak-wasm", "--all-targets", "--", "-D", "warnings"],
    ],
  ];
}

function run([name, cwd, command, words]) {
  const startedMs = Date.now();
  return new Promise((resolve) => {
    const child = spawn(command, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const take = (text) => {
      output += text;
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    child.on("error", (error) => take(`${error.message}\n`));
    child.on("close", (code) => {
      const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
      process.stdout.write(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)\n`);
      if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
      resolve(code === 0);
    });
  });
}

let base;
try {
  base = baseOf(process.argv[2]);
} catch {
  process.stderr.write(`check: "${process.argv[2]}" is no commit of this repository\n`);
  process.exit(2);
}
// One after another: each uses all processors by itself.
let failed = 0;
for (const step of stepsFor(base, changedSince(base))) if (!(await run(step))) failed += 1;
process.exitCode = failed === 0 ? 0 : 1;
