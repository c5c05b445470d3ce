// Makes package-lock.json whole after `npm install` against a registry that lacks some platforms' binaries: npm then
// leaves those optional packages out, and `npm ci` refuses the file. The parent package pins each to one version, and
// its name says the platform, so the entry can be written without it. Such an entry has no hash.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Another lock file may be named: `node scripts/complete-lock.mjs scripts/docs-site/package-lock.json`.
const lockPath = process.argv[2] ?? join(dirname(dirname(fileURLToPath(import.meta.url))), "package-lock.json");
const operatingSystems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "win32"];
const processors = {
  ...{ arm64: "arm64", x64: "x64", arm: "arm", ia32: "ia32", ppc64: "ppc64", s390x: "s390x" },
  ...{ loong64: "loong64", mips64el: "mips64el", riscv64: "riscv64" },
};

/** "@rolldown/binding-linux-arm-gnueabihf" → { os: ["linux"], cpu: ["arm"] } */
function platformOf(name) {
  const words = name.split("/").at(-1).split("-");
  if (words.includes("wasm32")) return { cpu: ["wasm32"] };
  const os = words.find((word) => operatingSystems.includes(word));
  const cpu = words.map((word) => processors[word]).find((found) => found !== undefined);
  if (os === undefined || cpu === undefined) throw new Error(`the name of ${name} does not say its platform`);
  const libc = words.includes("musl") ? "musl" : words.includes("gnu") ? "glibc" : undefined;
  return { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
}

function missingEntries(packages) {
  const missing = {};
  for (const [path, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const key = `node_modules/${name}`;
      if (key in packages || `${path}/${key}` in packages) continue;
      const { os, cpu, libc } = platformOf(name);
      missing[key] = {
        version,
        cpu,
        ...(entry.dev ? { dev: true } : {}),
        ...(libc === undefined ? {} : { libc }),
        optional: true,
        ...(os === undefined ? {} : { os }),
      };
    }
  }
  return missing;
}

const lock = JSON.parse(readFileSync(lockPath, "utf8"));
const missing = missingEntries(lock.packages);
const byPath = ([left], [right]) => (left < right ? -1 : 1);
lock.packages = Object.fromEntries(Object.entries({ ...lock.packages, ...missing }).sort(byPath));
writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`package-lock.json: ${Object.keys(missing).length} entries added\n`);
