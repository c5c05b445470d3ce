/** Whatever is wrong: one clear sentence, a hint, the right status, no stack trace, and nothing left behind. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { expectComplaint } from "../support/complaint.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";
import { runCli, runIn } from "../support/run-cli.js";

/** What is written, what it is called, and what is suggested. */
const misuses: readonly [string, readonly string[], RegExp, RegExp][] = [
  ["an unknown verb", ["rum"], /there is no verb "rum"/, /did you mean agentkernel run\?/],
  ["half a verb", ["policy"], /policy needs a word after it/, /policy explain/],
  ["an unknown flag", ["run", "--netwrok", "off", "true"], /no option --netwrok/, /did you mean --network\?/],
  ["an unknown short flag", ["run", "-Z", "true"], /no option -Z/, /--help/],
  ["a life of a run's own", ["run", "--ttl", "1h", "true"], /--ttl is for sandboxes that stay/, /--keep/],
  ["no command", ["run"], /run needs a command/, /--help/],
  ["an unknown profile", ["run", "-p", "restricted", "true"], /not one of permissive, moderate/, /restrictive/],
  ["a flag without its value", ["run", "--timeout"], /--timeout needs a value/, /--timeout/],
  ["a flag twice", ["run", "--memory", "1g", "--memory", "2g", "true"], /--memory is given twice/, /once/],
  ["a switch with a value", ["run", "--no-network=yes", "true"], /--no-network takes no value/, /--help/],
  ["network on and off", ["run", "--no-network", "--network", "on", "true"], /contradicts/, /leave one/],
  ["a domain without a network", ["run", "--no-network", "--allow-domain", "a.b", "true"], /contradicts/, /leave one/],
  ["root without root", ["run", "-p", "restrictive", "-u", "root", "true"], /allows no root/, /another user/],
  [
    "sync of what is read-only",
    ["run", "-p", "restrictive", "--workspace", "sync", "true"],
    /nothing to carry/,
    /copy/,
  ],
  ["no memory", ["run", "--memory", "0", "true"], /--memory: "0"/, /16m to 1t/],
  ["memory without a unit", ["run", "--memory", "512", "true"], /--memory: "512"/, /512m/],
  ["negative processes", ["run", "--pids", "-5", "true"], /--pids/, /1 to 32768/],
  ["half a process", ["run", "--pids", "1.5", "true"], /--pids: "1.5"/, /1 to 32768/],
  ["no processor", ["run", "--vcpus", "0", "true"], /--vcpus: "0"/, /0.1 to 256/],
  ["not a number", ["run", "--open-files", "many", "true"], /--open-files: "many"/, /64 to/],
  ["a time with no such unit", ["run", "--timeout", "30x", "true"], /--timeout: "30x"/, /30s/],
  ["no time", ["run", "--timeout", "0s", "true"], /--timeout: "0s"/, /1ms to 576h/],
  ["no disk", ["run", "--disk", "x", "true"], /--disk: "x"/, /4g/],
  ["a nonsense user", ["run", "--user", "a b", "true"], /"a b" is not a user/, /1000:1000/],
  ["a nonsense variable", ["run", "-e", "1A=b", "true"], /"1A" is not a name of a variable/, /NAME=value/],
  ["a variable that is not set", ["run", "-e", "NOT_SET_HERE", "true"], /NOT_SET_HERE is not set/, /NOT_SET_HERE=/],
  ["a workdir that is not there", ["run", "-w", "src", "true"], /\/workspace\/src does not exist/, /--workdir/],
  [
    "a mount of something missing",
    ["run", "-v", "/no/such:/x", "true"],
    /"\/no\/such" does not exist/,
    /already there/,
  ],
  ["a mount that is none", ["run", "-v", "here", "true"], /not of the form HOST:GUEST/, /:ro/],
  ["a mount over the system", ["run", "-v", "/tmp:/usr/x", "true"], /nothing can be mounted at "\/usr\/x"/, /\/deps/],
  ["a mount of the machine", ["run", "-v", "/:/host", "true"], /never shown to a sandbox/, /folder that is needed/],
  ["a mount of /proc", ["run", "-v", "/proc:/p:ro", "true"], /never shown to a sandbox/, /copy/],
  ["a mount of /etc/shadow", ["run", "-v", "/etc/shadow:/s:ro", "true"], /holds secrets/, /--env/],
  [
    "a mount over the project",
    ["run", "-v", "/tmp:/workspace", "true"],
    /at \/workspace, where the project is/,
    /none/,
  ],
  ["an unknown image", ["run", "-i", "alpine:3.20", "true"], /image/, /host/],
  ["an unknown backend", ["run", "-B", "dockre", "true"], /dockre/, /./],
  ["completions for no shell", ["completions", "powershell"], /not one of bash, zsh, fish/, /--help/],
  ["a word too many", ["doctor", "please"], /doctor takes no word "please"/, /--help/],
];

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it.each(misuses)("%s", async (_name, words, sentence, hint) => {
    const result = await runCli(actor, words, { cwd: actor.folder() });
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expectComplaint(result.stderr, sentence, hint);
  });

  it("a terminal as JSON, told as JSON", async () => {
    const result = await runCli(actor, ["run", "--tty", "--json", "true"], { cwd: actor.folder() });
    expect(result).toMatchObject({ status: 125, stderr: "" });
    const error = {
      code: "invalid_argument",
      message: "--tty contradicts --json",
      hint: expect.stringMatching(/leave one/),
    };
    expect(JSON.parse(result.stdout)).toEqual({ success: false, error });
  });

  it("a workdir that is not in the sandbox is bad_workdir", async () => {
    const result = await runIn(actor, ["-w", "/no/such", "true"]);
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expectComplaint(result.stderr, /\/no\/such/);
    const json = await runIn(actor, ["--json", "-w", "/no/such", "true"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ success: false, error: { code: "bad_workdir" } });
  });

  it("a user that the sandbox does not know is bad_user", async () => {
    const result = await runIn(actor, ["-u", "nobody-knows", "true"]);
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expectComplaint(result.stderr, /nobody-knows/);
    const json = await runIn(actor, ["--json", "-u", "nobody-knows", "true"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ success: false, error: { code: "bad_user" } });
  });

  it("a name that is not a command is 127", async () => {
    const result = await runIn(actor, ["pyton3", "-c", "print(1)"]);
    expect(result).toMatchObject({ status: 127, stdout: "" });
    expectComplaint(result.stderr, /pyton3/);
  });

  it("a project that itself is a secret, and a mount of protected files, are refused", async () => {
    const secret = makeProject(actor, { ".ssh/config": "x\n", ".git/hooks/pre-commit": "x\n" });
    const inSecret = await runIn(actor, ["true"], { cwd: join(secret.path, ".ssh") });
    expect(inSecret.status).toBe(125);
    expectComplaint(inSecret.stderr, /holds secrets and is hidden/);
    const hooks = join(secret.path, ".git", "hooks");
    const writable = await runIn(actor, ["-v", `${hooks}:/hooks`, "true"], { cwd: actor.folder() });
    expect(writable.status).toBe(125);
    expectComplaint(writable.stderr, /is protected/, /:ro/);
    expect(await runIn(actor, ["-v", `${hooks}:/hooks:ro`, "ls", "/hooks"], { cwd: actor.folder() })).toMatchObject({
      status: 0,
      stdout: "pre-commit\n",
    });
  });

  it("names that try to talk to the terminal are shown, not obeyed", async () => {
    const result = await runIn(actor, ["\u001b[2Jno-such-command\u0007"]);
    expect(result.status).toBe(127);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    expect(result.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });
});
