// `npm run test:suites`: the test suites of requests and express, on the host and in a sandbox, one test at a time
// against the other: what a project's own tests say must not depend on the sandbox. Sources come from PyPI and from the
// machine's own Debian archives, by name.
//
//   npm run test:suites                    both, in a temporary folder
//   npm run test:suites -- --folder DIR    in DIR, which is kept; what is there already is not fetched again
//
// Both sides have no network but loopback. requests and pytest-httpbin bring private keys for tests, which a sandbox does
// not see unless the user shows them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { unpackSources } from "../corpus/install.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const suites = [
  {
    name: "requests",
    fetch: fetchRequests,
    command: [".venv/bin/python", "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "tests"],
    result: /^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S+)/gm,
    shows: ["--show", "tests/certs/**", "--show", ".venv/lib/*/site-packages/pytest_httpbin/certs/**"],
  },
  {
    name: "express",
    fetch: fetchExpress,
    command: [
      ...["node_modules/.bin/mocha", "--require", "test/support/env", "--reporter", "tap", "--check-leaks"],
      ...["test/", "test/acceptance/"],
    ],
    result: /^((?:not )?ok) \d+ (.*)$/gm,
    shows: [],
  },
];

const [option, kept] = process.argv.slice(2);
if (option !== undefined && (option !== "--folder" || kept === undefined)) {
  process.stderr.write("usage: npm run test:suites [-- --folder DIR]\n");
  process.exit(2);
}
const folder = kept ?? mkdtempSync(join(tmpdir(), "agentkernel-suites-"));
try {
  const same = suites.map((suite) => compare(suite));
  process.exitCode = same.every(Boolean) ? 0 : 1;
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}

function compare({ name, fetch, command, result, shows }) {
  const into = join(folder, name);
  if (!existsSync(into)) {
    mkdirSync(into, { recursive: true });
    fetch(into);
  }
  const project = join(
    into,
    readdirSync(into).find((one) => one.startsWith(`${name}-`)),
  );
  const outside = resultsOf(
    spawn("unshare", ["--net", "sh", "-ec", 'ip link set lo up; exec "$@"', "sh", ...command], project),
    result,
    project,
  );
  const cli = [
    join(root, "scripts/embedded.sh"),
    ["run", "--no-network", "--memory", "2g", "--timeout", "20m", ...shows, ...command],
  ];
  const inside = resultsOf(spawn(...cli, project), result, project);
  const differing = [...new Set([...outside.keys(), ...inside.keys()])].filter(
    (test) => outside.get(test) !== inside.get(test),
  );
  process.stdout.write(`${name}: outside ${counts(outside)}; inside ${counts(inside)}\n`);
  for (const test of differing) {
    process.stdout.write(`  DIFFERS ${test}: outside ${outside.get(test)}, inside ${inside.get(test)}\n`);
  }
  if (outside.size < 100) process.stdout.write(`  FAIL: only ${outside.size} tests were run\n`);
  return differing.length === 0 && outside.size >= 100;
}

/** By test; one of several with the same title has its number. */
function resultsOf({ stdout, stderr }, pattern, project) {
  const results = new Map();
  for (const [, status, title] of stdout.matchAll(pattern)) {
    // Some titles have the path of the project, which a sandbox also calls /workspace.
    const same = title.replaceAll(project, "/workspace");
    let name = same;
    for (let again = 2; results.has(name); again += 1) name = `${same} (${again})`;
    results.set(name, status);
  }
  if (results.size === 0) process.stdout.write(`${stdout.slice(-2000)}\n${stderr.slice(-2000)}\n`);
  return results;
}

function counts(results) {
  const by = {};
  for (const status of results.values()) by[status] = (by[status] ?? 0) + 1;
  return Object.entries(by)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ");
}

function fetchRequests(into) {
  const pip = [
    "-m",
    "pip",
    "download",
    "--quiet",
    "--no-deps",
    "--no-binary",
    ":all:",
    "--dest",
    into,
    "requests==2.32.3",
  ];
  done(spawn("python3", pip, into));
  done(spawn("tar", ["-xf", readdirSync(into).find((one) => one.endsWith(".tar.gz")), "--no-same-owner"], into));
  const project = join(into, "requests-2.32.3");
  done(spawn("python3", ["-m", "venv", ".venv"], project));
  const packages = ["pytest", "pytest-mock", "pytest-httpbin==2.1.0", "httpbin~=0.10.0", "trustme", "PySocks"];
  done(spawn(join(project, ".venv/bin/pip"), ["install", "--quiet", "--editable", ".", ...packages], project));
}

/** The package on npm has no tests. */
function fetchExpress(into) {
  const missing = unpackSources(into, ["node-express"]);
  if (missing.length > 0) throw new Error("the source package node-express could not be fetched");
  const unpacked = join(into, "node-express");
  const source = readdirSync(unpacked).find((one) => one.startsWith("express-"));
  done(spawn("mv", [join(unpacked, source), into], into));
  const options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  done(spawn("npm", options, join(into, source)));
}

function spawn(program, words, cwd) {
  return spawnSync(program, words, { cwd, encoding: "utf8", maxBuffer: 256 << 20, stdio: ["ignore", "pipe", "pipe"] });
}

function done({ status, stderr, error }) {
  if (status !== 0) throw new Error(error?.message ?? stderr);
}
