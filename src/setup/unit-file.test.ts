import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { serviceFile } from "./unit-file.js";
import { serviceNames } from "./unit-names.js";

const program = [process.execPath, '/opt/a b/100%/$HOME/"q"/agentkernel.js'];
const options = { service: "daemon", platform: "linux", program, env: {}, homeDir: "/home/ada" } as const;

const hasVerifier = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!hasVerifier)
  process.stderr.write("SKIPPED: systemd-analyze is not here (Debian package systemd): units are not verified\n");

describe("the unit for systemd", () => {
  it("lies where the user's configuration lies", () => {
    expect(serviceFile(options).path).toBe("/home/ada/.config/systemd/user/agentkernel.service");
    const elsewhere = serviceFile({ ...options, service: "serve", env: { XDG_CONFIG_HOME: "/etc/ada" } });
    expect(elsewhere.path).toBe("/etc/ada/systemd/user/agentkernel-serve.service");
  });

  it("lets sandboxes outlive the daemon, and sets nothing that would forbid them", () => {
    const { text } = serviceFile(options);
    expect(text).toContain("\nConflicts=agentkernel-serve.service\n");
    for (const line of ["KillMode=process", "UMask=0077", "Restart=on-failure", "Type=exec"])
      expect(text).toContain(`\n${line}\n`);
    expect(text).not.toMatch(/^(NoNewPrivileges|PrivateUsers|Protect\w+|Restrict\w+|SystemCall\w+|LockPersonality)=/m);
  });

  it("passes on where our files lie, and nothing else", () => {
    const env = { XDG_STATE_HOME: "/state/50%", XDG_DATA_HOME: "relative", API_KEY: "secret" };
    const { text } = serviceFile({ ...options, env });
    expect(text.match(/^Environment=.*$/gm)).toEqual([
      'Environment="AGENTKERNEL_SERVICE=agentkernel.service"',
      'Environment="XDG_STATE_HOME=/state/50%%"',
    ]);
  });

  it("refuses a path that it could not name", () => {
    expect(() => serviceFile({ ...options, program: ["/bin/a\nExecStart=/bin/b"] })).toThrow(/cannot name/);
  });

  it.runIf(hasVerifier).each(serviceNames)("of %s is one that systemd understands", (service) => {
    const folder = mkdtempSync(join(tmpdir(), "agentkernel-unit-"));
    try {
      const verify = (text: string) => {
        const path = join(folder, basename(serviceFile({ ...options, service }).path));
        writeFileSync(path, text);
        return spawnSync("systemd-analyze", ["verify", "--user", path], {
          encoding: "utf8",
          env: { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder },
        });
      };
      const { text } = serviceFile({ ...options, service });
      const good = verify(text);
      expect({ status: good.status, complaints: good.stderr.match(/agentkernel[-a-z]*\.service.*/g) }).toEqual({
        status: 0,
        complaints: null,
      });
      expect(verify(text.replace("KillMode=process", "KillMode=sometimes")).stderr).toContain(
        "Failed to parse kill mode",
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the property list for launchd", () => {
  const mac = { ...options, platform: "darwin", homeDir: "/Users/ada <&>" } as const;

  it("is one that its format's reader understands, with every word as it is", () => {
    const { path, text } = serviceFile(mac);
    expect(path).toBe("/Users/ada <&>/Library/LaunchAgents/dev.agentkernel.daemon.plist");
    const read = "import sys, plistlib, json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
    const parsed = spawnSync("python3", ["-c", read], { input: text, encoding: "utf8" });
    expect(parsed.stderr).toBe("");
    expect(JSON.parse(parsed.stdout)).toEqual({
      Label: "dev.agentkernel.daemon",
      ProgramArguments: [...program, "daemon", "run"],
      EnvironmentVariables: { AGENTKERNEL_SERVICE: "dev.agentkernel.daemon" },
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      AbandonProcessGroup: true,
      Umask: 0o077,
      StandardErrorPath: "/Users/ada <&>/Library/Logs/agentkernel-daemon.log",
    });
  });
});
