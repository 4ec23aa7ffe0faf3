import { classEnd, escapeEnd } from './pattern-atoms.ts';
import { firstOf, PatternError } from './pattern-error.ts';

const MAX_BYTES = 1000;

/** The maximum product of nested repeat counts, as in Go. */
const MAX_REPEATS = 1000;

/**
 * Returns what is wrong with a pattern, in the words of Go's `regexp/syntax` (RE2), or `undefined` if the pattern is
 * valid. Patterns must have RE2 syntax before they are passed to journalctl. Only the syntax is checked; names of
 * Unicode classes are not.
 */
export function patternProblem(pattern: string): string | undefined {
  if (Buffer.byteLength(pattern) > MAX_BYTES) return 'error parsing regexp: expression too large';
  try {
    new PatternReader(pattern).read();
    return undefined;
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return `error parsing regexp: ${error.message}`;
  }
}

/** State of an open group of the pattern, or of the whole pattern. */
interface Group {
  /** How often the last part is repeated, as the product of its counts. 0 if there is no part that may be repeated. */
  last: number;
  /** The maximum of `last` over the earlier parts. */
  most: number;
}

class PatternReader {
  readonly #whole: string;
  #rest: string;
  readonly #groups: Group[] = [];
  #group: Group = { last: 0, most: 0 };

  constructor(pattern: string) {
    this.#whole = pattern;
    this.#rest = pattern;
  }

  read(): void {
    /** The text before the previous repetition operator, if the last part was one. */
    let repeated: string | undefined;
    while (this.#rest !== '') {
      const before = this.#rest;
      const isRepetition = this.#repetition(repeated);
      if (!isRepetition) this.#part();
      repeated = isRepetition ? before : undefined;
    }
    if (this.#groups.length > 0) throw new PatternError('missing closing )', this.#whole);
  }

  #part(): void {
    const text = this.#rest;
    switch (text[0]) {
      case '(':
        this.#open();
        break;
      case '|':
        this.#rest = text.slice(1);
        this.#add(0);
        break;
      case ')':
        this.#rest = text.slice(1);
        this.#close();
        break;
      case '[':
        this.#take(classEnd(text));
        break;
      case '\\':
        if (text.startsWith('\\Q')) this.#quoted();
        else if (/^\\[AbBz]/.test(text)) this.#take(text.slice(2));
        else this.#take(escapeEnd(text));
        break;
      default:
        this.#take(text.slice(firstOf(text).length));
    }
  }

  /** Consumes a part of the pattern that may be repeated. @param rest the text after the part */
  #take(rest: string): void {
    this.#rest = rest;
    this.#add(1);
  }

  #add(repeats: number): void {
    this.#group.most = Math.max(this.#group.most, this.#group.last);
    this.#group.last = repeats;
  }

  /**
   * Consumes the text between `\Q` and `\E` or the end. A following repetition applies to the last character of this
   * text, or to the part before an empty text.
   */
  #quoted(): void {
    const [, quoted = '', rest = ''] = /^\\Q([\s\S]*?)(?:\\E([\s\S]*))?$/.exec(this.#rest) ?? [];
    if (quoted !== '') this.#add(1);
    this.#rest = rest;
  }

  #open(): void {
    const text = this.#rest;
    if (!text.startsWith('(?')) {
      this.#enter(text.slice(1));
      return;
    }
    const [named, name = ''] = /^\(\?(?:P<(?=[\s\S])|<(?=[\s\S]))([^>]*)>?/.exec(text) ?? [];
    if (named !== undefined) {
      if (!named.endsWith('>')) throw new PatternError('invalid named capture', text);
      if (!/^[A-Za-z0-9_]+$/.test(name)) throw new PatternError('invalid named capture', named);
      this.#enter(text.slice(named.length));
      return;
    }
    const [flags = ''] = /^\(\?[imsU]*(?:-[imsU]+)?/.exec(text) ?? [];
    const end = text[flags.length];
    if (end === ':') this.#enter(text.slice(flags.length + 1));
    else if (end === ')') this.#rest = text.slice(flags.length + 1);
    else throw new PatternError('invalid or unsupported Perl syntax', wrongFlag(text, flags));
  }

  #enter(rest: string): void {
    this.#rest = rest;
    this.#groups.push(this.#group);
    this.#group = { last: 0, most: 0 };
  }

  #close(): void {
    const { last, most } = this.#group;
    const outer = this.#groups.pop();
    if (outer === undefined) throw new PatternError('unexpected )', this.#whole);
    this.#group = outer;
    this.#add(Math.max(last, most, 1));
  }

  /**
   * Consumes a repetition: `*`, `+`, `?`, `{2}`, `{2,}` or `{2,3}`, lazy or not. Other braces are literal characters.
   * Returns whether the text starts with a repetition.
   * @param previous the text at the previous repetition, if that repetition directly precedes this one
   */
  #repetition(previous: string | undefined): boolean {
    const text = this.#rest;
    const [operator, ...counts] = REPETITION.exec(text) ?? [];
    if (operator === undefined) return false;
    const times = repeats(operator, counts);
    const taken = operator.length + (text[operator.length] === '?' ? 1 : 0);
    const shown = text.slice(0, taken);
    this.#rest = text.slice(taken);
    if (previous !== undefined) {
      const both = previous.slice(0, previous.length - this.#rest.length);
      throw new PatternError('invalid nested repetition operator', both);
    }
    const { last } = this.#group;
    if (last === 0) throw new PatternError('missing argument to repetition operator', shown);
    this.#group.last = times === 0 ? 1 : last * times;
    if (this.#group.last > MAX_REPEATS) throw new PatternError('invalid repeat count', shown);
    return true;
  }
}

/** The operators of a repetition. Counts are integers without a leading zero. */
const REPETITION = /^(?:[*+?]|\{(0(?!\d)|[1-9]\d*)(,(0(?!\d)|[1-9]\d*)?)?\})/;

/**
 * Returns the factor by which a repetition multiplies the repeat count: 0 if the part never occurs, the minimum (at
 * least 1) if there is no maximum.
 */
function repeats(operator: string, [least, comma, most]: readonly (string | undefined)[]): number {
  if (least === undefined) return 1;
  const min = Number(least);
  const max = most === undefined ? min : Number(most);
  if (max > MAX_REPEATS || min > max) throw new PatternError('invalid repeat count', operator);
  return comma !== undefined && most === undefined ? Math.max(min, 1) : max;
}

/** Returns the flags of a group up to the first invalid character. */
function wrongFlag(text: string, flags: string): string {
  const rest = text.slice(flags.length);
  // A dash without a following flag is reported together with the next character.
  const dash = rest.startsWith('-') && !flags.includes('-') ? 1 : 0;
  return flags + rest.slice(0, dash) + firstOf(rest.slice(dash));
}
