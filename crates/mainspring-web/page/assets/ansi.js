// The colours of a terminal in a line of output, and nothing else of a terminal.
//
// ```text
// text --ESC--> escape --[--> sequence --m--> text         SGR: colour, bold, ..; kept
//                  |              '--other--> text         dropped: moving, erasing, titles
//                  '--] P X ^ _--> string --BEL, ESC \--> text   dropped
// ```
//
// The state continues from line to line, as in a terminal. What is not closed at the end of a line is dropped
// with it.
//
// Cost: one pass over the characters.
//
// Does not know 256 colours by their number: they become the nearest of the 16, which have contrast in both
// themes.
//
// Source: ECMA-48, 5th edition, 8.3.117 (SGR).

/** @typedef {{fore: number | null, back: number | null, bold: boolean, dim: boolean, italic: boolean, under:
 * boolean, inverse: boolean}} Style */
/** @typedef {{text: string, classes: string}} Part */

/** Longer sequences are no sequences: the longest that is in use has about 20 characters. */
const MAX_SEQUENCE = 64;

/** @returns {Style} */
export function plain() {
  return { fore: null, back: null, bold: false, dim: false, italic: false, under: false, inverse: false };
}

/** The parts of a line; `style` is changed to what holds after it.
 * @param {string} line @param {Style} style @returns {Part[]} */
export function ansi(line, style) {
  if (!line.includes("\u001b") && !line.includes("\u009b")) return [{ text: line, classes: classes(style) }];
  /** @type {Part[]} */
  const found = [];
  let text = "";
  const end = () => {
    if (text !== "") found.push({ text, classes: classes(style) });
    text = "";
  };
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    if (char !== "\u001b" && char !== "\u009b") {
      text += char;
      continue;
    }
    end();
    const kind = char === "\u009b" ? "[" : line[(at += 1)];
    if (kind === "[") at = sequence(line, at + 1, style);
    else if (kind !== undefined && "]PX^_".includes(kind)) at = string(line, at + 1);
    else if (kind !== undefined && " #%()*+-./".includes(kind)) at += 1;
  }
  end();
  return found;
}

/** Reads a control sequence; the index of its last character.
 * @param {string} line @param {number} from @param {Style} style */
function sequence(line, from, style) {
  let at = from;
  while (at < line.length && at - from < MAX_SEQUENCE && /[\x20-\x3f]/.test(line[at] ?? "")) at += 1;
  const isSgr = line[at] === "m" && /^[\d;:]*$/.test(line.slice(from, at));
  if (isSgr) select(line.slice(from, at).split(/[;:]/).map(Number), style);
  // A character that ends no sequence is no part of it.
  return /[\x40-\x7e]/.test(line[at] ?? "") ? at : at - 1;
}

/** Passes over a string of a terminal; the index of its last character.
 * @param {string} line @param {number} from */
function string(line, from) {
  for (let at = from; at < line.length; at += 1) {
    if (line[at] === "\u0007" || line[at] === "\u009c") return at;
    if (line[at] === "\u001b" && line[at + 1] === "\\") return at + 1;
  }
  return line.length;
}

/** @param {number[]} codes @param {Style} style */
function select(codes, style) {
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) Object.assign(style, plain());
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.under = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.under = false;
    else if (code === 27) style.inverse = false;
    else if (30 <= code && code <= 37) style.fore = code - 30;
    else if (90 <= code && code <= 97) style.fore = code - 82;
    else if (code === 39) style.fore = null;
    else if (40 <= code && code <= 47) style.back = code - 40;
    else if (100 <= code && code <= 107) style.back = code - 92;
    else if (code === 49) style.back = null;
    else if (code === 38 || code === 48) {
      const colour =
        codes[index + 1] === 5 ? near256(codes[index + 2] ?? 0) : nearest(codes.slice(index + 2, index + 5));
      if (code === 38) style.fore = colour;
      else style.back = colour;
      index += codes[index + 1] === 5 ? 2 : 4;
    }
  }
}

/** @param {number} code */
function near256(code) {
  if (code < 16) return code;
  if (232 <= code) return nearest(Array(3).fill((code - 232) * 10 + 8));
  const step = (/** @type {number} */ size) => [0, 95, 135, 175, 215, 255][size] ?? 0;
  const cube = code - 16;
  return nearest([step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6)]);
}

/** The one of 16 colours that is meant by red, green and blue. @param {number[]} rgb */
function nearest([red = 0, green = 0, blue = 0]) {
  const most = Math.max(red, green, blue);
  if (most < 64) return 0;
  const bits = (most * 0.66 < red ? 1 : 0) + (most * 0.66 < green ? 2 : 0) + (most * 0.66 < blue ? 4 : 0);
  return 192 < most ? bits + 8 : bits;
}

/** @param {Style} style */
function classes({ fore, back, bold, dim, italic, under, inverse }) {
  const found = [
    fore !== null && `a${fore % 8}`,
    bold && "a-b",
    dim && "a-d",
    italic && "a-i",
    under && "a-u",
    // A background is shown as a frame: two colours of a program seldom have contrast in both themes.
    (back !== null || inverse) && "a-r"
  ];
  return found.filter((name) => name !== false).join(" ");
}
