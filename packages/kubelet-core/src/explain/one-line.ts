/** A text on one line, with nothing in it that draws on a terminal: pods and containers may say anything. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD');
}

/** Shorter texts may be repeated: a name, a reason, a path. */
const MIN_REPEATED = 48;

/**
 * Replaces the parts of a text that were printed before, if they are long: an image error of 230 characters is in a status, a step and two
 * events, and is read once.
 */
export function withoutRepeats(text: string, said: string): string {
  for (let from = 0; from + MIN_REPEATED <= text.length; from += 1) {
    // A repeat begins with a word, not with what separates it from the word before.
    if (/[\s:;,]/.test(text[from] ?? '') || !said.includes(text.slice(from, from + MIN_REPEATED))) continue;
    let to = from + MIN_REPEATED;
    while (to < text.length && said.includes(text.slice(from, to + 1))) to += 1;
    return `${text.slice(0, from)}(as above)${withoutRepeats(text.slice(to), said)}`;
  }
  return text;
}
