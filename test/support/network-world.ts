/**
 * A world of the test's own for the command line to run in: its network, its names, its certificates and its servers.
 * Addresses are real ones (public, private, metadata), and nothing of it can leave the machine: the namespaces that it
 * is made of have no other route. All of it ends with the process that made it.
 *
 *     const world = await NetworkWorld.start();
 *     await world.serve("www.example.com", ["93.184.216.34"], 80, { kind: "http" });
 *     const result = await world.runCli(actor, ["run", "curl", "http://www.example.com/"]);
 *     expect((await world.record()).requests).toEqual([…]);
 *     await world.stop();
 *
 * Making namespaces needs root: tests that use it are `describe.skipIf(whyNoWorld() !== null)`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import type { Actor } from "./actors.js";
import { Authority } from "./network-world/authority.js";
import type {
  NameAnswers,
  ServerSpec,
  TlsSpec,
  WorldAnswer,
  WorldCommand,
  WorldRecord,
} from "./network-world/messages.js";
import { type HostNamespace, joinNamespaces, makeHost, NAME_SERVER } from "./network-world/namespaces.js";
import { repository } from "./repository.js";
import { type CliOptions, type CliResult, resultOf } from "./run-cli.js";
import { testFolder } from "./test-folder.js";
import { testSettings } from "./test-settings.js";

export { HOST_ADDRESSES, NAME_SERVER } from "./network-world/namespaces.js";

/** Addresses that lie in the world; servers listen on them. */
export const WORLD = {
  public4: "93.184.216.34",
  otherPublic4: "151.101.1.140",
  public6: "2606:2800:220:1::1",
  otherPublic6: "2a04:4e42::396",
  private4: ["10.0.0.1", "172.16.0.1", "192.168.1.10"],
  private6: ["fd12:3456:789a::1"],
  metadata: ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"],
} as const;

const everyAddress = Object.values(WORLD).flat();

/** Said once and loudly where a world cannot be made; null where it can. */
export function whyNoWorld(): string | null {
  if (process.getuid?.() === 0) return null;
  const why = "network namespaces with servers of the test's own need root: these tests are SKIPPED";
  console.warn(why);
  return why;
}

/** Serves any address of the world's that a client dials. */
export const EVERYWHERE = "::";

export class NetworkWorld {
  readonly authority: Authority;
  readonly #host: HostNamespace;
  readonly #servers: ChildProcess;
  readonly #waiting = new Map<number, (answer: WorldAnswer) => void>();
  #lastId = 0;

  private constructor(authority: Authority, host: HostNamespace, servers: ChildProcess) {
    this.authority = authority;
    this.#host = host;
    this.#servers = servers;
    servers.on("message", (answer: WorldAnswer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  static async start(moreAddresses: readonly string[] = []): Promise<NetworkWorld> {
    const folder = mkdtempSync(join(testFolder(), "world-"));
    chmodSync(folder, 0o755);
    const host = await makeHost(folder);
    let servers: ChildProcess | undefined;
    try {
      servers = await startServers(folder);
      if (servers.pid === undefined) throw new Error("the servers of the world have no process id");
      joinNamespaces(host.pid, servers.pid, [...everyAddress, NAME_SERVER, ...moreAddresses]);
      const world = new NetworkWorld(new Authority(folder), host, servers);
      await world.#do({ do: "serve-names", address: NAME_SERVER });
      return world;
    } catch (error) {
      servers?.disconnect();
      host.child.stdin?.end();
      throw error;
    }
  }

  /** What the world's DNS says of a name from now on. */
  async name(name: string, answers: NameAnswers): Promise<void> {
    await this.#do({ do: "name", name, answers });
  }

  /** Returns the port: 0 is any that is free. */
  async listen(address: string, port: number, server: ServerSpec): Promise<number> {
    return (await this.#do({ do: "listen", address, port, server })).port ?? port;
  }

  /** A name, and a server at each address that it resolves to. */
  async serve(name: string, addresses: readonly string[], port: number, server: ServerSpec): Promise<void> {
    await this.name(name, addresses);
    for (const address of addresses) await this.listen(address, port, server);
  }

  /** A certificate that whoever trusts `authority` accepts for these names and addresses. */
  tls(...hosts: readonly string[]): TlsSpec {
    return this.authority.issue(hosts);
  }

  /** All that has reached the world up to now. */
  async record(): Promise<WorldRecord> {
    return await this.#recordOf(false);
  }

  /** The same, and the world's memory of it is gone. */
  async takeRecord(): Promise<WorldRecord> {
    return await this.#recordOf(true);
  }

  /** Starts a program on the host's side of the world as the actor; its process id is the program's own. */
  spawn(actor: Actor, argv: readonly string[], options: CliOptions = {}): ChildProcess {
    const { pid } = this.#host;
    const enter = [`--net=/proc/${pid}/ns/net`, `--mount=/proc/${pid}/ns/mnt`];
    return spawnIn(enter, actor, argv, options);
  }

  /** Starts a server of its own in the world. The caller ends it; it does not outlive the test. */
  spawnInWorld(actor: Actor, argv: readonly string[], options: CliOptions = {}): ChildProcess {
    const words = ["setpriv", "--pdeathsig", "KILL", "--", ...argv];
    return spawnIn([`--net=/proc/${this.#servers.pid}/ns/net`], actor, words, options);
  }

  startCli(actor: Actor, words: readonly string[], options: CliOptions = {}): ChildProcess {
    return this.spawn(actor, [process.execPath, join(actor.dist, "agentkernel.js"), ...words], options);
  }

  async runCli(actor: Actor, words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return await resultOf(this.startCli(actor, words, options), options);
  }

  /** A program on the host's side, outside any sandbox: what an attack is compared with. */
  async runOutside(actor: Actor, argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return await resultOf(this.spawn(actor, argv, options), options);
  }

  /** Both namespaces are gone when it returns, unless a program that was started in one still runs. */
  async stop(): Promise<void> {
    const gone = [this.#servers, this.#host.child].map((child) =>
      child.exitCode === null ? once(child, "exit") : null,
    );
    this.#servers.disconnect();
    this.#host.child.stdin?.end();
    await Promise.all(gone);
  }

  async #recordOf(forget: boolean): Promise<WorldRecord> {
    const { record } = await this.#do({ do: "record", forget });
    if (record === undefined) throw new Error("the world sent no record");
    return record;
  }

  async #do(command: WorldCommand): Promise<WorldAnswer> {
    const id = ++this.#lastId;
    const answer = await new Promise<WorldAnswer>((resolve, reject) => {
      this.#waiting.set(id, resolve);
      this.#servers.send({ id, command }, (error) => error && reject(error));
    });
    if (answer.error !== undefined) throw new Error(`the world could not ${command.do}: ${answer.error}`);
    return answer;
  }
}

async function startServers(folder: string): Promise<ChildProcess> {
  const program = join(folder, "servers", "servers.mjs");
  mkdirSync(join(folder, "servers"));
  buildSync({
    entryPoints: [join(repository, "test/support/network-world/servers.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: program,
  });
  const child = spawn("unshare", ["--net", process.execPath, program], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const early = once(child, "exit").then(([status]) => {
    throw new Error(`the servers of the world ended with ${status} before they were ready`);
  });
  await Promise.race([once(child, "message"), early]);
  early.catch(() => {});
  return child;
}

function spawnIn(
  namespaces: readonly string[],
  actor: Actor,
  argv: readonly string[],
  options: CliOptions,
): ChildProcess {
  const become = ["setpriv", `--reuid=${actor.uid}`, `--regid=${actor.gid}`, "--clear-groups", "--"];
  const cwd = `--wdns=${options.cwd ?? actor.home}`;
  const program = [...(actor.uid === 0 ? [] : become), ...argv];
  return spawn("nsenter", [...namespaces, cwd, "--no-fork", "--", ...program], {
    env: {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: actor.home,
      LANG: "C.UTF-8",
      ...testSettings,
      ...options.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
}
