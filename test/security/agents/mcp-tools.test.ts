/** F5, A2 to A6 through the tools of MCP: what a model, or whoever speaks through it, could ask for. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { call, startMcp } from "../../support/mcp-client.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { runOutside } from "../../support/run-as.js";
import { runCli } from "../../support/run-cli.js";

const sh = (script: string) => ["sh", "-c", script];

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();
  const secret = "s3cr3t-0123456789abcdef";
  const variables = {
    XDG_STATE_HOME: actor.folder("state"),
    XDG_CONFIG_HOME: actor.folder("config"),
    SERVICE_TOKEN: secret,
  };
  let client: Client;
  let project: string;
  let stderr: () => string;
  const start = async () => {
    const options = { cwd: project, env: { ...variables, AGENTKERNEL_DAEMON: "off" } };
    ({ client, stderr } = await startMcp(actor, options));
  };
  beforeEach(async () => {
    project = actor.folder();
    await start();
  });
  afterEach(async () => {
    await client.close();
    rmSync(join(variables.XDG_CONFIG_HOME, "agentkernel"), { recursive: true, force: true });
  });
  const wrong = async (tool: string, args: Readonly<Record<string, unknown>>) => {
    const { isError, text } = await call(client, tool, args);
    expect(isError, text).toBe(true);
    return text;
  };

  describe("F5: files through the tools", () => {
    const read = (path: string, more = {}) => ({ name: "box", path, ...more });
    beforeEach(async () => {
      await call(client, "sandbox_session_create", { name: "box", network: false });
    });

    it("paths are resolved inside: links and .. lead to nothing of the host's", async () => {
      const host = join(actor.folder("host"), "secret.txt");
      writeFileSync(host, "of the host\n");
      expect(runOutside(actor, ["cat", host]).stdout).toBe("of the host\n");
      await call(client, "sandbox_exec", { name: "box", command: sh(`ln -s ${host} /tmp/link; ln -s / /tmp/root`) });
      expect(await wrong("sandbox_file_read", read("/tmp/link"))).not.toContain("of the host");
      expect(await wrong("sandbox_file_read", read(`/tmp/root${host}`))).not.toContain("of the host");
      expect(await wrong("sandbox_file_read", read(`/workspace/../../../..${host}`))).toContain("path has .. in it");
      expect(await wrong("sandbox_file_read", read("/proc/1/root/etc/shadow"))).not.toContain("root:");
      await wrong("sandbox_file_write", { ...read("/tmp/link"), content: "changed" }).catch(() => {});
      expect(runOutside(actor, ["cat", host]).stdout).toBe("of the host\n");
      await expect(
        client.readResource({ uri: "agentkernel://sandboxes/box/files/..%2f..%2f..%2fetc/shadow" }),
      ).rejects.toThrow(/path has \.\./);
    });

    it("what is no file is refused, and one without end is read in bounded parts", async () => {
      await call(client, "sandbox_exec", {
        name: "box",
        command: sh("mkfifo /tmp/fifo; truncate -s 1T /tmp/sparse || truncate -s 2G /tmp/sparse"),
      });
      await wrong("sandbox_file_read", read("/tmp/fifo"));
      await wrong("sandbox_file_read", read("/dev/zero"));
      await wrong("sandbox_file_read", read("/tmp"));
      const { data } = await call(client, "sandbox_file_read", read("/tmp/sparse", { limit: 4096 }));
      expect(data.size_bytes).toBeGreaterThan(2 ** 30);
      expect(Buffer.from(data.content, "base64")).toHaveLength(4096);
      expect(await wrong("sandbox_file_read", read("/tmp/sparse", { limit: 2 ** 40 }))).toContain("limit is");
      await expect(client.readResource({ uri: "agentkernel://sandboxes/box/files/tmp/sparse" })).rejects.toThrow();
      expect((await call(client, "sandbox_list")).data.sandboxes).toMatchObject([{ name: "box", state: "running" }]);
    });

    it("secrets in the project are hidden from the file tools too", async () => {
      writeFileSync(join(project, ".env"), `TOKEN=${secret}\n`);
      await call(client, "sandbox_session_create", { name: "other", network: false });
      expect(await wrong("sandbox_file_read", { name: "other", path: "/workspace/.env" })).not.toContain(secret);
    });
  });

  it("A2: names, paths and values of the wrong form are refused with their field", async () => {
    const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
      ["sandbox_exec", { name: "../../etc", command: ["true"] }, /name is/],
      ["sandbox_exec", { name: "-rf", command: ["true"] }, /name is/],
      ["sandbox_exec", { name: "a%2fb", command: ["true"] }, /name is/],
      ["sandbox_exec", { name: null, command: ["true"] }, /name is null/],
      ["sandbox_session_create", { name: "A\u0000" }, /name is/],
      ["sandbox_file_write", { name: "box", path: "relative", content: "" }, /path is/],
      ["sandbox_file_write", { name: "box", path: "/a\u0000b", content: "" }, /path is/],
      ["sandbox_file_write", { name: "box", path: "/a", content: "%%%", encoding: "base64" }, /content is not base64/],
      ["sandbox_file_read", { name: "box", path: "/a", offset: -1 }, /offset is -1/],
      ["sandbox_file_read", { name: "box", path: "/a", offset: 1.5 }, /offset is 1\.5/],
      ["sandbox_run", { command: ["a\u0000b"] }, /command\[0\] is/],
      ["sandbox_run", { command: ["true"], env: { "A=B": "c" } }, /env has the key/],
      ["sandbox_run", { command: ["true"], timeout_ms: "30s" }, /timeout_ms is a text/],
      ["sandbox_run", { command: ["true"], network: { enabled: "yes" } }, /network\.enabled is a text/],
      ["sandbox_run", { command: [["true"]] }, /command\[0\] is a list/],
    ];
    for (const [tool, args, expected] of cases) expect(await wrong(tool, args)).toMatch(expected);
  });

  it("A4: what looks like an option, or like shell, is data", async () => {
    const words = ["--", "-rf", "$(id)", "`id`", "; id", "a\nb", "--network=on"];
    const { data } = await call(client, "sandbox_run", {
      command: ["printf", "%s\\n", ...words],
      env: { X: "a\nAGENTKERNEL_IMAGE=evil", Y: "$(id)" },
      network: false,
    });
    expect(data.stdout).toBe(`${words.join("\n")}\n`);
    const env = await call(client, "sandbox_run", {
      command: sh('printf "%s|%s|%s" "$X" "$Y" "$AGENTKERNEL_IMAGE"'),
      env: { X: "a\nAGENTKERNEL_IMAGE=evil", Y: "$(id)" },
      network: false,
    });
    expect(env.data.stdout).toBe("a\nAGENTKERNEL_IMAGE=evil|$(id)|");
    for (const image of ["--privileged", "-v/:/host", "a b", "x\ny"])
      await wrong("sandbox_run", { command: ["true"], image });
  });

  it("A5: a project's own configuration does not widen what the user forbids, and cannot be written from inside", async () => {
    const ask = { name: "box", network: true, profile: "permissive" };
    const free = await call(client, "sandbox_session_create", { ...ask, name: "before" });
    expect(free.data.network).toBe("on");
    mkdirSync(join(variables.XDG_CONFIG_HOME, "agentkernel"), { recursive: true });
    writeFileSync(join(variables.XDG_CONFIG_HOME, "agentkernel", "config.toml"), '[limits]\nnetwork = "off"\n');
    writeFileSync(join(project, "agentkernel.toml"), "[security]\nnetwork = true\n");
    expect(await wrong("sandbox_session_create", ask)).toMatch(/^policy_denied: network: .* is more than the limit/);
    const made = await call(client, "sandbox_session_create", { name: "box", profile: "permissive" });
    expect(made.data?.network, made.text).toBe("off");
    const command = sh("echo '[security]' > agentkernel.toml; echo new > a.txt");
    const ran = await call(client, "sandbox_run", { compatibility_mode: "claude", command, network: false });
    expect(ran.data?.notes, ran.text).toContain("written to the project on the host: a.txt");
    expect(runOutside(actor, ["cat", join(project, "a.txt")]).stdout).toBe("new\n");
    expect(runOutside(actor, ["cat", join(project, "agentkernel.toml")]).stdout).toContain("network = true");
  });

  it("A6: no secret of the host's enters a sandbox, an answer, stderr or the audit log", async () => {
    expect(runOutside(actor, ["sh", "-c", "echo $HOME"]).status).toBe(0);
    const { data } = await call(client, "sandbox_run", { command: ["env"], network: false });
    expect(data.stdout).not.toContain(secret);
    const told = await wrong("sandbox_run", { command: ["true"], image: `${secret}/..//x` });
    expect(told).not.toContain(secret);
    await call(client, "sandbox_run", {
      command: sh("true"),
      env: { API_TOKEN: "t0ken-fedcba9876543210" },
      network: false,
    });
    const { stdout } = await runCli({ ...actor, variables }, ["audit", "list", "--json"]);
    expect(stdout).toContain("exec.start");
    expect(stdout).not.toContain("t0ken-fedcba9876543210");
    expect(stdout).not.toContain(secret);
    expect(stderr()).not.toContain(secret);
  });

  it("F1: a link in the project to the host's files shows nothing", async () => {
    symlinkSync("/etc/shadow", join(project, "link"));
    const { data } = await call(client, "sandbox_run", { command: ["cat", "link"], network: false });
    expect(data.exit_code).not.toBe(0);
  });
});
