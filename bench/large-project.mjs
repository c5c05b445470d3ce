/** As uneven as a project is: nested folders, and a file to hide in one of a hundred. 100,000 files. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = 1000;
const FILES_EACH = 100;

export function makeLargeProject(project, fileBytes) {
  const content = Buffer.alloc(fileBytes, "agentkernel ");
  for (let i = 0; i < FOLDERS; i++) {
    const at = join(project, `part-${i % 10}`, `group-${Math.floor(i / 10) % 10}`, `folder-${i}`);
    mkdirSync(at, { recursive: true });
    for (let j = 0; j < FILES_EACH; j++) {
      const name = i % 100 === 0 && j === 0 ? ".env" : `source-${j}.ts`;
      writeFileSync(join(at, name), content);
    }
  }
}
