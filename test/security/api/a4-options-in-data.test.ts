/** Data that looks like options, words of a shell, or more than one line: it arrives as the data that it is. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { runOutside } from "../support/process-programs.js";

describe("A4 options and shell words in data", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  let server: ApiServer;
  let key: string;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    key = await server.key("admin", ["--scope", "admin"]);
  });
  afterAll(async () => {
    await server.stop();
  });
  const run = async (body: object) => await server.ask("POST", "/run", { body: { network: false, ...body }, key });

  const hostile = [
    "$(id)",
    "`id`",
    "; id",
    "| id",
    "&& id",
    "> /tmp/x",
    "--",
    "-rf",
    "--privileged",
    "*",
    "'\"",
    "a\nb",
    "\\",
    "$HOME",
  ];

  it("a shell would act on such words outside", async () => {
    const { stdout } = await runOutside(actor, ["sh", "-c", `echo ${hostile[0]}`]);
    expect(stdout).toContain("uid=");
  });

  it.each(hostile)("the word %j arrives as it is", async (word) => {
    const { json } = await run({ command: ["printf", "%s", word] });
    expect(json.data.stdout).toBe(word);
  });

  it.each(hostile)("the value %j of a variable arrives as it is, and sets no other", async (value) => {
    const { json } = await run({ command: ["sh", "-c", 'printf %s "$X"; env | grep -c ^X='], env: { X: value } });
    expect(json.data.stdout).toBe(`${value}1\n`);
  });

  it("a value with a newline does not become a second variable", async () => {
    const { json } = await run({ command: ["sh", "-c", 'echo "[$EVIL]"'], env: { X: "a\nEVIL=yes" } });
    expect(json.data.stdout).toBe("[]\n");
  });

  it.each(["-v", "--help", "-v/:/host", "a\nb", "a b", "host\u0000", "$(id)", "../../etc", "--", ""])(
    "the image %j is refused as a reference",
    async (image) => {
      const { status, json } = await run({ command: ["true"], image });
      expect(status).toBe(400);
      expect(json.error.code).toBe("invalid_argument");
    },
  );

  it.each(["-rf", "--uid 0", "root;id", "0:0:0", "\n", "$(id)"])("the user %j is refused", async (user) => {
    const { status, json } = await run({ command: ["true"], user });
    expect([status, json.error.code]).toEqual([400, "invalid_argument"]);
    expect(json.error.message).toContain("user");
    expect(json.error.message).not.toContain("--user");
  });

  it.each(["/workspace; id", "/tmp/$(id)", "/-rf"])("the folder %j is looked for as it is called", async (cwd) => {
    const { status, json } = await run({ command: ["pwd"], cwd });
    expect([status, json.error.code]).toEqual([400, "bad_workdir"]);
  });

  it.each(["-rf", "--", "; id"])("a command called %j is a name of a program and nothing else", async (name) => {
    const { status, json } = await run({ command: [name, "x"] });
    expect([status, json.error.code]).toEqual([400, "command_not_found"]);
  });
});
