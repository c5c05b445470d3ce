/** A registry on loopback with one image of about 200 MB in three layers, made of this machine's own files. */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, opendirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const LAYERS = 3;
const LAYER_BYTES = 67 * 2 ** 20;
/** One file that all sandboxes of a figure read. */
export const BIG_FILE = { path: "/big", bytes: 64 * 2 ** 20 };

let served;

/** Started once for all figures; ends with this process. */
export function serveImage(folder) {
  served ??= serve(join(folder, "registry"));
  return served;
}

async function serve(folder) {
  mkdirSync(folder);
  const config = {
    version: 0.1,
    log: { level: "info" },
    storage: { filesystem: { rootdirectory: join(folder, "data") } },
    http: { addr: "127.0.0.1:0", secret: "bench" },
  };
  writeFileSync(join(folder, "config.yml"), JSON.stringify(config));
  const registry = spawn("docker-registry", ["serve", join(folder, "config.yml")], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  process.once("exit", () => registry.kill("SIGKILL"));
  const host = await listeningHost(registry);
  // It serves until the end, and is no reason to go on.
  for (const handle of [registry, registry.stdout, registry.stderr]) handle.unref();
  const layout = join(folder, "layout");
  const run = (...words) => execFileSync(words[0], words.slice(1), { stdio: ["ignore", "ignore", "inherit"] });
  run("umoci", "init", "--layout", layout);
  run("umoci", "new", "--image", `${layout}:bench`);
  const files = walk("/usr");
  for (let index = 0; index < LAYERS; index++) {
    const content = join(folder, `content-${index}`);
    fill(content, files);
    run("umoci", "insert", "--image", `${layout}:bench`, content, `/data-${index}`);
  }
  // It stands in the middle of folders, which are closed by this.
  files.return();
  const extra = join(folder, "extra");
  mkdirSync(extra);
  copyFileSync("/bin/busybox", join(extra, "busybox"));
  writeFileSync(join(extra, "big"), Buffer.alloc(BIG_FILE.bytes, "agentkernel "));
  run("umoci", "insert", "--image", `${layout}:bench`, extra, "/");
  run("skopeo", "copy", "-q", "--dest-tls-verify=false", `oci:${layout}:bench`, `docker://${host}/bench:1`);
  return `${host}/bench:1`;
}

function fill(content, files) {
  mkdirSync(content);
  let bytes = 0;
  for (let count = 0; bytes < LAYER_BYTES; count++) {
    const { value: path, done } = files.next();
    if (done) throw new Error("this machine's /usr is too small to make the image of");
    const size = statSync(path).size;
    // No file is a large part of a layer: images are many small files.
    if (size > 8 * 2 ** 20) continue;
    mkdirSync(join(content, String(count >> 8)), { recursive: true });
    copyFileSync(path, join(content, String(count >> 8), String(count)));
    bytes += size;
  }
}

function* walk(folder) {
  const directory = opendirSync(folder);
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* walk(path);
      else if (entry.isFile()) yield path;
    }
  } finally {
    directory.closeSync();
  }
}

function listeningHost(registry) {
  return new Promise((resolve, reject) => {
    registry.once("error", reject);
    registry.once("exit", () => reject(new Error("docker-registry ended at once")));
    for (const stream of [registry.stdout, registry.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        const found = /listening on (127\.0\.0\.1:\d+)/.exec(line);
        if (found) resolve(found[1]);
      });
    }
  });
}
