/** Debian's docker-registry on a loopback port of its own, open or behind a login, and what it was asked for. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly bytes: number;
}

const ACCESS = /"(GET|HEAD) (\S+) HTTP\/1\.1" (\d+) (\d+) /;

export class RealRegistry {
  readonly host: string;
  readonly requests: LoggedRequest[];
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string, host: string, requests: LoggedRequest[]) {
    this.#child = child;
    this.#folder = folder;
    this.host = host;
    this.requests = requests;
  }

  /** `auth` is the section of that name in the registry's configuration, which is YAML and so may be JSON. */
  static async start(auth: object | null = null): Promise<RealRegistry> {
    const folder = mkdtempSync(join(tmpdir(), "agentkernel-registry-"));
    const config = {
      version: 0.1,
      log: { level: "info", accesslog: { disabled: false } },
      storage: { filesystem: { rootdirectory: join(folder, "data") } },
      http: { addr: "127.0.0.1:0", secret: "test" },
      ...(auth === null ? {} : { auth }),
    };
    const file = join(folder, "config.yml");
    writeFileSync(file, JSON.stringify(config));
    const child = spawn("docker-registry", ["serve", file], { stdio: ["ignore", "pipe", "pipe"] });
    const requests: LoggedRequest[] = [];
    eachLine(child.stdout, (line) => {
      const [, method, path, status, bytes] = ACCESS.exec(line) ?? [];
      if (method !== undefined && path !== undefined) {
        requests.push({ method, path, status: Number(status), bytes: Number(bytes) });
      }
    });
    const host = await listeningHost(child);
    return new RealRegistry(child, folder, host, requests);
  }

  blobDownloads(): LoggedRequest[] {
    return this.requests.filter(
      ({ method, path, status }) => method === "GET" && path.includes("/blobs/") && status < 300,
    );
  }

  /** The log is written after the answer: asks one thing more, and waits until that is in the log. */
  async logFlushed(): Promise<void> {
    const mark = `/v2/flush-${this.requests.length}-${process.hrtime.bigint()}/manifests/x`;
    await fetch(`http://${this.host}${mark}`);
    while (!this.requests.some(({ path }) => path === mark)) await once(this.#child.stdout ?? this.#child, "data");
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function eachLine(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  let rest = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  });
}

function listeningHost(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = "";
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`docker-registry ended at once:\n${log}`)));
    eachLine(child.stderr, (line) => {
      log += `${line}\n`;
      const host = /listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (host !== undefined) resolve(host);
    });
  });
}
