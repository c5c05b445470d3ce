/** How many cells of a terminal a character takes: 0 joins the one before it, 2 is a wide one. */

/** East Asian wide characters, and those that are shown as emoji; the blocks in which all but a few are wide. */
const wide: readonly (readonly [number, number])[] = [
  ...([
    [0x1100, 0x115f],
    [0x231a, 0x231b],
    [0x23e9, 0x23ec],
    [0x25fd, 0x25fe],
    [0x2614, 0x2615],
  ] as const),
  ...([
    [0x26a1, 0x26a1],
    [0x2705, 0x2705],
    [0x270a, 0x270b],
    [0x2728, 0x2728],
    [0x274c, 0x274c],
  ] as const),
  ...([
    [0x2753, 0x2755],
    [0x2757, 0x2757],
    [0x2795, 0x2797],
    [0x2b1b, 0x2b1c],
    [0x2b50, 0x2b50],
  ] as const),
  ...([
    [0x2e80, 0x303e],
    [0x3041, 0xa4cf],
    [0xa960, 0xa97f],
    [0xac00, 0xd7a3],
    [0xf900, 0xfaff],
  ] as const),
  ...([
    [0xfe30, 0xfe6f],
    [0xff00, 0xff60],
    [0xffe0, 0xffe6],
    [0x1f300, 0x1f64f],
    [0x1f680, 0x1f6ff],
  ] as const),
  ...([
    [0x1f7e0, 0x1f7eb],
    [0x1f900, 0x1f9ff],
    [0x1fa70, 0x1faff],
    [0x20000, 0x3fffd],
  ] as const),
];

export function characterWidth(character: string): 0 | 1 | 2 {
  if (/^[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  return wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}
