/** A program of its own: a scripted model until its stdin ends; then it prints what it has seen. */
import { type ModelPlace, type Protocol, type Step, startModelServer } from "./index.js";

interface LoneOrder {
  readonly protocol: Protocol;
  readonly script: readonly Step[];
  readonly place: ModelPlace;
}

async function main({ protocol, script, place }: LoneOrder): Promise<void> {
  const model = await startModelServer(protocol, script, place);
  process.stdout.write("ready\n");
  process.stdin.resume().once("end", () => {
    process.stdout.write(JSON.stringify(model.seen), () => process.exit(0));
  });
}

void main(JSON.parse(process.argv[2] ?? "{}") as LoneOrder);
