/** The command of a Procfile that stands for the project: its `web` process, else the first. */

const MAX_PROCFILE_CHARS = 65_536;

export function procfileCommand(text: string): { readonly process: string; readonly command: string } | null {
  const processes: { process: string; command: string }[] = [];
  for (const line of text.slice(0, MAX_PROCFILE_CHARS).split(/\r?\n/)) {
    const match = /^\s*([A-Za-z0-9_-]{1,64}):(.*)$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined || match[2].trim() === "") continue;
    processes.push({ process: match[1], command: match[2].trim() });
  }
  return processes.find(({ process }) => process === "web") ?? processes[0] ?? null;
}
