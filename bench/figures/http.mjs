import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bwrapTrue } from "../bwrap.mjs";
import { HttpClient } from "../http-client.mjs";
import { compare, interleaved } from "../measure.mjs";

export const httpRun = {
  name: "http-run",
  promise: "POST /run of `true` on a kept connection, against `bwrap --unshare-all` running `true`",
  limit: { ratio: 1 },
  run: (context, quick) =>
    withServer(context, async (ask) => {
      const body = { command: ["true"], network: false, image: "host" };
      const { http, bwrap, health } = await interleaved(
        {
          http: () => timed(() => ask("POST", "/run", body)),
          health: () => timed(() => ask("GET", "/health")),
          bwrap: () => context.stopwatch.untilExit(bwrapTrue, { cwd: context.emptyProject }),
        },
        { rounds: quick ? 20 : 200, warmUps: 10, settleMs: 10 },
      );
      return { ...compare(http, bwrap), information: { againstHealth: compare(http, health).ratio } };
    }),
};

export const httpExec = {
  name: "http-exec",
  promise: "exec of `true` in a running sandbox over HTTP, against `bwrap --unshare-all` running `true`",
  limit: { ratio: 0.5 },
  run: (context, quick) =>
    withServer(context, async (ask) => {
      await ask("POST", "/sandboxes", { name: "bench", network: false, image: "host" });
      const { http, bwrap } = await interleaved(
        {
          http: () => timed(() => ask("POST", "/sandboxes/bench/exec", { command: ["true"] })),
          bwrap: () => context.stopwatch.untilExit(bwrapTrue, { cwd: context.emptyProject }),
        },
        { rounds: quick ? 20 : 200, warmUps: 10, settleMs: 10 },
      );
      await ask("DELETE", "/sandboxes/bench?force=true");
      return compare(http, bwrap);
    }),
};

/** The server's processor time is not this process's: only the wall clock counts here. */
export async function timed(work) {
  const startedAt = performance.now();
  await work();
  return { wallMs: performance.now() - startedAt, cpuMs: 0 };
}

export async function withServer({ entry, folder }, work) {
  const runtime = join(folder, "http-runtime");
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: join(folder, "http-state") };
  const server = spawn(process.execPath, [entry, "serve", "--port", "0"], { env, stdio: ["ignore", "pipe", "ignore"] });
  const exited = new Promise((resolve) => server.once("close", resolve));
  const port = await new Promise((resolve) => {
    server.stdout.once("data", (chunk) => resolve(Number(/:(\d+)\s*$/.exec(String(chunk))?.[1])));
  });
  const key = readFileSync(join(env.XDG_STATE_HOME, "agentkernel", "api-tokens", String(port)), "utf8").trim();
  const client = new HttpClient({ port, key });
  try {
    return await work((method, path, body) => client.ask(method, path, body), env);
  } finally {
    client.close();
    server.kill("SIGTERM");
    await exited;
  }
}
