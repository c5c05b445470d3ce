/** A program of its own that starts a machine and tells so, until somebody kills it. */
import { Subject } from "../contract/suite/subject.js";
import { actors } from "./actors.js";
import { machinesOf, withContractImage } from "./microvm-backend.js";

async function own(): Promise<void> {
  const [actor] = actors;
  if (actor === undefined) throw new Error("nobody runs tests");
  const machine = await Subject.boot(withContractImage(machinesOf(actor).backend));
  const { stdout } = await machine.sh("echo up");
  process.stdout.write(stdout);
  await machine.ended;
}

void own();
