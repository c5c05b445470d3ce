import { expect, test } from "vitest";
import { explain, explainText } from "./explain.js";
import { fieldPaths } from "./fields.js";
import { resolve } from "./resolve.js";

const resolved = resolve({
  mode: { name: "codex", origin: "--compatibility-mode", by: "flag" },
  flags: [
    { origin: "--memory", fields: { "resources.memoryMiB": 256 } },
    { origin: "--env", fields: { "proc.env": { SOME_KEY: "do not show" } } },
    { origin: "--mount", fields: { "fs.mounts": [{ host: "/a\nb", guest: "/deps", readonly: true }] } },
  ],
});

test("every field has one row with its value and what set it", () => {
  const rows = explain(resolved);
  expect(rows.map((row) => row.field)).toEqual(["profile", "mode", ...fieldPaths]);
  const row = (field: string) => rows.find((candidate) => candidate.field === field);
  const memory = { field: "resources.memoryMiB", value: 256, origin: "--memory", authority: ["flag"] };
  expect(row("resources.memoryMiB")).toEqual(memory);
  expect(row("proc.noRoot")).toMatchObject({ value: true, origin: "mode codex", authority: ["flag"] });
  expect(row("resources.pids")).toMatchObject({ value: 4096, origin: "default", authority: ["default"] });
  expect(row("mode")).toEqual({ field: "mode", value: "codex", origin: "--compatibility-mode" });
});

test("values of variables are not shown", () => {
  expect(JSON.stringify(explain(resolved))).not.toContain("do not show");
  expect(explainText(explain(resolved), String)).toContain("SOME_KEY");
});

test("every value is made safe before it is put into a line", () => {
  const text = explainText(explain(resolved), (value) => value.replaceAll("\n", "<newline>"));
  expect(text).toContain("/a<newline>b at /deps, read-only");
  expect(text).toMatch(/^resources\.memoryMiB +256 {2}\(--memory\)$/m);
  expect(text).toMatch(/^ +- api\.openai\.com$/m);
});

test("what a project asked for and did not get is shown beside what holds", () => {
  const project = [{ origin: "agentkernel.toml:3", fields: { "net.allow": [{ domain: "evil.example" }] } }];
  const flags = [{ origin: "--network", fields: { "net.egress": "allowlist" } }] as const;
  const rows = explain(resolve({ project, flags }));
  const row = rows.find(({ field }) => field === "net.allow");
  expect(row).toMatchObject({
    value: [],
    refused: { asked: [{ domain: "evil.example" }], by: ["agentkernel.toml:3"] },
  });
  expect(explainText(rows, String)).toMatch(/^ +refused: evil\.example, asked for by agentkernel\.toml:3;/m);
});
