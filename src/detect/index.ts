/**
 * Owns the choice of an image where the user named none: by the command, then the project's files, then its Procfile.
 * Pure over what it is given: it never reads a file, and never decides whether an image can be had. It gives an
 * answer for any input, and says why.
 */
import { escapeText } from "../core/escape.js";
import { type CommandFinding, languageOfCommand, languageOfScript } from "./command.js";
import { DEFAULT_IMAGE } from "./languages.js";
import { procfileCommand } from "./procfile.js";
import { type FilesMatch, languagesOfFiles } from "./project-files.js";

interface DetectInput {
  readonly argv: readonly string[];
  /** Names in the project's top folder. */
  readonly projectFiles: readonly string[];
  /** The text of the project's Procfile, if it has one. */
  readonly procfile?: string;
}

interface DetectedImage {
  readonly image: string;
  /** One line that is safe to print. */
  readonly why: string;
  /** As PRODUCT's table names it; null where nothing spoke for any. */
  readonly language: string | null;
  readonly source: "command" | "project-files" | "procfile" | "default";
}

export function detectImage({ argv, projectFiles, procfile }: DetectInput): DetectedImage {
  const command = languageOfCommand(argv);
  if (command !== null) return chosen(command, "command", commandReason(command));
  const [first, ...others] = languagesOfFiles(projectFiles);
  if (first !== undefined) return chosen(first, "project-files", filesReason(first, others));
  const line = procfile === undefined ? null : procfileCommand(procfile);
  const listed = line === null ? null : languageOfScript(line.command);
  if (line !== null && listed !== null) {
    const reason = `the Procfile's ${line.process} process runs ${listed.command} (${listed.row.language})`;
    return chosen(listed, "procfile", reason);
  }
  const why = "neither the command nor the project's files name a language";
  return { image: DEFAULT_IMAGE, why, language: null, source: "default" };
}

function chosen({ row }: CommandFinding | FilesMatch, source: DetectedImage["source"], why: string): DetectedImage {
  return { image: row.image, why, language: row.language, source };
}

function commandReason({ row, command, inScript }: CommandFinding): string {
  return inScript
    ? `the shell command runs ${command} (${row.language})`
    : `the command is ${command} (${row.language})`;
}

function filesReason(first: FilesMatch, others: readonly FilesMatch[]): string {
  const reason = `the project has ${escapeText(first.file)} (${first.row.language})`;
  if (others.length === 0) return reason;
  const list = others.map(({ row, file }) => `${escapeText(file)} (${row.language})`).join(", ");
  return `${reason}, which comes before ${list}`;
}
