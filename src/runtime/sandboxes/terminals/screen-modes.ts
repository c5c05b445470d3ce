/**
 * How a program has set its terminal: the other screen, mouse, hidden cursor, ways of reporting keys. Whoever begins to
 * look gets the same settings, and whoever stops looking gets the terminal back as it was.
 */
import type { Buffer } from "node:buffer";
import { EscapeScanner, type Sequence } from "./escape-scanner.js";

/** Off until a program sets them. Those of the other screen come first to be set, and last to be undone. */
const OFF_MODES: readonly number[] = [1049, 1047, 47, 1, 5, 6, 9, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016];
const OTHER_OFF_MODES: readonly number[] = [2004, 2026, 2031];
const ON_MODES: readonly number[] = [7, 25];
const OTHER_SCREEN: readonly number[] = [1049, 1047, 47];
const KNOWN: ReadonlySet<number> = new Set([...OFF_MODES, ...OTHER_OFF_MODES, ...ON_MODES]);
/** What a soft reset gives back, beside the keypad, the scrolling region and the cursor's shape. */
const SOFT_RESET: readonly number[] = [1, 6, 7, 25, 66];
const MOST_PUSHED = 16;

export class ScreenModes {
  readonly #scanner = new EscapeScanner();
  /** Those that are not as they are at first. */
  readonly #changed = new Set<number>();
  #isKeypad = false;
  #hasRegion = false;
  #hasShape = false;
  #otherKeys = "";
  #pushedKeys: string[] = [];

  /** Calls `found` for each sequence in the piece, after it was taken in. */
  take(bytes: Buffer, found: (sequence: Sequence) => void = () => {}): void {
    this.#scanner.scan(bytes, (sequence) => {
      if (sequence.kind === "csi") this.#control(sequence.body.slice(1));
      else if (sequence.kind === "escape") this.#escape(sequence.body);
      found(sequence);
    });
  }

  get isOtherScreen(): boolean {
    return OTHER_SCREEN.some((mode) => this.#changed.has(mode));
  }

  /** What brings a terminal that is as usual to this state. The other screen is left out where it is there already. */
  set(hasScreen = false): string {
    const set = [...OFF_MODES, ...OTHER_OFF_MODES].filter(
      (mode) => this.#changed.has(mode) && !(hasScreen && OTHER_SCREEN.includes(mode)),
    );
    const cleared = ON_MODES.filter((mode) => this.#changed.has(mode));
    return [
      ...set.map((mode) => `\x1b[?${mode}h`),
      ...cleared.map((mode) => `\x1b[?${mode}l`),
      this.#isKeypad ? "\x1b=" : "",
      this.#otherKeys === "" ? "" : `\x1b[>4;${this.#otherKeys}m`,
      ...this.#pushedKeys.map((flags) => `\x1b[>${flags}u`),
    ].join("");
  }

  /** What brings a terminal from this state back to how it usually is. Empty where nothing was changed. */
  undo(): string {
    const cleared = [...OTHER_OFF_MODES, ...OFF_MODES].filter((mode) => this.#changed.has(mode));
    const set = ON_MODES.filter((mode) => this.#changed.has(mode));
    const modes = cleared.filter((mode) => !OTHER_SCREEN.includes(mode));
    return [
      this.#pushedKeys.length === 0 ? "" : `\x1b[<${this.#pushedKeys.length}u`,
      this.#otherKeys === "" ? "" : "\x1b[>4m",
      this.#hasRegion ? "\x1b7\x1b[r\x1b8" : "",
      this.#hasShape ? "\x1b[0 q" : "",
      modes.length === 0 ? "" : `\x1b[?${modes.join(";")}l`,
      set.length === 0 ? "" : `\x1b[?${set.join(";")}h`,
      this.#isKeypad ? "\x1b>" : "",
      ...OTHER_SCREEN.filter((mode) => this.#changed.has(mode)).map((mode) => `\x1b[?${mode}l`),
    ].join("");
  }

  #control(body: string): void {
    const last = body.at(-1);
    const words = body.slice(0, -1);
    if ((last === "h" || last === "l") && words.startsWith("?")) {
      for (const mode of words.slice(1).split(";").map(Number)) this.#switch(mode, last === "h");
    } else if (last === "r" && /^[\d;]*$/.test(words)) {
      this.#hasRegion = words !== "";
    } else if (last === "q" && words.endsWith(" ")) {
      this.#hasShape = !/^0? $/.test(words);
    } else if (last === "m" && words.startsWith(">4")) {
      this.#otherKeys = /^>4;([1-9])$/.exec(words)?.[1] ?? "";
    } else if (last === "u" && /^>\d*$/.test(words)) {
      this.#pushedKeys = [...this.#pushedKeys, words.slice(1)].slice(-MOST_PUSHED);
    } else if (last === "u" && /^<\d*$/.test(words)) {
      this.#pushedKeys = this.#pushedKeys.slice(0, -Number(words.slice(1) || 1));
    } else if (body === "!p") {
      this.#resetSoftly();
    }
  }

  #escape(body: string): void {
    if (body === "=") this.#isKeypad = true;
    else if (body === ">") this.#isKeypad = false;
    else if (body === "c") this.#reset();
  }

  #switch(mode: number, isOn: boolean): void {
    if (!KNOWN.has(mode)) return;
    if (isOn === ON_MODES.includes(mode)) this.#changed.delete(mode);
    else this.#changed.add(mode);
    // They are three names of one screen.
    if (OTHER_SCREEN.includes(mode)) {
      for (const other of OTHER_SCREEN) if (other !== mode) this.#changed.delete(other);
    }
  }

  #resetSoftly(): void {
    for (const mode of SOFT_RESET) this.#changed.delete(mode);
    this.#isKeypad = false;
    this.#hasRegion = false;
    this.#hasShape = false;
  }

  #reset(): void {
    this.#resetSoftly();
    this.#changed.clear();
    this.#otherKeys = "";
    this.#pushedKeys = [];
  }
}
