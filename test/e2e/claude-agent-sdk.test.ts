/** The package for the Claude Agent SDK, with the real SDK from npm, the real agent, and a scripted model on loopback. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { root } from "../support/actors.js";
import { claudeAgentSdk } from "../support/agent-clis.js";
import { AgentHome, whyNoSession } from "../support/agent-session.js";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

const INSTALL_TIMEOUT_MS = 180_000;

/** A daemon in the same namespaces as the program, for as long as that runs. The list is what is left of its sandboxes. */
const SESSION = `agentkernel daemon start >&2 || exit
node "$1" "$2" "$(command -v claude)" "$3"; status=$?
agentkernel list --json
agentkernel daemon stop >&2
exit $status`;

describe.skipIf(whyNoSession() !== null)("the Claude Agent SDK", () => {
  const actor = root;
  if (actor === undefined) return;
  let home: AgentHome;
  let sdk: { readonly folder: string };
  beforeAll(async () => {
    [home, sdk] = await Promise.all([AgentHome.make(actor), claudeAgentSdk()]);
  }, INSTALL_TIMEOUT_MS);

  it("takes what the package gives, by its types", () => {
    const folder = mkdtempSync(join(testFolder(), "types-"));
    const config = {
      extends: join(repository, "sdk/claude-agent/tsconfig.json"),
      compilerOptions: {
        noEmit: true,
        rootDir: "/",
        paths: {
          agentkernel: [join(repository, "sdk/typescript/src/index.ts")],
          "@anthropic-ai/claude-agent-sdk": [join(sdk.folder, "sdk.d.ts")],
          "@anthropic-ai/claude-agent-sdk/sdk-tools": [join(sdk.folder, "sdk-tools.d.ts")],
        },
      },
      include: [join(repository, "sdk/claude-agent/checks/fits.ts")],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(repository, "node_modules/.bin/tsc");
    expect(() => execFileSync(tsc, ["-p", folder], { encoding: "utf8" })).not.toThrow();
  });

  it("runs Bash in a sandbox of the query, holds other tools to the policy, and leaves nothing", async () => {
    const program = join(mkdtempSync(join(testFolder(), "program-")), "program.mjs");
    await build({
      entryPoints: [join(repository, "sdk/claude-agent/checks/program.ts")],
      alias: { agentkernel: join(repository, "sdk/typescript/src/index.ts") },
      nodePaths: [join(repository, "node_modules")],
      bundle: true,
      platform: "node",
      target: "node20",
      format: "esm",
      outfile: program,
    });
    home.write("project", ".env", "secret-of-the-project");
    home.write("project", "README.md", "hello");
    const outside = join(home.project, "outside");
    const report = await home.work({
      protocol: "anthropic",
      script: [
        { tool: "Bash", input: { command: "cat README.md; cat .env; pwd; echo 'it''s' > made; exit 3" } },
        { tool: "mcp__agentkernel__run", input: { command: "cat made; echo $((6 * 7))" } },
        { tool: "Bash", input: { command: "echo free", dangerouslyDisableSandbox: true } },
        { tool: "Write", input: { file_path: outside, content: "x" } },
        { tool: "Edit", input: { file_path: join(home.project, "README.md"), old_string: "hello", new_string: "x" } },
        { text: "the end" },
      ],
      argv: ["sh", "-c", SESSION, "sh", program, join(sdk.folder, "sdk.mjs"), home.project],
      env: { ANTHROPIC_BASE_URL: "{url}", ANTHROPIC_API_KEY: "fake" },
    });
    const { results } = report.seen;
    expect(report.status, report.stderr).toBe(0);
    expect(results[0]).toContain("hello");
    expect(results[0]).toContain("/workspace");
    expect(results[0]).not.toContain("secret-of-the-project");
    expect(results[1]).toContain("its\n42\n");
    expect(results[2]).toContain("do not leave their sandbox");
    expect(results[3]).toContain("the policy denies Write");
    expect(results[4]).toContain("the policy asks about Edit");
    const [said = "", ...rest] = report.stdout.split("\n");
    const [told, list] = [JSON.parse(said), rest.join("\n")];
    expect(told).toMatchObject({ result: "the end", asked: ["Edit"] });
    expect(told.records).toMatchObject([
      { tool: "Bash", isFailed: true, sandbox: expect.stringMatching(/^session-/) },
      { tool: "mcp__agentkernel__run", isFailed: false, sandbox: null },
    ]);
    expect(existsSync(outside) || existsSync(join(home.project, "made"))).toBe(false);
    expect(JSON.parse(list).data).toEqual([]);
  });
});
