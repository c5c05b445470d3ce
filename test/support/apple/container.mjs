// A double of Apple's `container`, made from its published command reference: what it takes, what it refuses, and what
// it says as JSON. It has no virtual machines; a container is a process in namespaces of its own (machine.sh), so that
// the guest in it is the real one. Called as: container.mjs STATE-FOLDER COMMAND…
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commands, parse, UsageError } from "./options.mjs";

const [state, ...words] = process.argv.slice(2);
const containers = join(state, "containers");
const file = (id) => join(containers, `${id}.json`);
const facts = JSON.parse(readFileSync(join(state, "facts.json"), "utf8"));

class Refusal extends Error {}

function all() {
  mkdirSync(containers, { recursive: true });
  return readdirSync(containers)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      try {
        return [JSON.parse(readFileSync(join(containers, name), "utf8"))];
      } catch (error) {
        // Another command has removed it since.
        if (error.code === "ENOENT") return [];
        throw error;
      }
    });
}

function named(ids) {
  if (ids.length === 0) throw new UsageError("Missing expected argument '<container-ids> ...'");
  return ids.map((id) => {
    const found = all().find(({ configuration }) => configuration.id === id);
    if (found === undefined) throw new Refusal(`notFound: "container with ID ${id} not found"`);
    return found;
  });
}

function keep(container) {
  mkdirSync(containers, { recursive: true });
  const path = file(container.configuration.id);
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(container));
  renameSync(`${path}.${process.pid}`, path);
}

function shown({ pid, ...container }) {
  return container;
}

function print(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

const image = (reference) => facts.images.find(({ name }) => name === reference);

const answers = {
  "system status": () => {
    if (!facts.isRunning) throw new Refusal("apiserver is not running and not registered with launchd");
    process.stdout.write("apiserver is running\n");
  },
  "system version": ({ found }) => {
    if (found.format?.[0] !== "json") throw new Refusal("the double prints no tables");
    print([{ appName: "container", version: facts.version, buildType: "release", commit: "unspecified" }]);
  },
  list: ({ found }) => {
    if (found.format?.[0] !== "json") throw new Refusal("the double prints no tables");
    print(
      all()
        .filter(({ status }) => found.all || status === "running")
        .map(shown),
    );
  },
  inspect: ({ rest }) => print(named(rest).map(shown)),
  delete: ({ found, rest }) => {
    for (const { configuration, status, pid } of named(rest)) {
      if (status === "running" && !found.force) throw new Refusal(`container ${configuration.id} is running`);
      end(pid);
      rmSync(file(configuration.id), { force: true });
    }
  },
  "image inspect": ({ rest }) => {
    const images = rest.map(image);
    if (images.includes(undefined)) throw new Refusal(`notFound: "Image not found: ${rest.join(" ")}"`);
    print(images);
  },
  "image pull": ({ rest }) => {
    if (!facts.registry.includes(rest[0])) throw new Refusal(`notFound: "${rest[0]}"`);
    const variant = { platform: { os: "linux", architecture: "arm64" }, config: { architecture: "arm64", config: {} } };
    facts.images.push({ name: rest[0], variants: [variant] });
    writeFileSync(join(state, "facts.json"), JSON.stringify(facts));
  },
  run,
};

function end(pid) {
  try {
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function run({ found, rest: [reference, ...rest] }) {
  if (reference === undefined) throw new UsageError("Missing expected argument '<image>'");
  if (image(reference) === undefined) throw new Refusal(`notFound: "Image not found: ${reference}"`);
  if (!/^\d+$/.test(found.cpus?.[0] ?? "4")) throw new UsageError(`The value '${found.cpus}' is invalid for '--cpus'`);
  if (!/^\d+[KMGTP]?$/i.test(found.memory?.[0] ?? "1G")) throw new Refusal(`invalid memory ${found.memory}`);
  const id = found.name?.[0] ?? `id-${process.pid}`;
  if (all().some(({ configuration }) => configuration.id === id)) throw new Refusal(`container ${id} already exists`);
  const isOff = found.network?.[0] === "none" && facts.knowsNone;
  const networks = isOff ? [] : [{ network: "default", address: "192.168.64.3/24" }];
  const labels = Object.fromEntries((found.label ?? []).map((label) => label.split(/=(.*)/s).slice(0, 2)));
  const configuration = { id, labels, networks, resources: { cpus: Number(found.cpus?.[0] ?? 4) } };
  const container = { status: "running", networks, configuration };
  keep(container);
  const root = join(state, `root-${id}`);
  mkdirSync(root);
  const child = spawn("unshare", machineWords(found, root, rest), {
    stdio: [found.interactive ? "inherit" : "ignore", "inherit", "inherit"],
  });
  keep({ ...container, pid: child.pid });
  child.once("close", (code) => {
    if (found.remove) rmSync(file(id), { force: true });
    else keep({ ...container, status: "stopped", networks: [] });
    rmSync(root, { recursive: true, force: true });
    process.exitCode = code ?? 137;
  });
}

function machineWords(found, root, rest) {
  const fields = (found.mount ?? []).map((mount) => Object.fromEntries(mount.split(",").map((one) => one.split("="))));
  const binds = fields.map(({ source, target }) => `${source}:${target}`).join("\n");
  const capabilities = (found["cap-add"] ?? []).map((name) => `+${name.toLowerCase().replace(/^cap_/, "")}`);
  const bounding = (found["cap-drop"] ?? []).includes("ALL") ? ["-all", ...capabilities] : ["+all"];
  const limits = (found.ulimit ?? []).map((limit) => `--${limit}`).join(" ");
  const settings = [root, binds, (found.tmpfs ?? []).join("\n"), found["read-only"] ? "ro" : "rw"];
  const script = join(dirname(fileURLToPath(import.meta.url)), "machine.sh");
  return [
    ...["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "sh", script],
    ...[...settings, bounding.join(","), limits, ...(found.entrypoint ?? []), ...rest],
  ];
}

const name = [words.slice(0, 2).join(" "), words[0]].find((known) => known in commands);
try {
  if (name === undefined) throw new UsageError(`Unexpected argument '${words[0]}'`);
  answers[name](parse(name, words.slice(name.split(" ").length)));
} catch (error) {
  process.stderr.write(`Error: ${error.message}\n`);
  process.exitCode = error instanceof UsageError ? 64 : 1;
}
