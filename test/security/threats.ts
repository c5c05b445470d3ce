/**
 * The attacks that agentkernel is built against, by id. Every id is either attacked by a test on every backend or
 * listed in pending.ts with its reason; coverage.test.ts holds that.
 */
interface Threat {
  readonly id: string;
  readonly title: string;
}

function rows(area: string, titles: readonly string[]): readonly Threat[] {
  return titles.map((title, index) => ({ id: `${area}${index + 1}`, title }));
}

export const threats: readonly Threat[] = [
  ...rows("F", [
    "files outside the project are read, by path, through /proc or through a planted link",
    "something outside the workspace is written, by link, device, kernel switch or carried-over file",
    "a protected file is changed or made in a live project",
    "a read-only mount or root is made writable again",
    "the file interface on the host's side is led out of the sandbox",
    "image layers and uploads write where they should not, or without end",
    "the disk or its inodes are filled",
    "secrets in the project are read",
    "the parent of a hidden file is renamed, and the file read under its new name",
    "a file system takes two spellings of a name for one, and the rules take only one of them",
    "what the host executes inside a sandbox is replaced or renamed",
    "the search for secrets is raced by swapped, vanishing and returning directories",
    "git deletes or empties what the sandbox cannot see, or commits placeholders",
    "the lazy view of a project is flooded, or asked for hidden names by any path",
    "a shared cache, layer, template or volume is poisoned for the next sandbox",
  ]),
  ...rows("N", [
    "sockets of any family reach something although the network is off",
    "the host's own services, private ranges or cloud metadata are reached under any spelling",
    "a name is allowed and then resolves to a forbidden address",
    "data leaves in DNS questions",
    "a name is spelled so that the allowlist takes it for another",
    "the name asked for and the name spoken to differ on one connection",
    "an allowed proxy leads further out",
    "connections are held open or fed slowly to exhaust the gateway",
    "one sandbox reaches another",
    "git pushes where it may not, or hands out the credential it uses",
    "a page in a preview reaches the console, the API or another preview",
  ]),
  ...rows("P", [
    "processes, memory, processor or descriptors are exhausted",
    "something outlives the timeout or the end of the run",
    "the guest or a process of the host is traced, read or signalled",
    "calls that widen the kernel's surface are made, in any disguise",
    "a setuid program, a file capability or an ambient one gives more rights",
    "the host's environment, command lines, logs, keys or paths are read",
    "descriptors of the host's are inherited",
    "escape sequences reach the user's terminal through our own messages",
    "a call outside the filter does what a filtered one would: socketpair, fchmodat2, unknown numbers",
  ]),
  ...rows("G", [
    "frames that break the guest protocol are sent",
    "output without end is written while nobody reads",
    "a guest speaks for another command or another sandbox",
  ]),
  ...rows("A", [
    "the HTTP interface is used without the right to",
    "names, paths and bodies of requests are malformed or hostile",
    "one client reads or ends what belongs to another",
    "data is taken for an option or a shell's text",
    "a project's own files widen what the user allows",
    "secrets appear in logs, errors, the audit log or process lists",
    "the audit log is edited or cut",
    "a registry misleads the image store",
    "an order to stop or sweep reaches what belongs to another state directory, user or key",
    "the user's files are written, or something approved or refused, without a record",
    "a model or a scoped key widens its own policy by parameters",
    "a tenant of another interface reaches another tenant's sandbox, token or link",
  ]),
];
