// The npm package for the Claude Agent SDK, compiled against the TypeScript SDK that is in the same release.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { put, write } from "./folders.mjs";

/** `sdk`: the folder of the compiled TypeScript SDK. */
export function stageClaudeAgent({ root, version, sdk, scratch, folder }) {
  const own = join(root, "sdk/claude-agent");
  const project = join(scratch, "claude-agent.json");
  const config = {
    extends: join(own, "tsconfig.json"),
    compilerOptions: {
      rootDir: join(own, "src"),
      outDir: join(folder, "dist"),
      typeRoots: [join(root, "node_modules/@types")],
      paths: { agentkernel: [join(sdk, "index.d.ts")] },
    },
    include: [join(own, "src")],
  };
  writeFileSync(project, JSON.stringify(config));
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", project], { stdio: "inherit" });
  put(join(root, "LICENSE"), join(folder, "LICENSE"));
  put(join(own, "README.md"), join(folder, "README.md"));
  const { scripts: _, ...manifest } = JSON.parse(readFileSync(join(own, "package.json"), "utf8"));
  const dependencies = { ...manifest.dependencies, agentkernel: version };
  write(join(folder, "package.json"), `${JSON.stringify({ ...manifest, version, dependencies }, null, 2)}\n`);
}
