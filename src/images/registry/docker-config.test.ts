import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dockerConfigCredentials, dockerConfigPath } from "./docker-config.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const base64 = (text: string): string => Buffer.from(text).toString("base64");

function source(config: unknown) {
  const path = join(folder, "config.json");
  writeFileSync(path, typeof config === "string" ? config : JSON.stringify(config));
  return dockerConfigCredentials(path, { PATH: `${folder}:${process.env.PATH}` });
}

function helper(name: string, script: string): void {
  writeFileSync(join(folder, `docker-credential-${name}`), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, `docker-credential-${name}`), 0o755);
}

async function failureOf(work: Promise<unknown>): Promise<{ code: string; text: string }> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error) || !("code" in error)) throw new Error(`expected a failure, got ${String(error)}`);
  const shown = { ...error, message: error.message, stack: error.stack };
  return { code: String(error.code), text: `${JSON.stringify(shown)}${String(error.cause)}` };
}

describe("Docker's config.json", () => {
  it("is looked for where DOCKER_CONFIG says, else in the home folder", () => {
    expect(dockerConfigPath({ DOCKER_CONFIG: "/x" }, "/home/u")).toBe("/x/config.json");
    expect(dockerConfigPath({}, "/home/u")).toBe("/home/u/.docker/config.json");
  });

  it("that is not there means no login", async () => {
    expect(await dockerConfigCredentials(join(folder, "none.json"), {})("docker.io")).toBeNull();
  });

  it.each<[string, string]>([
    ["docker.io", "https://index.docker.io/v1/"],
    ["docker.io", "docker.io"],
    ["localhost:5000", "localhost:5000"],
    ["example.com", "https://example.com/v2/"],
  ])("has the login for %s under %s", async (registry, key) => {
    const read = source({ auths: { "other.example": { auth: base64("x:y") }, [key]: { auth: base64("user:pa:ss") } } });
    expect(await read(registry)).toEqual({ kind: "password", username: "user", password: "pa:ss" });
  });

  it("gives no registry the login of another", async () => {
    const read = source({
      auths: { "example.com": { auth: base64("u:p") }, "localhost:5000": { auth: base64("u:p") } },
    });
    for (const other of ["docker.io", "example.com.evil.net", "evil-example.com", "localhost", "localhost:5001"]) {
      expect(await read(other)).toBeNull();
    }
  });

  it("may hold an identity token", async () => {
    const read = source({ auths: { "a.example": { auth: base64("u:"), identitytoken: "refresh" } } });
    expect(await read("a.example")).toEqual({ kind: "identity-token", token: "refresh" });
  });

  it.each(['{"auths": {"a.example": {"auth": "c2VjcmV0"}}}', '{"auths": "s3cret', "[[[s3cret"])(
    "that is malformed is an error that shows nothing of it: %s",
    async (text) => {
      const failure = await failureOf(source(text)("a.example"));
      expect(failure.code).toBe("invalid_policy");
      expect(failure.text).not.toMatch(/s3cret|secret|c2Vj/);
    },
  );

  it.each(["null", "[]", '{"auths": []}', '{"auths": {"a.example": null}}', '{"credHelpers": 1, "credsStore": {}}'])(
    "of the shape %s holds no login",
    async (text) => {
      expect(await source(text)("a.example")).toBeNull();
    },
  );
});

describe("a credential helper", () => {
  it("is asked for the server on its input, and nothing on its command line", async () => {
    helper("test", `echo "$@" > ${folder}/args; cat > ${folder}/input; echo '{"Username":"u","Secret":"p"}'`);
    const read = source({ credHelpers: { "a.example:443": "test" } });
    expect(await read("a.example:443")).toEqual({ kind: "password", username: "u", password: "p" });
    expect(readFileSync(join(folder, "args"), "utf8")).toBe("get\n");
    expect(readFileSync(join(folder, "input"), "utf8")).toBe("a.example:443\n");
  });

  it("of one registry comes before the store for all, and Docker's own registry keeps its old name", async () => {
    helper("one", `echo '{"Username":"<token>","Secret":"t"}'`);
    helper("all", `read server; printf '{"Username":"%s","Secret":"p"}' "$server"`);
    const read = source({ credsStore: "all", credHelpers: { "a.example": "one" } });
    expect(await read("a.example")).toEqual({ kind: "identity-token", token: "t" });
    expect(await read("docker.io")).toMatchObject({ username: "https://index.docker.io/v1/" });
  });

  it("that knows no login leaves it to the file", async () => {
    helper("none", "echo 'credentials not found in native keychain'; exit 1");
    const read = source({ credsStore: "none", auths: { "a.example": { auth: base64("u:p") } } });
    expect(await read("a.example")).toMatchObject({ username: "u" });
    expect(await read("b.example")).toBeNull();
  });

  it.each([
    ["fails", "echo s3cret; echo s3cret >&2; exit 3", /status 3/],
    ["says nonsense", "echo s3cret", /no JSON/],
    ["says too little", `echo '{"Secret":"s3cret"}'`, /no user name/],
    ["says too much", "head -c 200000 /dev/zero | tr '\\0' s", /too much/],
  ])("that %s is an error that shows nothing of what it said", async (_name, script, message) => {
    helper("bad", script);
    const failure = await failureOf(source({ credsStore: "bad" })("a.example"));
    expect(failure.code).toBe("registry_unauthorized");
    expect(failure.text).toMatch(message);
    expect(failure.text).not.toContain("s3cret");
  });

  it("that is not installed is named", async () => {
    expect((await failureOf(source({ credsStore: "missing" })("a.example"))).text).toMatch(/missing is not installed/);
  });

  it.each(["../evil", "-x", "a b", "a/b", "a;b", "x".repeat(65), "\u001b[2J"])("cannot be called %j", async (name) => {
    mkdirSync(join(folder, "docker-credential-.."), { recursive: true });
    const failure = await failureOf(source({ credsStore: name })("a.example"));
    expect(failure).toMatchObject({ code: "invalid_policy" });
  });
});
