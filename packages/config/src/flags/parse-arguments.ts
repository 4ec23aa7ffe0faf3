import { closest } from '../suggest.ts';

/** The properties of a flag that the parser needs. */
export interface FlagShape {
  /** Name without dashes. */
  readonly name: string;
  readonly shorthand?: string | undefined;
  /**
   * Value of the flag if the command line contains the flag without a value. If absent, the flag takes the next
   * argument as its value.
   */
  readonly bareText?: string | undefined;
}

/** One occurrence of a flag on the command line. */
export interface FlagOccurrence {
  readonly name: string;
  readonly text: string;
}

export interface ParsedArguments {
  /** The flags in the order of the command line. */
  readonly occurrences: readonly FlagOccurrence[];
  /** The arguments that are not flags, and all arguments after `--`. */
  readonly positional: readonly string[];
  /** Errors: unknown flags, flags without their value, and malformed flags. */
  readonly problems: readonly string[];
}

/**
 * Splits a command line the way pflag does: `--flag=text`, `--flag text`, a bare `--flag` where one is allowed, `-v4`,
 * `-v=4`, `-v 4`; underscores in names are dashes; flags and other arguments may be mixed; `--` ends the flags. pflag
 * stops at the first problem. This function collects all problems; it treats the argument after an unknown flag as the
 * value of that flag.
 */
export function parseArguments(argv: readonly string[], shapes: readonly FlagShape[]): ParsedArguments {
  return new ArgumentParser(argv, shapes).parse();
}

class ArgumentParser {
  readonly #rest: string[];
  readonly #byName: ReadonlyMap<string, FlagShape>;
  readonly #byShorthand: ReadonlyMap<string, FlagShape>;
  readonly #occurrences: FlagOccurrence[] = [];
  readonly #problems: string[] = [];

  constructor(argv: readonly string[], shapes: readonly FlagShape[]) {
    this.#rest = [...argv];
    this.#byName = new Map(shapes.map((shape) => [shape.name, shape]));
    this.#byShorthand = new Map(
      shapes.flatMap((shape) => (shape.shorthand === undefined ? [] : [[shape.shorthand, shape] as const])),
    );
  }

  parse(): ParsedArguments {
    const positional: string[] = [];
    for (let argument = this.#rest.shift(); argument !== undefined; argument = this.#rest.shift()) {
      if (argument === '--') {
        positional.push(...this.#rest);
        break;
      }
      if (!argument.startsWith('-') || argument === '-') positional.push(argument);
      else if (argument.startsWith('--')) this.#long(argument);
      else this.#short(argument.slice(1));
    }
    return { occurrences: this.#occurrences, positional, problems: this.#problems };
  }

  #long(argument: string): void {
    const body = argument.slice(2);
    if (body.startsWith('-') || body.startsWith('=')) {
      this.#problems.push(`bad flag syntax: ${argument}`);
      return;
    }
    const equals = body.indexOf('=');
    const given = equals < 0 ? body : body.slice(0, equals);
    const shape = this.#byName.get(given.replaceAll('_', '-'));
    if (shape === undefined) {
      const near = closest(given, [...this.#byName.keys()]);
      this.#problems.push(`unknown flag: --${given}${near === undefined ? '' : `; did you mean --${near}?`}`);
      if (equals < 0 && this.#rest[0]?.startsWith('-') === false) this.#rest.shift();
      return;
    }
    const text = equals < 0 ? (shape.bareText ?? this.#rest.shift()) : body.slice(equals + 1);
    if (text === undefined) this.#problems.push(`flag needs an argument: --${given}`);
    else this.#occurrences.push({ name: shape.name, text });
  }

  /**
   * Reads the letters of short flags one by one. The first flag that needs a value takes the rest of the text as its
   * value.
   */
  #short(letters: string): void {
    for (let at = 0; at < letters.length; at++) {
      const letter = letters.charAt(at);
      const shape = this.#byShorthand.get(letter);
      if (shape === undefined) {
        this.#problems.push(`unknown shorthand flag: '${letter}' in -${letters.slice(at)}`);
        return;
      }
      const rest = letters.slice(at + 1);
      if (rest.length > 1 && rest.startsWith('=')) {
        this.#occurrences.push({ name: shape.name, text: rest.slice(1) });
        return;
      }
      if (shape.bareText !== undefined) {
        this.#occurrences.push({ name: shape.name, text: shape.bareText });
        continue;
      }
      const text = rest === '' ? this.#rest.shift() : rest;
      if (text === undefined) this.#problems.push(`flag needs an argument: '${letter}' in -${letters.slice(at)}`);
      else this.#occurrences.push({ name: shape.name, text });
      return;
    }
  }
}
