// `npm run fuzz`: searches for inputs that go wrong, led by the coverage that they reach. Rust's targets are searched by
// libFuzzer, those of TypeScript by a search of our own (scripts/fuzz). What is found lies in `test/fuzz/corpus/NAME` as
// `found-…` and is replayed by every `npm test` from then on.
//
//   npm run fuzz                                 every target, a minute each
//   npm run fuzz -- dns-queries tar-archive      some of them
//   npm run fuzz -- inspector --minutes 10       for so long each
//   npm run fuzz -- --list                       what there is
//   npm run fuzz -- inspector --keep 40          adds up to so many inputs that reach something new to the corpus
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const corpora = join(root, "test", "fuzz", "corpus");
const built = join(root, ".build", "fuzz");
const MAX_BYTES = 2048;

const namesIn = (folder, extension) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(extension))
    .map((name) => name.slice(0, -extension.length))
    .sort();
const scripts = namesIn("test/fuzz/targets", ".ts");
const natives = namesIn("native/fuzz/src/bin", ".rs");

function fail(message) {
  process.stderr.write(`fuzz: ${message}\n`);
  process.exit(2);
}

function choose() {
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: { minutes: { type: "string" }, keep: { type: "string" }, list: { type: "boolean" } },
    });
  } catch (error) {
    fail(`${error.message}; see the beginning of scripts/fuzz.mjs`);
  }
  const { values, positionals } = parsed;
  const minutes = Number(values.minutes ?? 1);
  if (!(minutes > 0)) fail(`--minutes "${values.minutes}" is no number above 0`);
  const keep = Number(values.keep ?? 0);
  if (!Number.isInteger(keep) || keep < 0) fail(`--keep "${values.keep}" is no whole number`);
  const unknown = positionals.filter((name) => ![...scripts, ...natives].includes(name));
  if (unknown.length > 0) fail(`no target is called ${unknown.join(", ")}; npm run fuzz -- --list names them`);
  const names = positionals.length > 0 ? positionals : [...natives, ...scripts];
  return { names, minutes, keep, list: values.list === true };
}

function tell(name, { executions, reached, places, features }, minutes) {
  const rate = Math.round(executions / (minutes * 60));
  const coverage = places === undefined ? `${reached} edges, ${features} features` : `${reached} of ${places} places`;
  process.stdout.write(`${name}: ${executions} executions (${rate} a second), ${coverage}\n`);
}

/** What went wrong is a case from now on. */
function tellFailure(name, bytes, reason, nameOf, put) {
  const file = `found-${nameOf(bytes)}`;
  put(join(corpora, name), file, bytes);
  process.stdout.write(
    `${reason}\nFAIL ${name}: test/fuzz/corpus/${name}/${file} (${bytes.length} bytes) goes wrong\n`,
  );
}

async function searchScript(name, minutes, keep) {
  const { bundled, contents, nameOf, put, searched } = await import("./fuzz/script-target.mjs");
  const work = join(built, "corpus", name);
  const made = await bundled(join(root, "test/fuzz/targets", `${name}.ts`), join(built, "bundles"), name);
  const seeds = [...contents(join(corpora, name)), ...contents(work)];
  const result = await searched({ ...made, seeds, maxBytes: MAX_BYTES, minutes, seed: Date.now() | 0 });
  tell(name, result, minutes);
  if (result.kind === "failed") {
    tellFailure(name, Buffer.from(result.input), result.reason, nameOf, put);
    return false;
  }
  for (const bytes of result.kept) put(work, nameOf(bytes), bytes);
  const shortest = result.kept.map((bytes) => Buffer.from(bytes)).sort((one, other) => one.length - other.length);
  for (const bytes of shortest.slice(0, keep)) put(join(corpora, name), nameOf(bytes), bytes);
  return true;
}

async function searchNative(name, programs, minutes, keep) {
  const { mergedNative, searchedNative } = await import("./fuzz/native-target.mjs");
  const { nameOf, put } = await import("./fuzz/script-target.mjs");
  const [work, found, corpus] = [join(built, "corpus", name), join(built, "found", name), join(corpora, name)];
  const program = join(programs, name);
  const result = searchedNative({ program, work, corpus, found, maxBytes: MAX_BYTES, minutes });
  tell(name, result, minutes);
  if (result.kind === "failed") {
    tellFailure(name, readFileSync(result.path), result.reason, nameOf, put);
    return false;
  }
  if (keep > 0) {
    const { staging } = mergedNative({ program, work, corpus, maxBytes: MAX_BYTES });
    const there = new Set(readdirSync(corpus));
    const fresh = readdirSync(staging).filter((file) => !there.has(file));
    const size = (file) => statSync(join(staging, file)).size;
    const shortest = fresh.sort((one, other) => size(one) - size(other)).slice(0, keep);
    for (const file of shortest) copyFileSync(join(staging, file), join(corpus, file.slice(0, 16)));
    rmSync(staging, { recursive: true });
  }
  return true;
}

const { names, minutes, keep, list } = choose();
if (list) {
  process.stdout.write(`Rust: ${natives.join(" ")}\nTypeScript: ${scripts.join(" ")}\n`);
} else {
  const wanted = names.filter((name) => natives.includes(name));
  const programs = wanted.length > 0 ? (await import("./fuzz/native-target.mjs")).compiled(root, wanted) : undefined;
  const failed = [];
  for (const name of names) {
    const search = natives.includes(name)
      ? searchNative(name, programs, minutes, keep)
      : searchScript(name, minutes, keep);
    if (!(await search)) failed.push(name);
  }
  if (failed.length > 0)
    process.stdout.write(`fuzz: ${failed.length} of ${names.length} targets went wrong: ${failed.join(" ")}\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
