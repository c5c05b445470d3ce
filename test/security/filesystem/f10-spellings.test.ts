import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { privateKeyHolding } from "../../support/secret-files.js";
import { attackInside, attackOutside, leaking, successful } from "../support/fs-attack.js";
import { plant, snapshot } from "../support/fs-tree.js";

const SECRET = "planted-secret-with-capitals";
const forms = ["copy", "sync", "mount"] as const;

const secrets: Readonly<Record<string, string>> = {
  ".ENV": `KEY=${SECRET}\n`,
  "sub/.Env.Local": `KEY=${SECRET}\n`,
  "certs/server.PEM": privateKeyHolding(SECRET),
  ID_RSA: privateKeyHolding(SECRET),
  ".AWS/credentials": `[default]\naws_secret_access_key = ${SECRET}\n`,
  "home/.Docker/Config.json": `{"auths":{"https://index.docker.io/v1/":{"auth":"${SECRET}"}}}`,
  ".\u212aube/config": `token: ${SECRET}\n`,
  ".e\u200bnv": `KEY=${SECRET}\n`,
};

const readAll = `
for path in sys.argv[1:]:
    attempt(path, lambda: read(path))
`;

/** Spellings of names that no sandbox may change; on file systems that fold names they are those names. */
const protectedSpellings = [
  ".GIT/hooks/pre-commit",
  ".Git/config",
  ".git./hooks/pre-commit",
  ".g\u200cit/hooks/pre-commit",
  ".git/hook\u017f/pre-commit",
  ".Claude/settings.json",
  ".MCP.json",
  "AgentKernel.toml",
  "sub/.GIT /config",
];

const writeAll = `
for path in sys.argv[1:]:
    def make():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        return write(path)
    attempt(path, make)
`;

describe("F10 a name is the same name in every spelling", () => {
  describe.each(actors)("as $name", (actor) => {
    it.each(forms)("secrets are hidden in capitals too, as %s", async (form) => {
      const cwd = plant(actor, actor.folder(), { ...secrets, "readme.txt": "plain" });
      const attack = { source: readAll, args: [...Object.keys(secrets), "readme.txt"], cwd };
      expect(leaking(await attackOutside(actor, attack), SECRET)).toHaveLength(Object.keys(secrets).length);
      const inside = await attackInside(actor, { ...attack, flags: ["--workspace", form] });
      expect(leaking(inside, SECRET)).toEqual([]);
      expect(inside["readme.txt"]).toEqual({ ok: "plain" });
    });

    it("protected names are not carried over under any spelling", async () => {
      const tree = { ".git/HEAD": "ref: refs/heads/main\n", "code.txt": "code" };
      const attack = { source: writeAll, args: [...protectedSpellings, "written.txt"] };
      const outside = plant(actor, actor.folder(), tree);
      expect(successful(await attackOutside(actor, { ...attack, cwd: outside }))).toHaveLength(10);
      const cwd = plant(actor, actor.folder(), tree);
      const inside = await attackInside(actor, { ...attack, cwd, flags: ["--workspace", "sync"] });
      expect(successful(inside)).toHaveLength(10);
      for (const path of protectedSpellings) expect(existsSync(join(cwd, path)), path).toBe(false);
      expect(existsSync(join(cwd, "written.txt"))).toBe(true);
    });

    it("nor made a repository of, in capitals or without", async () => {
      const cwd = plant(actor, actor.folder(), { "code.txt": "code" });
      const script = "mkdir -p sub/Objects sub/REFS && echo 'ref: refs/heads/x' > sub/head && echo x > sub/config";
      const done = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd });
      expect(done.status).toBe(0);
      expect(readdirSync(join(cwd, "sub"))).not.toEqual(expect.arrayContaining(["head", "Objects", "REFS"]));
    });

    it("what is there in another spelling stays as it is in a live project", async () => {
      const tree = { ".Claude/settings.json": "{}", ".GIT/hooks/pre-commit": "#!/bin/sh\n", "AgentKernel.toml": "" };
      const cwd = plant(actor, actor.folder(), tree);
      const before = snapshot(cwd);
      const attack = { source: writeAll, args: Object.keys(tree), cwd };
      expect(successful(await attackInside(actor, { ...attack, flags: ["--workspace", "mount"] }))).toEqual([]);
      expect(snapshot(cwd)).toEqual(before);
      expect(successful(await attackOutside(actor, attack))).toEqual(Object.keys(tree).sort());
    });

    it("globs of a policy count in every spelling", async () => {
      const cwd = plant(actor, actor.folder(), { "Notes/Geheim.TXT": SECRET, "notes/offen.txt": "open" });
      writeFileSync(
        join(cwd, "hide.policy.yaml"),
        'version: 1\nfs:\n  workspace: { mode: copy }\n  deny: ["**/notes/geheim.txt"]\n',
      );
      const files = ["Notes/Geheim.TXT", "notes/offen.txt"];
      const shown = await runIn(actor, ["--policy", "hide.policy.yaml", "cat", ...files], { cwd });
      expect(shown.stdout).toBe("open");
    });
  });
});
