/** How a command ended, for a model to read and for a program. */
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { flag, list, number, text, whole } from "../../api/schema/shapes.js";
import type { CapturedOutput } from "../../runtime/captured-output.js";
import { type CommandEnd, exitStatus } from "../../runtime/command-end.js";
import type { Call, ToolOutput } from "../tool.js";
import { trimMiddle } from "./trim.js";

/** What an answer shows of a command's output. */
const MOST_BYTES = 24 << 10;
const MOST_STDERR_BYTES = 8 << 10;

const count = whole({ min: 0 });

export const commandFields = {
  exit_code: field(
    whole({ min: 0, max: 255 }),
    "The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n.",
  ),
  stdout: field(text(), "Standard output; cut in the middle where it is long."),
  stderr: field(text(), "Standard error; cut in the middle where it is long."),
  duration_ms: field(number({ min: 0 }), "From the call to the end of the command."),
  timed_out: field(flag(), "The time limit ended it."),
  sandbox: field(text(), "The sandbox that it ran in."),
  cut_bytes: field(count, "How much of the output is not shown here."),
  full_output: optional(
    text(),
    "Where the whole output is: a resource, which sandbox_file_read reads as its path too.",
  ),
  notes: field(list(text()), "What the caller should know besides."),
};

export const commandAnswer = answerObject(commandFields);

interface Ended {
  readonly end: CommandEnd;
  readonly captured: CapturedOutput;
  readonly ms: number;
  readonly sandbox: string;
  readonly command: readonly string[];
  readonly notes: readonly string[];
}

export function commandOutput(
  { end, captured, ms, sandbox, command, notes }: Ended,
  { outputs }: Pick<Call, "outputs">,
): ToolOutput {
  const all = captured.bytes();
  const [stdout, stderr] = [captured.bytes(1), captured.bytes(2)];
  const isLong = all.length > MOST_BYTES || stderr.length > MOST_STDERR_BYTES;
  const uri = isLong ? outputs.keep(all, titleOf(command)) : null;
  const whole =
    uri === null ? "there is no memory for all of it" : `the whole output: sandbox_file_read with path ${uri}`;
  const cut = (bytes: number) => `${bytes} bytes are cut here; ${whole}`;
  const shown = trimMiddle(all, MOST_BYTES, cut);
  const code = exitStatus(end);
  const lost = captured.droppedBytes;
  const told = [
    ...notes,
    ...(lost > 0 ? [`${lost} bytes of output beyond the limit were not kept`] : []),
    ...(end.timedOut ? ["the time limit was reached; the command and all that it had started were ended"] : []),
  ];
  return {
    text: [shown.text.replace(/\n$/, ""), `[exit code ${code}]`, ...told.map((note) => `[${note}]`)]
      .filter((part) => part !== "")
      .join("\n"),
    data: {
      exit_code: code,
      stdout: trimMiddle(stdout, MOST_BYTES, cut).text,
      stderr: trimMiddle(stderr, MOST_STDERR_BYTES, cut).text,
      duration_ms: Math.round(ms * 1000) / 1000,
      timed_out: end.timedOut,
      sandbox,
      cut_bytes: shown.cutBytes + lost,
      ...(uri === null ? {} : { full_output: uri }),
      notes: told,
    },
  };
}

const TITLE_CHARS = 80;

function titleOf(command: readonly string[]): string {
  const words = command.join(" ").replace(/\s+/g, " ");
  return words.length > TITLE_CHARS ? `${words.slice(0, TITLE_CHARS)}…` : words;
}
