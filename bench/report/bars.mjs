/** Horizontal bars as SVG: a value, and a thin line up to a second one. Drawn by hand, readable in light and dark. */
const [LEFT, WIDTH, ROW, TOP] = [210, 420, 26, 44];

/** `rows`: `{ label, value, upTo?, isOurs }`. */
export function bars({ title, unit, rows }) {
  const most = Math.max(...rows.map(({ value, upTo = value }) => Math.max(value, upTo)));
  const at = (value) => (WIDTH * value) / most;
  const height = TOP + rows.length * ROW + 12;
  const drawn = rows.map((row, index) => bar(row, TOP + index * ROW, at, unit));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 ${height}" font-family="sans-serif" font-size="13" role="img">
<title>${escaped(title)}</title>
<style>text{fill:#57606a}.name{fill:#57606a}.ours{fill:#2f81f7}.theirs{fill:#8b949e}line{stroke:#8b949e;stroke-width:2}@media (prefers-color-scheme:dark){text,.name{fill:#c9d1d9}}</style>
<text x="12" y="22" font-size="15" font-weight="bold">${escaped(title)}</text>
${drawn.join("\n")}
</svg>
`;
}

function bar({ label, value, upTo, isOurs }, y, at, unit) {
  const middle = y + ROW / 2;
  const end = Math.max(at(value), at(upTo ?? value));
  return [
    `<text class="name" x="${LEFT - 8}" y="${middle + 4}" text-anchor="end">${escaped(label)}</text>`,
    `<rect class="${isOurs ? "ours" : "theirs"}" x="${LEFT}" y="${y + 4}" width="${Math.max(at(value), 1).toFixed(1)}" height="${ROW - 8}" rx="2"/>`,
    upTo === undefined
      ? ""
      : `<line x1="${LEFT + at(value)}" x2="${(LEFT + at(upTo)).toFixed(1)}" y1="${middle}" y2="${middle}"/>`,
    `<text x="${(LEFT + end + 6).toFixed(1)}" y="${middle + 4}">${shown(value)} ${unit}</text>`,
  ].join("");
}

function shown(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function escaped(text) {
  return text.replaceAll("`", "").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
