/** What programs of the host image read in /etc, as far as the machine has it. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const SHOWN = [
  "debconf.conf",
  "pam.d/su",
  "security/limits.conf",
  "ssl/openssl.cnf",
  "xdg/user-dirs.conf",
  "gai.conf",
  "login.defs",
  "magic",
  "manpath.config",
  "maven/m2.conf",
  "mime.types",
  "timezone",
]
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

  it("accounts of the system are known by name, and those of people are not", async () => {
    const source =
      "import pwd; print(pwd.getpwnam('daemon').pw_uid, [one.pw_name for one in pwd.getpwall() if 1000 <= one.pw_uid < 65534])";
    const { stdout } = await runIn(actor, ["python3", "-c", source], { cwd: makeProject(actor, {}).path });
    expect(stdout).toMatch(/^1 \[('sandbox')?\]\n$/);
  });

  it("what a sandbox writes to /etc is its own", async () => {
    const cwd = makeProject(actor, {}).path;
    const change = "echo 127.0.0.1 name >>/etc/hosts && rm -r /etc/ssl && echo x >/etc/timezone; ls -d /etc/ssl";
    expect((await runIn(actor, ["sh", "-c", change], { cwd })).stdout).toBe("");
    expect((await runIn(actor, ["sh", "-c", "tail -1 /etc/hosts; ls -d /etc/ssl"], { cwd })).stdout).toMatch(
      /\n\/etc\/ssl\n$/,
    );
    expect(existsSync("/etc/ssl")).toBe(true);
    const closed = await runIn(actor, ["-p", "restrictive", "sh", "-c", "echo x >/etc/x; ls /etc/x"], { cwd });
    expect(closed.stdout).toBe("");
  });

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
