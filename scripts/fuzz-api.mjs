// Fuzzes the HTTP API by its own description (schemathesis, from PyPI, in an environment of its own): no answer is a
// fault of the server's, and every answer is as described. Everything stays on loopback; no image is fetched.
//
//   npm run fuzz:api -- [examples of each operation (20) | --quick]
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const VERSION = "4.32.5";
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const environment = join(root, ".build", `schemathesis-${VERSION}`);
const program = join(environment, "bin", "schemathesis");
const isQuick = process.argv[2] === "--quick";
const cli = join(root, "dist", "agentkernel.js");

// Streams that have no end, a WebSocket, and words that are reserved: their answer, 501, is described and meant.
const left = "getEvents|getSandboxEvents|attach|snapshotSandbox|forkSandbox|diffSandbox|applySandbox";
// A description cannot say which commands or images exist, so data that fits it may still be refused.
const notAsked = "positive_data_acceptance,missing_required_header";

if (!existsSync(program)) {
  mkdirSync(dirname(environment), { recursive: true });
  must(spawnSync("python3", ["-m", "venv", environment], { stdio: "inherit" }));
  must(spawnSync(join(environment, "bin", "pip"), ["install", "-q", `schemathesis==${VERSION}`], { stdio: "inherit" }));
}

const folder = mkdtempSync(join(tmpdir(), "agentkernel-fuzz-"));
mkdirSync(join(folder, "run"), { mode: 0o700 });
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  XDG_RUNTIME_DIR: join(folder, "run"),
  XDG_STATE_HOME: join(folder, "state"),
  AGENTKERNEL_IMAGE: "host",
  AGENTKERNEL_PULL: "never",
};
const server = spawn(process.execPath, [cli, "serve", "--port", "0"], { env, stdio: ["ignore", "pipe", "pipe"] });
let said = "";
server.stderr.on("data", (chunk) => {
  said += chunk;
});
const exited = new Promise((resolve) => server.once("close", resolve));
try {
  const url = await new Promise((resolve, reject) => {
    server.stdout.once("data", (chunk) => resolve(/http:\S+/.exec(String(chunk))?.[0]));
    void exited.then(() => reject(new Error(said)));
  });
  const scopes = ["run", "read", "sandboxes", "metrics"].flatMap((scope) => ["--scope", scope]);
  const made = must(spawnSync(process.execPath, [cli, "keys", "create", ...scopes, "fuzz"], { env, encoding: "utf8" }));
  const headers = { authorization: `Bearer ${made.stdout.trim()}`, "content-type": "application/json" };
  await fetch(`${url}/sandboxes`, { method: "POST", headers, body: JSON.stringify({ name: "work", network: false }) });
  const fuzzer = spawn(
    program,
    [
      ...["run", `${url}/openapi.json`, "-H", `Authorization: ${headers.authorization}`, "--no-color"],
      ...["--checks", "all", "--exclude-checks", notAsked, "--exclude-operation-id-regex", left],
      ...(isQuick ? ["--phases", "examples,coverage"] : ["--max-examples", process.argv[2] ?? "20"]),
      ...["--request-timeout", "40", "--report-dir", join(folder, "report")],
    ],
    { cwd: folder, stdio: "inherit", env: { ...env, NO_PROXY: "*" } },
  );
  const status = await new Promise((resolve) => fuzzer.once("close", resolve));
  const isUp = server.exitCode === null && (await fetch(`${url}/health`)).ok;
  if (!isUp || /a fault of its own|request [0-9a-f-]+: /.test(said)) console.error(`the server failed:\n${said}`);
  process.exitCode = isUp && status === 0 && !/request [0-9a-f-]+: /.test(said) ? 0 : 1;
  await fetch(`${url}/sandboxes`, { headers })
    .then((answer) => answer.json())
    .then(({ data }) =>
      Promise.all(
        data.sandboxes.map(({ name }) => fetch(`${url}/sandboxes/${name}?force=true`, { method: "DELETE", headers })),
      ),
    );
} finally {
  server.kill("SIGTERM");
  await exited;
  rmSync(folder, { recursive: true, force: true });
}

function must(done) {
  if (done.status === 0) return done;
  throw new Error(String(done.stderr ?? `it ended with ${done.status}`));
}
