import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BoundSecret, createSandboxSecrets } from "./bound-secret.js";
import { EchoMask } from "./echo-mask.js";
import { PlaceholderWatch } from "./placeholder-watch.js";
import { replaceInHeader } from "./replacement.js";
import { rewriteRequestHead } from "./request-head.js";

const HOST = "api.example.com";
const value = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_./+=% "\\:~'), minLength: 8, maxLength: 60 });
const usable = value.filter((text) => text.trim() === text && !text.includes("agentkernel"));
const visible = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_./+=%,; :agentkernel-secret-"), maxLength: 80 });

function secretOf(text: string, header = "authorization"): BoundSecret {
  const [secret] = createSandboxSecrets([{ name: "KEY", host: HOST, header, value: text }]).bound;
  if (secret === undefined) throw new Error("no secret");
  return secret;
}

const bound = (secrets: readonly BoundSecret[], headBytes = 65_536) => ({
  host: HOST,
  port: 443,
  secrets,
  all: secrets,
  headBytes,
});

describe("replacing in a header", () => {
  it("puts the secret exactly where the placeholder was, whatever is around it", () => {
    fc.assert(
      fc.property(usable, fc.array(visible, { minLength: 2, maxLength: 5 }), (real, around) => {
        const secret = secretOf(real);
        const plain = around.map((text) => text.replace(/^Basic /i, ""));
        const result = replaceInHeader("authorization", plain.join(secret.placeholder), [secret], 65_536);
        expect(result).toEqual({ value: plain.join(real), names: ["KEY"] });
      }),
    );
  });

  it("leaves every other header, and every value without the placeholder, as it is", () => {
    fc.assert(
      fc.property(usable, visible, visible, (real, a, b) => {
        const secret = secretOf(real);
        const untouched = { names: [] };
        const carrying = `${a}${secret.placeholder}${b}`;
        expect(replaceInHeader("x-other", carrying, [secret], 65_536)).toEqual({ value: carrying, ...untouched });
        expect(replaceInHeader("authorization", a, [secret], 65_536)).toEqual({ value: a, ...untouched });
      }),
    );
  });

  it("codes Basic credentials anew, with the secret as user or as password", () => {
    const bytes = fc.string({ unit: fc.constantFrom(..."abc:é \xff019"), maxLength: 20 });
    fc.assert(
      fc.property(usable, bytes, bytes, (real, before, after) => {
        const secret = secretOf(real);
        const coded = (middle: string) => Buffer.from(`${before}${middle}${after}`, "latin1").toString("base64");
        const result = replaceInHeader("authorization", `Basic ${coded(secret.placeholder)}`, [secret], 65_536);
        expect(result?.value).toBe(`Basic ${coded(real)}`);
      }),
    );
  });

  it("grows within a bound, also where many small placeholders stand for a long secret", () => {
    const secret = secretOf("x".repeat(8_192));
    const many = secret.placeholder.repeat(100);
    expect(replaceInHeader("authorization", many, [secret], 65_536)).toBeNull();
    const basic = `Basic ${Buffer.from(many).toString("base64")}`;
    expect(replaceInHeader("authorization", basic, [secret], 65_536)).toBeNull();
    const head = Buffer.from(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: ${many}\r\n\r\n`);
    expect(rewriteRequestHead(head, bound([secret]))).toMatch(/too large a head/);
  });
});

describe("a request's head", () => {
  const field = fc.record({
    name: fc.constantFrom("X-One", "Authorization", "authorization", "X-AUTHORIZATION", "Cookie", "Authorization2"),
    before: visible,
    withKey: fc.boolean(),
  });

  it("has the secret in its header's lines and nowhere else; all other lines are as they were", () => {
    fc.assert(
      fc.property(usable, fc.array(field, { maxLength: 6 }), (real, fields) => {
        const secret = secretOf(real);
        const text = (key: string) =>
          fields.map((one) => `${one.name}: x${one.before.trim()}${one.withKey ? key : ""}`);
        const lines = text(secret.placeholder);
        const head = [`GET /?${secret.placeholder} HTTP/1.1`, `Host: ${HOST}`, ...lines, "", ""].join("\r\n");
        const result = rewriteRequestHead(Buffer.from(head, "latin1"), bound([secret]));
        if (typeof result === "string") throw new Error(result);
        const expected = text(real).map((line, i) => (/^authorization:/i.test(line) ? line : lines[i]));
        expect(result.bytes.toString("latin1").split("\r\n").slice(2, -2)).toEqual(expected);
        expect(result.bytes.toString("latin1").split("\r\n")[0]).toBe(`GET /?${secret.placeholder} HTTP/1.1`);
      }),
    );
  });

  it("never brings the secret out where the Host is another, whatever it is", () => {
    fc.assert(
      fc.property(fc.domain(), (other) => {
        fc.pre(other !== HOST);
        const secret = secretOf("the-real-value");
        const head = `GET / HTTP/1.1\r\nHost: ${other}\r\nAuthorization: ${secret.placeholder}\r\n\r\n`;
        expect(typeof rewriteRequestHead(Buffer.from(head), bound([secret]))).toBe("string");
      }),
    );
  });
});

describe("masking echoes", () => {
  /** The text in pieces at these places. */
  const cut = (text: string, places: readonly number[]): Buffer[] => {
    const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
    return [...ends, text.length].map((end, i) => Buffer.from(text.slice(i === 0 ? 0 : ends[i - 1], end), "latin1"));
  };

  it("finds the secret wherever it is cut, keeps every length, and changes nothing else", () => {
    const around = fc.array(visible, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(usable, around, fc.array(fc.nat(1_000), { maxLength: 12 }), (real, parts, places) => {
        fc.pre(parts.every((part) => !part.includes(real)));
        const secret = secretOf(real);
        const text = parts.join(real);
        const mask = new EchoMask([secret]);
        const lines = cut(text, places).flatMap((piece) => [...mask.data(piece), ...mask.between(Buffer.from("\n"))]);
        const out = Buffer.concat([...lines, ...mask.flush()]).toString("latin1");
        const whole = new EchoMask([secret]);
        const once = Buffer.concat([...whole.data(Buffer.from(text, "latin1")), ...whole.flush()]).toString("latin1");
        expect(out.replaceAll("\n", "")).toBe(once);
        expect(once).toHaveLength(text.length);
        expect(once.includes(real)).toBe(false);
        if (parts.length === 1) expect(once).toBe(text);
      }),
    );
  });

  it("finds it within base64, whatever is before and after it there", () => {
    fc.assert(
      fc.property(usable, visible, visible, fc.boolean(), (real, before, after, urlSafe) => {
        const secret = secretOf(real);
        const coding = urlSafe ? "base64url" : "base64";
        const coded = (text: string) => Buffer.from(`${before}${text}${after}`, "latin1").toString(coding);
        const out = new EchoMask([secret]).whole(Buffer.from(coded(real))).toString("latin1");
        expect(out).toHaveLength(coded(real).length);
        const known = Buffer.from(out.replace(/agentk.*?(?=[^a-z0-9*-]|$)/, ""), coding).toString("latin1");
        expect(known.includes(real)).toBe(false);
        expect(out).toContain("agentk");
      }),
    );
  });

  it("lets go and holds back by lengths alone: what is held never tells that a secret begins", () => {
    const real = "SECRET-VALUE";
    const passedOf = (pieces: readonly string[]) => {
      const mask = new EchoMask([secretOf(real)]);
      return pieces.map((piece) => mask.data(Buffer.from(piece)).reduce((sum, bytes) => sum + bytes.length, 0));
    };
    const piece = fc.string({ unit: fc.constantFrom(...real), maxLength: 400 });
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        expect(passedOf(pieces)).toEqual(passedOf(pieces.map((text) => "-".repeat(text.length))));
      }),
    );
    expect(passedOf(["x".repeat(999), `${"x".repeat(998)}S`, real])).toEqual([743, 999, 12]);
  });
});

describe("noticing placeholders", () => {
  it("finds one wherever it is cut, once", () => {
    const secret = secretOf("the-real-value");
    fc.assert(
      fc.property(visible, visible, fc.array(fc.nat(1_000), { maxLength: 9 }), (a, b, places) => {
        const found: string[] = [];
        const watch = new PlaceholderWatch([secret], (name) => found.push(name));
        const text = `${a}${secret.placeholder}${b}${secret.placeholder}`;
        const ends = places.map((place) => place % text.length).sort((x, y) => x - y);
        for (const [i, end] of [...ends, text.length].entries())
          watch.push(Buffer.from(text.slice(ends[i - 1] ?? 0, end)));
        expect(found).toEqual(["KEY"]);
        const quiet = new PlaceholderWatch([secret], () => expect.unreachable());
        quiet.push(Buffer.from(`${a}${secret.placeholder.slice(0, -1)} ${b}`));
      }),
    );
  });
});
