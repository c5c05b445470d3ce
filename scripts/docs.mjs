// The documentation as a site: static files in .build/docs-site/site.
//
//   npm run docs                          builds it; a link that leads nowhere is an error
//   npm run docs -- --base /path/ --out DIR
//   npm run docs -- serve [--port 4173]   builds it, and shows it on loopback
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeSite } from "./docs-site/pages.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const description = join(root, "scripts", "docs-site");
const workshop = join(root, ".build", "docs-site");
const pagesFolder = join(workshop, "pages");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { base: { type: "string" }, out: { type: "string" }, port: { type: "string", default: "4173" } },
});
const out = values.out === undefined ? join(workshop, "site") : resolve(values.out);
if (positionals.some((word) => word !== "serve"))
  throw new Error(`docs: unknown word ${positionals.join(" ")}; serve?`);

install();
rmSync(pagesFolder, { recursive: true, force: true });
const pages = writeSite(root, pagesFolder);
rmSync(out, { recursive: true, force: true });
vitepress("build", pagesFolder, "--outDir", out);
console.log(`docs: ${pages.length} pages in ${out}`);
if (positionals.includes("serve")) {
  if (values.out !== undefined) throw new Error("docs: serve shows what lies in .build; leave --out away");
  vitepress("preview", pagesFolder, "--outDir", out, "--host", "127.0.0.1", "--port", values.port);
}

/** By a lock file of its own, without scripts, and only where it is not there yet. */
function install() {
  const noted = join(workshop, "package-lock.json");
  const wanted = join(description, "package-lock.json");
  const isThere = existsSync(join(workshop, "node_modules", "vitepress", "package.json"));
  if (isThere && existsSync(noted) && readFileSync(noted, "utf8") === readFileSync(wanted, "utf8")) return;
  console.log("docs: installing VitePress into .build/docs-site");
  mkdirSync(workshop, { recursive: true });
  rmSync(noted, { force: true });
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(description, name), join(workshop, name));
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: workshop,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return;
  rmSync(noted, { force: true });
  throw new Error("docs: npm could not install VitePress. Check the registry of npm, or the network.");
}

function vitepress(...args) {
  const program = join(workshop, "node_modules", "vitepress", "bin", "vitepress.js");
  const env = { ...process.env, ...(values.base === undefined ? {} : { DOCS_BASE: values.base }) };
  const { status, signal } = spawnSync(process.execPath, [program, ...args], { cwd: workshop, env, stdio: "inherit" });
  if (signal === "SIGINT" || signal === "SIGTERM") process.exit(0);
  if (status !== 0) throw new Error(`docs: vitepress ${args[0]} ended with ${status ?? signal}`);
}
