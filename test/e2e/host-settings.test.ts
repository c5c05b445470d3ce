/** What programs of the host image read in /etc, as far as the machine has it. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const SHOWN = ["gai.conf", "login.defs", "magic", "manpath.config", "maven/m2.conf", "mime.types", "timezone"]
  .map((name) => `/etc/${name}`)
  .filter((path) => existsSync(path));
const CLOSED = ["/etc/maven/settings.xml", "/etc/machine-id", "/etc/shadow", "/etc/gitconfig", "/etc/environment"];

describe.each(actors)("as $name", (actor) => {
  it.runIf(SHOWN.length > 0)(
    "settings of programs are those of the machine; secrets and what tells machines apart stay out",
    async () => {
      const cwd = makeProject(actor, {}).path;
      const shown = await runIn(actor, ["cat", ...SHOWN], { cwd });
      expect({ status: shown.status, text: shown.stdout }).toEqual({
        status: 0,
        text: SHOWN.map((path) => readFileSync(path, "utf8")).join(""),
      });
      const closed = await runIn(actor, ["sh", "-c", `ls -d ${CLOSED.join(" ")} 2>/dev/null`], { cwd });
      expect(closed.stdout).toBe("");
    },
  );

  it.runIf(existsSync("/etc/mime.types"))("files have the types that the machine knows", async () => {
    const source = "import mimetypes; print(mimetypes.guess_type('x.webp')[0])";
    const { stdout } = await runIn(actor, ["python3", "-c", source], { cwd: makeProject(actor, {}).path });
    expect(stdout).toBe("image/webp\n");
  });

  it.runIf(existsSync("/usr/bin/mvn"))("Debian's Maven starts", async () => {
    const result = await runIn(actor, ["mvn", "--version"], { cwd: makeProject(actor, {}).path });
    expect(result.stdout).toContain("Apache Maven");
    expect(result.status).toBe(0);
  });
});
