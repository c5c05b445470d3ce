/**
 * `serve`: the daemon in the foreground, with the HTTP interface on TCP. One process owns a user's named sandboxes, so a
 * daemon in the background that is idle makes room for this one; what runs in sandboxes that stay goes on. It is ended
 * last: whatever would keep this one from serving is found out before.
 */
import { closeSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makeFolder } from "../../audit/make-folder.js";
import { AgentKernelError } from "../../core/errors.js";
import { fileReason } from "../../core/file-reason.js";
import { checkServe, type ServeOptions } from "../../daemon/api.js";
import { askDaemon } from "../../daemon/ask.js";
import { FileLog, StderrLog } from "../../daemon/log.js";
import { runDaemon } from "../../daemon/own-process.js";
import { refuseUnlessReplaceable } from "../../daemon/replaceable.js";
import { type DaemonPlace, daemonPlace } from "../../daemon/socket-place.js";
import type { DaemonStatus } from "../../daemon/status.js";
import type { Invocation } from "../../invocation/index.js";
import { parseCount } from "../../policy/resources.js";
import { readConfiguration } from "../../request/index.js";
import { daemonCommands } from "../daemon-commands.js";
import { logPath } from "../daemon-options.js";
import { e2bOptions } from "../e2b-options.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeOut } from "../output.js";

const USUAL_HOST = "127.0.0.1";
const USUAL_PORT = 8080;
const portRange = { min: 0, max: 65_535, whole: true, text: "0 to 65535", example: "8080" };
const placesRange = { min: 1, max: 10_000, whole: true, text: "1 to 10000", example: "64" };
const rateRange = { min: 1, max: 10_000_000, whole: true, text: "1 to 10000000", example: "600" };

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  const serve = await serveOptions(parsed, invocation);
  const place = daemonPlace(env, homeDir);
  const path = logPath(parsed, invocation);
  const before = await replaceable(place);
  checkWritable("--access-log", serve.accessLogPath);
  checkWritable("--log", path);
  await checkServe(serve, { env, homeDir });
  if (before !== null) {
    await askDaemon(place, "POST", "/daemon/stop");
    const kept = "sandboxes that stay go on";
    await writeErr(
      invocation,
      `agentkernel: the daemon in the background (process ${before.pid}) made room; ${kept}\n`,
    );
  }
  const log = path === null ? new StderrLog() : new FileLog(path);
  const stay = { onDemand: false, idleTimeoutMs: null };
  const life = { stay, readStay: async () => stay, isBackground: false, service: env.AGENTKERNEL_SERVICE || null };
  const own = { env, homeDir };
  const options = { place, own, commands: daemonCommands, log, logPath: path, ...life, serve };
  await runDaemon(options, async (daemon) => {
    await writeOut(invocation, `listening on ${daemon.url}\n`);
  });
  return 0;
}

async function serveOptions(parsed: ParsedOptions, invocation: Invocation): Promise<ServeOptions> {
  const { cwd } = invocation;
  const value = (name: string): string | undefined => parsed.values.get(name)?.[0];
  const path = (name: string): string | null => (value(name) === undefined ? null : resolve(cwd, value(name) ?? ""));
  const { api } = await readConfiguration({}, { ...invocation, cwd: "/proc/self/no-project" });
  const [certPath, keyPath] = [path("tls-cert"), path("tls-key")];
  if ((certPath === null) !== (keyPath === null)) {
    throw new AgentKernelError("invalid_argument", "--tls-cert goes with --tls-key", {
      hint: "give both",
    });
  }
  const port = value("port");
  const places = value("max-concurrent");
  const rate = value("rate");
  return {
    tcp: {
      host: value("host") ?? api.host ?? USUAL_HOST,
      port: port === undefined ? (api.port ?? USUAL_PORT) : parseCount("--port", port, portRange),
      tls: certPath === null || keyPath === null ? null : { certPath, keyPath },
    },
    jwt: jwtSettings(value, cwd),
    limits: {
      ...(places === undefined ? {} : { places: parseCount("--max-concurrent", places, placesRange) }),
      ...(rate === undefined ? {} : { requestsPerMinute: parseCount("--rate", rate, rateRange) }),
    },
    e2b: e2bOptions(parsed, api),
    accessLogPath: path("access-log"),
  };
}

function jwtSettings(value: (name: string) => string | undefined, cwd: string): ServeOptions["jwt"] {
  const [jwks, issuer, audience] = [value("jwks"), value("jwt-issuer"), value("jwt-audience")];
  if (jwks === undefined && issuer === undefined && audience === undefined) return null;
  if (jwks === undefined || issuer === undefined || audience === undefined) {
    throw new AgentKernelError("invalid_argument", "tokens need all of --jwks, --jwt-issuer, --jwt-audience", {
      hint: "a token is only taken from the issuer that is named, and only where it is meant for this server",
    });
  }
  return { jwks: /^https?:/.test(jwks) ? jwks : resolve(cwd, jwks), issuer, audience };
}

/** The daemon that is to make room. One that serves command lines now is not ended under them. */
async function replaceable(place: DaemonPlace): Promise<DaemonStatus | null> {
  const status = (await askDaemon(place, "GET", "/daemon")) as DaemonStatus | null;
  if (status === null) return null;
  refuseUnlessReplaceable(status, "start this");
  if (status.at_work > 0) {
    throw new AgentKernelError("conflict", `a daemon is up (process ${status.pid}) and at work`, {
      hint: "wait for its commands to end, or end it: agentkernel daemon stop",
    });
  }
  return status;
}

function checkWritable(option: string, path: string | null): void {
  if (path === null) return;
  try {
    makeFolder(dirname(path));
    closeSync(openSync(path, "a", 0o600));
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", `${option}: ${path} cannot be written: ${fileReason(cause)}`, {
      hint: "name a file in a folder of yours",
      cause,
    });
  }
}
