// The documentation as a site: static files in .build/docs-site/site.
//
//   npm run docs                          builds it; a link that leads nowhere is an error
//   npm run docs -- --base /path/ --out DIR
//   npm run docs -- serve [--port 4173]   builds it, and shows it on loopback
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeSite } from "./docs-site/pages.mjs";
import { npmTool } from "./npm-tool.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const workshop = join(root, ".build", "docs-site");
const pagesFolder = join(workshop, "pages");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { base: { type: "string" }, out: { type: "string" }, port: { type: "string", default: "4173" } },
});
const out = values.out === undefined ? join(workshop, "site") : resolve(values.out);
if (positionals.some((word) => word !== "serve"))
  throw new Error(`docs: unknown word ${positionals.join(" ")}; serve?`);

// Where the pages' own configuration finds it.
const modules = join(workshop, "node_modules");
mkdirSync(workshop, { recursive: true });
rmSync(modules, { recursive: true, force: true });
symlinkSync(join(npmTool(join(root, "scripts", "docs-site")), "node_modules"), modules);
rmSync(pagesFolder, { recursive: true, force: true });
const pages = writeSite(root, pagesFolder);
rmSync(out, { recursive: true, force: true });
vitepress("build", pagesFolder, "--outDir", out);
console.log(`docs: ${pages.length} pages in ${out}`);
if (positionals.includes("serve")) {
  if (values.out !== undefined) throw new Error("docs: serve shows what lies in .build; leave --out away");
  vitepress("preview", pagesFolder, "--outDir", out, "--host", "127.0.0.1", "--port", values.port);
}

function vitepress(...args) {
  const program = join(modules, "vitepress", "bin", "vitepress.js");
  const env = { ...process.env, ...(values.base === undefined ? {} : { DOCS_BASE: values.base }) };
  const { status, signal } = spawnSync(process.execPath, [program, ...args], { cwd: workshop, env, stdio: "inherit" });
  if (signal === "SIGINT" || signal === "SIGTERM") process.exit(0);
  if (status !== 0) throw new Error(`docs: vitepress ${args[0]} ended with ${status ?? signal}`);
}
