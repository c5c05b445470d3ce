/** What each backend asks of a machine, and what having it costs; for whoever chooses. */
export interface BackendNeeds {
  readonly needs: string;
  readonly costs: string;
}

const table: Readonly<Record<string, BackendNeeds>> = {
  linux: {
    needs: "Linux with user namespaces and overlayfs; newuidmap and subordinate ids for more than one user inside",
    costs: "nothing to download, no root, about half a MiB of memory a sandbox",
  },
  microvm: {
    needs:
      "QEMU, erofs-utils and a kernel for machines; hardware acceleration that runs a guest, or else it is no boundary",
    costs: "about 80 MB to download (agentkernel setup --backend microvm), about 15 MB of memory a sandbox",
  },
};

export function needsOf(backend: string): BackendNeeds | null {
  return Object.hasOwn(table, backend) ? (table[backend] ?? null) : null;
}
