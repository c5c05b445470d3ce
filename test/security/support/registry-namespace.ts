/**
 * Runs inside a network namespace of the test's own, where public, private and metadata addresses all sit on loopback:
 * `registry-namespace JOB`. A hostile registry on a public address leads a trusting client, and then `images pull`,
 * to each of them. Prints, for each attempt, whether the victim's host was reached and what the command line said.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { isBlob, redirect, reply } from "../../support/registry-answers.js";
import { makeImage } from "../../support/registry-image.js";
import { ScriptedRegistry, type SeenRequest } from "../../support/registry-scripted.js";
import { tarArchive } from "../../support/tar-archive.js";

export interface NamespaceJob {
  readonly cli: readonly string[];
  readonly folder: string;
  readonly keyPath: string;
  readonly certPath: string;
  readonly architecture: string;
}

export interface Attempt {
  readonly name: string;
  /** Requests that the victim got from a client that trusts, and from ours; with the login that came along. */
  readonly trusting: readonly (string | null)[];
  readonly ours: readonly (string | null)[];
  readonly status: number | null;
  readonly stderr: string;
}

const PUBLIC = "45.66.0.1";
const OTHER_PUBLIC = "45.66.0.2";
const PRIVATE = "10.66.0.1";
const OTHER_PRIVATE = "10.66.0.2";
const METADATA = "169.254.169.254";
/** Resolves to the private address. */
const PRIVATE_NAME = "blobs.registry.test";
const LOGIN = `Basic ${Buffer.from("user:s3cret").toString("base64")}`;

const job: NamespaceJob = JSON.parse(process.argv[2] ?? "{}");
const tls = { key: readFileSync(job.keyPath), cert: readFileSync(job.certPath) };
const image = makeImage({ layers: [tarArchive([{ name: "file", content: "x" }])], architecture: job.architecture });
const [layer = image.config] = image.layers;

async function hostAt(address: string): Promise<ScriptedRegistry> {
  const host = await ScriptedRegistry.start(tls, address);
  host.addImage("team/app", "1", image);
  return host;
}

/** What a client without our rules does: it goes where it is sent, with what it has. */
function trusting(url: string, depth = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { ca: tls.cert, headers: { authorization: LOGIN } }, (answer) => {
      answer.resume();
      const next = answer.headers.location ?? /realm="([^"]+)"/.exec(answer.headers["www-authenticate"] ?? "")?.[1];
      if (next === undefined || depth > 3) resolve();
      else trusting(next, depth + 1).then(resolve, reject);
    }).once("error", reject);
  });
}

function pull(
  name: string,
  words: readonly string[],
  env: Record<string, string>,
): Promise<{ status: number | null; stderr: string }> {
  const [program = "", ...cli] = job.cli;
  const home = mkdtempSync(join(job.folder, "home-"));
  const child = spawn(program, [...cli, "images", "pull", ...words, name], {
    cwd: home,
    env: { PATH: "/usr/bin:/bin", HOME: home, NODE_EXTRA_CA_CERTS: job.certPath, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => child.once("close", (status) => resolve({ status, stderr })));
}

interface Scene {
  readonly name: string;
  readonly registryAt: string;
  readonly victimAt: string;
  /** How the registry speaks of the victim, where not by its address. */
  readonly victimName?: string;
  readonly words?: readonly string[];
  /** The user has no login for the registry. */
  readonly anonymous?: boolean;
  readonly lead: (seen: SeenRequest, victim: string) => ReturnType<typeof reply> | null;
}

const blobsAt = (seen: SeenRequest, victim: string): ReturnType<typeof reply> | null =>
  isBlob(seen) ? redirect(`https://${victim}${seen.url}`) : null;
const tokensAt = ({ url }: SeenRequest, victim: string): ReturnType<typeof reply> | null =>
  url.startsWith("/v2/")
    ? reply(401, { "www-authenticate": `Bearer realm="https://${victim}/token",service="x"` })
    : null;
const allow = ["--allow-private-redirects"];

const scenes: readonly Scene[] = [
  { name: "blobs at a private address", registryAt: PUBLIC, victimAt: PRIVATE, lead: blobsAt },
  {
    name: "blobs at a name of a private address",
    registryAt: PUBLIC,
    victimAt: PRIVATE,
    victimName: PRIVATE_NAME,
    lead: blobsAt,
  },
  { name: "blobs at the metadata service", registryAt: PUBLIC, victimAt: METADATA, lead: blobsAt },
  { name: "blobs on loopback", registryAt: PUBLIC, victimAt: "127.0.0.1", lead: blobsAt },
  { name: "tokens at a private address", registryAt: PUBLIC, victimAt: PRIVATE, lead: tokensAt },
  {
    name: "tokens at a private address, without a login",
    registryAt: PUBLIC,
    victimAt: PRIVATE,
    anonymous: true,
    lead: tokensAt,
  },
  { name: "tokens at another party", registryAt: PUBLIC, victimAt: OTHER_PUBLIC, lead: tokensAt },
  { name: "blobs at another party", registryAt: PUBLIC, victimAt: OTHER_PUBLIC, lead: blobsAt },
  { name: "private to private", registryAt: PRIVATE, victimAt: OTHER_PRIVATE, lead: blobsAt },
  { name: "private to private, allowed", registryAt: PRIVATE, victimAt: OTHER_PRIVATE, words: allow, lead: blobsAt },
  { name: "private to metadata, allowed", registryAt: PRIVATE, victimAt: METADATA, words: allow, lead: blobsAt },
  { name: "public to private, allowed", registryAt: PUBLIC, victimAt: PRIVATE, words: allow, lead: blobsAt },
];

async function play(scene: Scene): Promise<Attempt> {
  const registry = await hostAt(scene.registryAt);
  const victim = await hostAt(scene.victimAt);
  const victimHost = `${scene.victimName ?? scene.victimAt}:${victim.port}`;
  registry.script = (seen, response) => scene.lead(seen, victimHost)?.(response) ?? false;
  const logins = (): (string | null)[] => victim.seen.splice(0).map(({ authorization }) => authorization ?? null);
  try {
    await trusting(`https://${registry.host}/v2/team/app/blobs/${layer.digest}`);
    const reached = logins();
    const config = mkdtempSync(join(job.folder, "docker-"));
    mkdirSync(config, { recursive: true });
    const auths = scene.anonymous === true ? {} : { [registry.host]: { auth: LOGIN.slice("Basic ".length) } };
    writeFileSync(join(config, "config.json"), JSON.stringify({ auths }));
    const end = await pull(`${registry.host}/team/app:1`, scene.words ?? [], { DOCKER_CONFIG: config });
    return { name: scene.name, trusting: reached, ours: logins(), ...end };
  } finally {
    await registry.stop();
    await victim.stop();
  }
}

const attempts: Attempt[] = [];
for (const scene of scenes) attempts.push(await play(scene));
process.stdout.write(JSON.stringify(attempts));
process.exit(0);
