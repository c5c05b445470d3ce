/** F5, A2 to A6 through the tools of MCP: what a model, or whoever speaks through it, could ask for. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
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
  const configure = (text: string) => {
    const folder = join(variables.XDG_CONFIG_HOME, "agentkernel");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.toml"), text);
  };
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
    const ask = { name: "box", network: true };
    const free = await call(client, "sandbox_session_create", { ...ask, name: "before" });
    expect(free.data.network).toBe("on");
    configure('[limits]\nnetwork = "off"\n');
    writeFileSync(join(project, "agentkernel.toml"), "[security]\nnetwork = true\n");
    expect(await wrong("sandbox_session_create", ask)).toMatch(/^policy_denied: network: .* is more than the limit/);
    const made = await call(client, "sandbox_session_create", { name: "box" });
    expect(made.data?.network, made.text).toBe("off");
    const command = sh("echo '[security]' > agentkernel.toml; echo new > a.txt");
    // Changes are carried over where the user has said so.
    configure('[agent]\ncompatibility_mode = "claude"\n[limits]\nnetwork = "off"\n');
    const ran = await call(client, "sandbox_run", { compatibility_mode: "claude", command, network: false });
    expect(ran.data?.notes, ran.text).toContain("written to the project on the host: a.txt");
    expect(runOutside(actor, ["cat", join(project, "a.txt")]).stdout).toBe("new\n");
    expect(runOutside(actor, ["cat", join(project, "agentkernel.toml")]).stdout).toContain("network = true");
  });

  describe("A5: a model that asks for more than the user's configuration gives", () => {
    const home = "cat $HOME/diary.txt";
    const run = { command: sh(home), network: false };
    const makers = ["sandbox_run", "sandbox_session_create"] as const;
    beforeEach(() => {
      writeFileSync(join(actor.home, "diary.txt"), "dear diary\n", { mode: 0o644 });
    });
    afterEach(() => {
      rmSync(join(actor.home, "diary.txt"));
    });
    const again = async (answers: readonly ElicitResult[]) => {
      await client.close();
      const questions: string[] = [];
      const left = [...answers];
      const options = { cwd: project, env: { ...variables, AGENTKERNEL_DAEMON: "off" } };
      ({ client, stderr } = await startMcp(actor, { ...options, capabilities: { elicitation: {} } }, (one) =>
        one.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          questions.push(params.message);
          return left.shift() ?? { action: "cancel" };
        }),
      ));
      return questions;
    };

    it("does not get a looser profile, a network or names by itself, and is told what the user would have to write", async () => {
      for (const tool of makers) {
        const args = tool === "sandbox_run" ? run : {};
        const told = await wrong(tool, { ...args, network: true, profile: "permissive" });
        expect(told).toMatch(/^policy_denied: .*fs\.home "readonly" instead of "none"/);
        expect(told).toContain('security.profile = "permissive"');
        expect(told).not.toContain("dear diary");
      }
      configure("[security]\nnetwork = false\n");
      expect(await wrong("sandbox_run", { ...run, network: true })).toContain("security.network = true");
      const named = { enabled: true, allowed_domains: ["a.example.com"] };
      expect(await wrong("sandbox_run", { ...run, network: named })).toMatch(/net\.egress "allowlist"/);
      configure('[security]\ndomains.allow = ["*.example.com"]\n');
      const other = { enabled: true, allowed_domains: ["a.example.com", "evil.example"] };
      expect(await wrong("sandbox_run", { ...run, network: other })).toContain("evil.example");
      expect((await call(client, "sandbox_run", { command: ["true"], network: named })).isError).toBe(false);
      configure('[security]\nprofile = "restrictive"\n');
      expect(await wrong("sandbox_run", { command: ["true"], compatibility_mode: "claude" })).toMatch(
        /^policy_denied: .*net\.egress/,
      );
      expect(await wrong("sandbox_run", { command: ["true"], profile: "moderate" })).toContain("policy_denied");
    });

    it("does not get a folder of the host as its root", async () => {
      const folder = actor.folder("private");
      expect(await wrong("sandbox_session_create", { name: "root", image: folder })).toMatch(
        /^policy_denied: .*image:/,
      );
    });

    it("gets what is narrower, and what the configuration says, without a question", async () => {
      const questions = await again([]);
      expect((await call(client, "sandbox_run", { command: ["true"], profile: "restrictive" })).isError).toBe(false);
      configure('[security]\nprofile = "permissive"\n');
      const { data } = await call(client, "sandbox_run", { ...run, profile: "permissive" });
      expect(data.stdout).toBe("dear diary\n");
      expect(questions).toEqual([]);
    });

    it("gets it by the user's word, which holds for that call", async () => {
      const questions = await again([{ action: "accept", content: { decision: "once" } }, { action: "decline" }]);
      const wide = { ...run, profile: "permissive" };
      expect((await call(client, "sandbox_run", wide)).data.stdout).toBe("dear diary\n");
      expect(questions[0]).toMatch(/more open than your configuration.*fs\.home/s);
      expect(await wrong("sandbox_run", wide)).toMatch(/^policy_denied: the user refused/);
      expect(await wrong("sandbox_run", wide)).toMatch(/^policy_denied: the user refused/);
      expect(questions).toHaveLength(3);
    });
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
