/** The picture of how the parts stand to each other: boxes and arrows, by hand, readable in light and dark. */
const [WIDTH, HEIGHT] = [860, 430];

interface Box {
  readonly at: readonly [x: number, y: number, width: number, height: number];
  readonly title: string;
  readonly lines?: readonly string[];
  readonly kind: "way-in" | "host" | "inside" | "outside";
}

const waysIn = ["command line", "HTTP", "MCP", "SDKs", "agents' hooks"];

const boxes: readonly Box[] = [
  ...waysIn.map((title, index): Box => ({ at: [20 + index * 126, 40, 114, 40], title, kind: "way-in" })),
  {
    at: [20, 130, 618, 92],
    title: "daemon, one for each user (or none: the same code in the caller)",
    lines: [
      "policy: profile, mode, files, flags, ceiling",
      "pool of warm sandboxes, each used once",
      "audit log, hash-chained; image store",
    ],
    kind: "host",
  },
  {
    at: [678, 130, 162, 92],
    title: "egress gateway",
    lines: ["decides by name and", "address, dials what it", "checked, puts secrets in"],
    kind: "host",
  },
  { at: [678, 40, 162, 40], title: "the network", kind: "outside" },
  {
    at: [20, 272, 820, 140],
    title: "sandbox: ak-jail (namespaces, cgroup, seccomp, Landlock, own root)",
    kind: "inside",
  },
  { at: [40, 306, 180, 88], title: "ak-guest", lines: ["process 1; the host", "treats it as hostile"], kind: "way-in" },
  { at: [250, 306, 180, 88], title: "the command", lines: ["any process it starts"], kind: "way-in" },
  {
    at: [460, 306, 180, 88],
    title: "/workspace",
    lines: ["copy-on-write view of the", "project, secrets hidden"],
    kind: "way-in",
  },
  { at: [670, 306, 150, 88], title: "capture", lines: ["all TCP, all names"], kind: "way-in" },
];

/** From, to, and what goes there. */
const arrows: readonly (readonly [number, number, number, number, string])[] = [
  ...waysIn.map((_, index) => [77 + index * 126, 80, 77 + index * 126, 130, ""] as const),
  [130, 222, 130, 306, "frames over one socket"],
  [220, 350, 250, 350, ""],
  [430, 350, 460, 350, ""],
  [759, 306, 759, 222, "the only way out"],
  [759, 130, 759, 80, ""],
];

export function drawing(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13" role="img">
<title>How agentkernel is built</title>
<desc>Five ways in lead to a daemon, which applies the policy and takes a warm sandbox; inside, the guest runs the command on a copy of the project; the only way out is the gateway on the host.</desc>
<style>rect{stroke:#57606a;fill:#ffffff}.host{fill:#ddf4ff}.inside{fill:#fff8c5}.outside{fill:#eaeef2}text{fill:#1f2328;text-anchor:middle}.note{fill:#57606a;font-size:12px}line{stroke:#57606a;stroke-width:1.5;marker-end:url(#head)}svg{background:#ffffff}</style>
<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"><path d="M0 0L9 4L0 8z" fill="#57606a"/></marker></defs>
<text class="note" x="77" y="26">ways in</text>
${boxes.map(boxText).join("\n")}
${arrows.map(arrowText).join("\n")}
</svg>
`;
}

function boxText({ at: [x, y, width, height], title, lines = [], kind }: Box): string {
  const middle = x + width / 2;
  const top = lines.length > 0 || kind === "inside" ? y + 22 : y + height / 2 + 5;
  const notes = lines.map(
    (line, index) => `<text class="note" x="${middle}" y="${top + 20 + index * 18}">${line}</text>`,
  );
  return `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/><text x="${middle}" y="${top}">${title}</text>${notes.join("")}`;
}

function arrowText([fromX, fromY, toX, toY, note]: readonly [number, number, number, number, string]): string {
  const arrow = `<line x1="${fromX}" y1="${fromY}" x2="${toX}" y2="${toY}"/>`;
  if (note === "") return arrow;
  const [side, anchor] = fromX > WIDTH / 2 ? [-10, "end"] : [10, "start"];
  return `${arrow}<text class="note" x="${fromX + side}" y="${Math.max(fromY, toY) - 50 + 4}" style="text-anchor:${anchor}">${note}</text>`;
}
