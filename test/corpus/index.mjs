// `npm run test:corpus`: installs the packages that projects use most, and some large sources, and lists what of them
// is hidden from sandboxes. Nothing may be, unless it holds a private key: such a file would be missing inside.
//
//   npm run test:corpus                     all of it, in a temporary folder
//   npm run test:corpus -- --folder DIR     in DIR, which is kept; what is there already is not fetched again
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installNpm, installPypi, unpackSources } from "./install.mjs";
import { holdsKey } from "./key-oracle.mjs";
import { debianSources, npmPackages, pypiPackages } from "./packages.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const parts = [
  { name: "npm", names: npmPackages, install: installNpm },
  { name: "pypi", names: pypiPackages, install: installPypi },
  { name: "debian", names: debianSources, install: unpackSources },
];

const [option, kept] = process.argv.slice(2);
if (option !== undefined && (option !== "--folder" || kept === undefined)) {
  process.stderr.write("usage: npm run test:corpus [-- --folder DIR]\n");
  process.exit(2);
}
const folder = kept ?? mkdtempSync(join(tmpdir(), "agentkernel-corpus-"));
const wrong = [];
try {
  for (const part of parts) wrong.push(...check(part));
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}
process.exitCode = wrong.length === 0 ? 0 : 1;

/** What is hidden of one part and should not be. */
function check({ name, names, install }) {
  const path = join(folder, name);
  const isThere = existsSync(path);
  mkdirSync(path, { recursive: true });
  const missing = isThere ? [] : install(path, names);
  const { hidden, omitted } = hiddenOf(path);
  const unfounded = hidden.filter((file) => !holdsKey(join(path, file.path)));
  const files = fileCount(path);
  process.stdout.write(
    `${name}: ${names.length - missing.length} of ${names.length} packages, ${files} files, ${hidden.length + omitted} hidden, ${unfounded.length} of them without a private key\n`,
  );
  for (const file of hidden) {
    const mark = unfounded.includes(file) ? "WRONG" : "key  ";
    process.stdout.write(`  ${mark} ${file.path} (${file.reason})\n`);
  }
  if (missing.length > 0) process.stdout.write(`  not installed: ${missing.join(", ")}\n`);
  const few = missing.length > names.length / 10 ? [{ path: name, reason: "too few packages were installed" }] : [];
  if (few.length > 0) process.stdout.write(`  FAIL: ${few[0].reason}\n`);
  return [...unfounded, ...few];
}

function hiddenOf(path) {
  const hide = JSON.parse(output(join(root, "scripts/embedded.sh"), ["policy", "explain", "--json"], path)).data.find(
    (row) => row.field === "fs.deny",
  ).value;
  return JSON.parse(output(join(root, "dist/native/ak-copy"), ["hidden"], path, JSON.stringify({ path, hide })));
}

function output(program, words, cwd, input = "") {
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    cwd,
    input,
    encoding: "utf8",
    maxBuffer: 64 << 20,
  });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
  return stdout;
}

function fileCount(path) {
  return output("find", [path, "-type", "f", "-printf", "."], path).length;
}
