/** What each backend asks of a machine, and what having it costs; for whoever chooses. */
interface BackendNeeds {
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
      "Linux on x86-64, QEMU, erofs-utils, e2fsprogs and a kernel for machines; KVM that runs guests for a boundary of hardware",
    costs:
      "about 100 MB for QEMU and a kernel (agentkernel setup --backend microvm gets them); a saved machine of some 50 MB for each image and size",
  },
};

export function needsOf(backend: string): BackendNeeds | null {
  return Object.hasOwn(table, backend) ? (table[backend] ?? null) : null;
}
