// `npm run test:long`: what takes too long for every change and is run each night: leaks under load, the search for
// inputs that go wrong, changes of the code that no test notices, the interface against its description, the packages
// that projects use most and what of them is hidden, test suites of others inside and outside, a thousand runs in a
// project that changes all the time, and the whole benchmark. Each part is a command of its own, named when it fails.
//
//   npm run test:long                  all of it
//   npm run test:long -- soak fuzz:api some of it
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const parts = {
  soak: ["run", "test:soak", "--", "--runs", "20000", "--minutes", "10"],
  "soak:wasm": ["run", "test:soak:wasm"],
  fuzz: ["run", "fuzz", "--", "--minutes", "10"],
  mutation: ["run", "mutation"],
  "fuzz:api": ["run", "fuzz:api"],
  clients: ["run", "test:clients"],
  corpus: ["run", "test:corpus"],
  raced: ["run", "test:raced"],
  suites: ["run", "test:suites"],
  bench: ["run", "bench"],
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  process.stderr.write(
    `test:long: no part is called ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}\n`,
  );
  process.exit(2);
}
const results = (asked.length > 0 ? asked : Object.keys(parts)).map((name) => {
  const startedMs = Date.now();
  process.stdout.write(`\n== ${name}\n`);
  const { status } = spawnSync("npm", parts[name], { cwd: root, stdio: "inherit" });
  return { name, ok: status === 0, minutes: (Date.now() - startedMs) / 60_000 };
});
process.stdout.write("\n");
for (const { name, ok, minutes } of results) {
  const again = ok ? "" : `; alone: npm run test:long -- ${name}`;
  process.stdout.write(`${ok ? "ok  " : "FAIL"} ${name} (${minutes.toFixed(1)} min)${again}\n`);
}
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
