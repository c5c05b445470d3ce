/**
 * The text of the small script that Node starts: it reads parts of the bundle, with the code that V8 has made of them,
 * and calls the first. `files` names the file of each part.
 */
export function entryText(files) {
  return `"use strict";
const { accessSync, chmodSync, constants, existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { pathToFileURL } = require("node:url");
const { Script } = require("node:vm");
const chunks = __dirname + "/chunks/";
const files = ${JSON.stringify(files)};
const url = pathToFileURL(chunks + files.cli).href;
const opened = new Map();
// A package comes without code: its first runs keep what they compiled, where its own folder can be written.
if (process.argv[2] === "run") process.once("exit", keepCode);
open("cli");
function open(part) {
  const known = opened.get(part);
  if (known !== undefined) return known.module.exports;
  const made = { ...compile(part), module: { exports: {} } };
  opened.set(part, made);
  made.script.runInThisContext()(load, made.module, made.module.exports, url);
  return made.module.exports;
}
function load(id) {
  if (!id.startsWith("part:")) return require(id);
  const [, part, name] = id.split(":");
  return open(part)[name]();
}
function compile(part) {
  const filename = chunks + files[part];
  const code = filename.replace(/cjs$/, "code");
  // Code of another version of Node is not taken, and everything compiled anew.
  const cachedData = existsSync(code) ? readFileSync(code) : undefined;
  const script = new Script(readFileSync(filename, "latin1"), { filename, cachedData });
  return { script, code, isKept: cachedData !== undefined && script.cachedDataRejected !== true };
}
function keepCode() {
  const fresh = [...opened.values()].filter(({ isKept }) => !isKept);
  if (fresh.length === 0) return;
  try {
    accessSync(chunks, constants.W_OK);
    // Whoever needs the rest finds it read, at least.
    if (!opened.get("cli").isKept && !opened.has("rest")) fresh.push(compile("rest"));
    for (const { script, code } of fresh) {
      const mine = code + "." + process.pid;
      writeFileSync(mine, script.createCachedData());
      // For every user of an installation, whoever was the first.
      chmodSync(mine, 0o644);
      renameSync(mine, code);
    }
  } catch {
    // Not ours to write, or full: everything works as before, a little slower.
  }
}
`;
}
