// Writes what the SDKs have from the API's description: codes of errors, and records with their fields.
//
//   node scripts/write-sdk-sources.mjs            all of it (npm run sdk:sources)
//   node scripts/write-sdk-sources.mjs errors     the codes of errors alone (npm run sdk:errors)
//   node scripts/write-sdk-sources.mjs --check    write nothing; name what is not as it would be written, and fail
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { golang } from "./sdk-sources/golang.mjs";
import { readErrors, readRecords } from "./sdk-sources/model.mjs";
import { python } from "./sdk-sources/python.mjs";
import { rust } from "./sdk-sources/rust.mjs";
import { swift } from "./sdk-sources/swift.mjs";
import { typescript } from "./sdk-sources/typescript.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const words = process.argv.slice(2);
const files = Object.entries({ ...typescript, ...python, ...golang, ...rust, ...swift }).filter(
  ([path]) => !words.includes("errors") || /error_?codes?\./i.test(path.replace("-", "_")),
);
const spec = { errors: readErrors(root), ...readRecords(root) };

const stale = files.filter(([path, render]) => {
  const place = join(root, path);
  return !existsSync(place) || readFileSync(place, "utf8") !== render(spec);
});
if (words.includes("--check")) {
  for (const [path] of stale) process.stderr.write(`${path} is not what spec/ says; npm run sdk:sources writes it\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const [path, render] of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), render(spec));
    process.stdout.write(`${path}\n`);
  }
}
