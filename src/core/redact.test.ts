// THREATS A6
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redactor } from "./redact.js";
import { isSecretName, secretValues } from "./secret-names.js";

const plain = redactor();

describe("names that speak of secrets", () => {
  test.each([
    "TOKEN",
    "GITHUBTOKEN",
    "npm_config__authToken",
    "--api-key",
    "X-Api-Key",
    "DB_PASS",
    "dbPassword",
    "KEY",
  ])("%s", (name) => expect(isSecretName(name)).toBe(true));
  test.each(["PWD", "OLDPWD", "author", "--max-tokens", "keyboard", "PATH", "monkey", "compass", ""])(
    "%s is none",
    (name) => expect(isSecretName(name)).toBe(false),
  );

  test("values of such variables are known, but no paths, plain words or short ones", () => {
    const env = { A_TOKEN: "v3ry-s3cret", SSH_AUTH_SOCK: "/run/agent", USE_AUTH: "enabled", PIN: "1234", PATH: "/usr" };
    expect(secretValues(env)).toEqual(["v3ry-s3cret"]);
  });
});

describe("a command", () => {
  test.each([
    [
      ["deploy", "--token=abc"],
      ["deploy", "--token=[redacted]"],
    ],
    [
      ["deploy", "--password", "hunter2", "now"],
      ["deploy", "--password", "[redacted]", "now"],
    ],
    [
      ["deploy", "--auth", "--verbose"],
      ["deploy", "--auth", "--verbose"],
    ],
    [
      ["env", "API_KEY=a b&c", "make"],
      ["env", "API_KEY=[redacted]", "make"],
    ],
    [
      ["curl", "-u", "me:pw", "https://x.example"],
      ["curl", "-u", "me:[redacted]", "https://x.example"],
    ],
    [
      ["curl", "-H", "Authorization: Bearer abc.def"],
      ["curl", "-H", "Authorization: [redacted]"],
    ],
    [
      ["curl", "-H", "X-Api-Key: abc"],
      ["curl", "-H", "X-Api-Key: [redacted]"],
    ],
    [
      ["mysql", "-pgeheim", "db"],
      ["mysql", "-p[redacted]", "db"],
    ],
    [
      ["docker", "run", "-p", "80:80"],
      ["docker", "run", "-p", "80:80"],
    ],
    [
      ["docker", "login", "-p", "geheim"],
      ["docker", "login", "-p", "[redacted]"],
    ],
    [
      ["git", "clone", "https://me:pw@x.example/r"],
      ["git", "clone", "https://[redacted]@x.example/r"],
    ],
    [
      ["get", "https://x.example/?a=1&token=abc&b=2"],
      ["get", "https://x.example/?a=1&token=[redacted]&b=2"],
    ],
    [
      ["sh", "-c", "TOKEN=abc npm test"],
      ["sh", "-c", "TOKEN=[redacted] npm test"],
    ],
    [
      ["sh", "-c", 'export TOKEN="a b" && x'],
      ["sh", "-c", 'export TOKEN="[redacted]" && x'],
    ],
    [
      ["sh", "-c", "tool --secret abc | less"],
      ["sh", "-c", "tool --secret [redacted] | less"],
    ],
    [
      ["post", '{"user":"me","password":"a\\"b","x":1}'],
      ["post", '{"user":"me","password":"[redacted]","x":1}'],
    ],
    [
      ["echo", "ghp_0123456789abcdef0123"],
      ["echo", "[redacted]"],
    ],
    [
      ["echo", "AKIAABCDEFGHIJKLMNOP"],
      ["echo", "[redacted]"],
    ],
    [
      ["echo", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln"],
      ["echo", "[redacted]"],
    ],
    [
      ["echo", "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----!"],
      ["echo", "[redacted]!"],
    ],
    [
      ["echo", "-----BEGIN PRIVATE KEY-----\nMII"],
      ["echo", "[redacted]"],
    ],
    [
      ["npm", "test"],
      ["npm", "test"],
    ],
    [
      ["run", "task-runner-with-long-name"],
      ["run", "task-runner-with-long-name"],
    ],
    [
      ["ssh", "token.example.com:2222"],
      ["ssh", "token.example.com:2222"],
    ],
    [
      ["get", "http://token:8080/path"],
      ["get", "http://token:8080/path"],
    ],
  ])("%j becomes %j", (words, expected) => {
    expect(plain.argv(words)).toEqual(expected);
  });
});

describe("known values", () => {
  const known = redactor(["s3cr3t/value+1"]);

  test.each([
    "s3cr3t/value+1",
    "s3cr3t%2Fvalue%2B1",
    Buffer.from("s3cr3t/value+1").toString("base64"),
    "7333637233742f76616c75652b31",
  ])("are found as %s", (spelling) => {
    expect(known.text(`a ${spelling} b`)).toBe("a [redacted] b");
    expect(known.value(`${spelling}.example.com`)).toBe("[redacted].example.com");
    expect(known.argv(["echo", `x${spelling}y`])).toEqual(["echo", "x[redacted]y"]);
  });

  test("go wherever they are, and whatever else is known", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "C", "1", "-"), minLength: 4, maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 4 }),
        fc.array(fc.string(), { maxLength: 5 }),
        (secrets, parts) => {
          const text = parts.flatMap((part, index) => [part, secrets[index % secrets.length] ?? ""]).join("");
          const { text: redact, value, argv } = redactor(secrets);
          for (const shown of [redact(text), value(text), argv(["x", text]).join("\0")]) {
            // The mark itself is no leak.
            const rest = shown.replaceAll("[redacted]", "\0");
            for (const secret of secrets) expect(rest).not.toContain(secret);
          }
        },
      ),
    );
  });
});

test("what is redacted stays so when it is redacted again", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (words) => {
      const once = plain.argv(words);
      expect(plain.argv(once).join(" ").replaceAll("[redacted]", "")).not.toMatch(/ghp_[a-z0-9]{16}/);
      for (const word of once) expect(typeof word).toBe("string");
    }),
  );
});

/** Texts that make careless patterns look at every character many times. */
const HALF_MIB = 512 * 1024;
test.each([
  "a",
  "=",
  ":",
  "a=",
  "token:",
  '--key \\"',
  "sk-",
  "eyJ",
  "://",
  "://@",
  "-----BEGIN ",
  "bearer ",
  "key='\\'",
  " -a",
  '"',
  "\\",
])("%j over and over takes no longer than its length", (unit) => {
  const text = unit.repeat(Math.ceil(HALF_MIB / unit.length));
  const startedAt = performance.now();
  plain.text(text);
  plain.argv(["x", text]);
  expect(performance.now() - startedAt).toBeLessThan(3000);
});
