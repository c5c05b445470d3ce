/** Runs of a file of the suite what the table names for this backend, and says of the rest why it is left out. */
import type { File, Suite, Task, Test } from "@vitest/runner";
import { VitestTestRunner } from "vitest/runners";
import { chosenBackend, isThorough } from "../../support/chosen-backend.js";
import { exemptions } from "./exemptions.js";
import { attacks } from "./table.js";

export default class ChosenAttacks extends VitestTestRunner {
  onCollected(files: File[]): void {
    for (const file of files) restrict(file);
  }
}

function restrict(file: File): void {
  const own = (name: string) => file.filepath.endsWith(`/test/security/${name}.test.ts`);
  const chosen = attacks.filter((attack) => own(attack.file)).flatMap(({ tests }) => tests);
  const left = exemptions.filter(({ on, file: name }) => own(name) && on.some((one) => one === chosenBackend?.name));
  const all = testsIn(file);
  const unknown = [...chosen, ...left.flatMap(({ tests }) => tests ?? [])].filter(
    (part) => !all.some((test) => titleOf(test).includes(part)),
  );
  if (unknown.length > 0) throw new Error(`${file.name} has no test of the table's ${JSON.stringify(unknown)}`);
  for (const test of all) {
    const title = titleOf(test);
    const reason = left.find(({ tests }) => tests === undefined || tests.some((part) => title.includes(part)))?.reason;
    const isChosen = isThorough || chosen.some((part) => title.includes(part));
    if (reason === undefined && isChosen) continue;
    test.mode = "skip";
    if (reason !== undefined) test.name += ` (not on ${chosenBackend?.name}: ${reason})`;
  }
  skipEmpty(file);
}

/** What nothing runs in sets nothing up. */
function skipEmpty(suite: Suite): void {
  for (const task of suite.tasks) if (task.type === "suite") skipEmpty(task);
  if (suite.tasks.every(({ mode }) => mode === "skip" || mode === "todo")) suite.mode = "skip";
}

function testsIn(suite: Suite): readonly Test[] {
  return suite.tasks.flatMap((task) => (task.type === "suite" ? testsIn(task) : [task]));
}

function titleOf(task: Task): string {
  return task.suite === undefined || task.suite === task.file ? task.name : `${titleOf(task.suite)} ${task.name}`;
}
