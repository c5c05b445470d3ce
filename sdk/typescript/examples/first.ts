/** Runs a command, listens to another while it runs, and keeps a sandbox for a while. */
import { AgentKernel, isApiError } from "agentkernel";

const client = new AgentKernel();
const result = await client.run(["echo", "hello"]);
process.stdout.write(result.stdout);

for await (const event of client.stream(["sh", "-c", "echo one; echo two"])) {
  if (event.type === "stdout") process.stdout.write(event.text);
}

{
  await using session = await client.session({ network: false });
  await session.files.write("greeting.txt", "kept\n");
  const kept = await session.exec(["cat", "greeting.txt"]);
  process.stdout.write(kept.stdout);
  try {
    await session.files.read("nothing.txt");
  } catch (error) {
    if (!isApiError(error, "not_found")) throw error;
    process.stdout.write("not there\n");
  }
}
await client.close();
