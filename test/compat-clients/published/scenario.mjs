// Every method of the published npm package `agentkernel`: `node scenario.mjs FOLDER`, where it is installed. The server
// and the key are those of AGENTKERNEL_BASE_URL and AGENTKERNEL_API_KEY.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { equal, fails, Report, until } from "../e2b/report.mjs";

const { AgentKernel } = await import(
  pathToFileURL(join(process.argv[2], "node_modules/agentkernel/dist/index.js")).href
);
const client = new AgentKernel();
const report = new Report();

await report.check("health", async () => equal(await client.health(), "ok"));
await report.check("run", async () => {
  equal(await client.run(["echo", "hi"], { profile: "moderate" }), { output: "hi\n" });
  await fails(() => client.run([]), /ValidationError: command/);
  await fails(() => new AgentKernel({ apiKey: "ak_wrong" }).run(["true"]), /AuthError: the key is not valid/);
});
await report.check("runStream", async () => {
  const events = [];
  for await (const event of client.runStream(["sh", "-c", "echo a; exit 2"])) events.push(event);
  equal(
    events.map(({ type }) => type),
    ["started", "output", "done"],
  );
  equal([events[1].data.data, events[2].data.exit_code], ["a\n", 2]);
});
await report.check("createSandbox getSandbox getSandboxByUuid listSandboxes", async () => {
  const made = await client.createSandbox("pub", { vcpus: 1, memory_mb: 512, profile: "moderate" });
  equal([made.name, made.status, made.vcpus, made.memory_mb], ["pub", "running", 1, 512]);
  const found = await client.getSandbox("pub");
  equal((await client.getSandboxByUuid(found.uuid)).name, "pub");
  equal(
    (await client.listSandboxes()).map(({ name }) => name),
    ["pub"],
  );
  await fails(() => client.getSandbox("nobody"), /NotFoundError/);
  await fails(() => client.createSandbox("more", { volumes: ["a:/b"] }), /ServerError: .*volumes/);
});
await report.check("execInSandbox", async () => {
  const done = await client.execInSandbox("pub", ["sh", "-c", "echo $A; pwd; id -u"], {
    env: ["A=b=c"],
    workdir: "/tmp",
    sudo: true,
  });
  equal(done, { output: "b=c\n/tmp\n0\n" });
});
await report.check("writeFile readFile writeFiles deleteFile", async () => {
  await client.writeFile("pub", "var/tmp/a.txt", "x ü");
  equal(await client.readFile("pub", "var/tmp/a.txt"), { content: "x ü", encoding: "utf8", size: 4 });
  await client.writeFile("pub", "tmp/bytes", "AP8=", { encoding: "base64" });
  equal(await client.readFile("pub", "tmp/bytes"), { content: "AP8=", encoding: "base64", size: 2 });
  equal(await client.writeFiles("pub", { "/tmp/b": "1", "tmp/c d": "2" }), { written: 2 });
  equal(await client.execInSandbox("pub", ["cat", "/tmp/b", "/tmp/c d"]), { output: "12" });
  await client.deleteFile("pub", "/tmp/b");
  await fails(() => client.readFile("pub", "tmp/b"), /NotFoundError/);
});
await report.check("getSandboxLogs", async () => equal((await client.getSandboxLogs("pub")).length > 0, true));
await report.check("batchRun", async () => {
  const { results } = await client.batchRun([{ command: ["echo", "1"] }, { command: ["no-such-program"] }]);
  equal(results[0], { output: "1\n", error: null });
  equal([results[1].output, results[1].error.includes("no-such-program")], [null, true]);
});
await report.check("execDetached detachedStatus detachedList detachedLogs detachedKill", async () => {
  const { id, status, pid } = await client.execDetached("pub", ["sh", "-c", "echo out; echo err >&2; sleep 1000"]);
  equal([status, pid > 0], ["running", true]);
  equal(
    (await client.detachedList("pub")).map((one) => one.id),
    [id],
  );
  await until(async () => (await client.detachedLogs("pub", id)).stdout === "out\n");
  equal((await client.detachedLogs("pub", id, "stderr")).stderr, "err\n");
  await client.detachedKill("pub", id);
  await until(async () => (await client.detachedStatus("pub", id)).status === "failed");
});
await report.check("extendTtl", async () => {
  const { expires_at } = await client.extendTtl("pub", { by: "1h" });
  const left = Date.parse(expires_at) - Date.now();
  equal(left > 3_500_000 && left <= 3_600_000, true);
});
await report.check("takeSnapshot listSnapshots getSnapshot restoreSnapshot deleteSnapshot", async () => {
  const taken = await client.takeSnapshot({ sandbox: "pub", name: "kept" });
  equal([taken.name, taken.sandbox], ["kept", "pub"]);
  equal(
    (await client.listSnapshots()).map(({ name }) => name),
    ["kept"],
  );
  equal((await client.getSnapshot("kept")).sandbox, "pub");
  equal((await client.restoreSnapshot("kept")).name, "kept");
  equal((await client.readFile("kept", "var/tmp/a.txt")).content, "x ü");
  await client.removeSandbox("kept");
  await client.deleteSnapshot("kept");
  equal(await client.listSnapshots(), []);
});
await report.check("removeSandbox", async () => {
  await client.removeSandbox("pub");
  equal(await client.listSandboxes(), []);
});
await report.check("sandbox", async () => {
  const session = await client.sandbox("session");
  equal(await session.run(["echo", "s"]), { output: "s\n" });
  equal([(await session.info()).name, (await session.writeFiles({ "tmp/x": "1" })).written], ["session", 1]);
  await session[Symbol.asyncDispose]();
  equal(await client.listSandboxes(), []);
});

const groups = [
  [
    "orchestrations",
    "listOrchestrations createOrchestration getOrchestration signalOrchestration terminateOrchestration",
  ],
  ["orchestrations", "listOrchestrationDefinitions upsertOrchestrationDefinition getOrchestrationDefinition"],
  ["orchestrations", "deleteOrchestrationDefinition"],
  ["objects", "listObjects createObject getObject callObject deleteObject patchObject"],
  ["schedules", "listSchedules createSchedule getSchedule deleteSchedule"],
  ["stores", "listStores createStore getStore deleteStore queryStore executeStore commandStore"],
];
const refused = {};
for (const [group, methods] of groups) {
  for (const method of methods.split(" ")) {
    await client[method]("a", "b", "c", {}).then(
      () => {
        refused[method] = "ok";
      },
      (error) => {
        refused[method] = error.message.startsWith(`this server has no ${group} (`) ? "501" : error.message;
      },
    );
  }
}
const own = ["constructor", "headers", "fetch", "request"];
const all = Object.getOwnPropertyNames(AgentKernel.prototype).filter((name) => !own.includes(name));
report.print({ all, refused });
