/** Type of a flag's value: one text, several texts, a boolean or an integer. */
type FlagType = 'text' | 'texts' | 'boolean' | 'integer';

/** Definition of a flag. */
interface FlagRule {
  readonly type: FlagType;
  readonly meaning: string;
  /** Default value, written as on the command line; absent if the flag is required or has no default. */
  readonly default?: string;
}

export type FlagRules = Readonly<Record<string, FlagRule>>;

type ValueOf<Rule extends FlagRule> = Rule['type'] extends 'boolean'
  ? boolean
  : Rule['type'] extends 'integer'
    ? number
    : Rule['type'] extends 'texts'
      ? readonly string[]
      : string;

/**
 * Parsed values by flag name. The value of an absent flag is '' for a text, 0 for an integer and false for a boolean.
 */
export type FlagValues<Rules extends FlagRules> = { readonly [Name in keyof Rules]: ValueOf<Rules[Name]> };

/**
 * Parses arguments like Go's flag package: `-name=value`, `--name value`, `--boolean`.
 * @throws Error that names the flag
 */
export function parseFlags<Rules extends FlagRules>(rules: Rules, args: readonly string[]): FlagValues<Rules> {
  const given = new Map<string, string[]>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    const match = /^--?([a-z][\w-]*)(?:=([\s\S]*))?$/i.exec(arg);
    if (match === null) throw new Error(`argument ${JSON.stringify(arg)} is not a flag`);
    const [, name = '', attached] = match;
    const rule = rules[name];
    if (rule === undefined) throw new Error(`unknown flag --${name}`);
    let value = attached;
    if (value === undefined && rule.type === 'boolean') value = 'true';
    if (value === undefined) value = args[++index];
    if (value === undefined) throw new Error(`flag --${name} needs a value`);
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  const values = Object.entries(rules).map(([name, rule]) => {
    const texts = given.get(name) ?? (rule.default === undefined ? [] : [rule.default]);
    return [name, flagValue(name, rule, texts)];
  });
  return Object.fromEntries(values) as FlagValues<Rules>;
}

function flagValue(name: string, { type }: FlagRule, texts: readonly string[]): unknown {
  if (type === 'texts') return texts.flatMap((text) => text.split(',')).filter((text) => text !== '');
  const text = texts.at(-1);
  switch (type) {
    case 'boolean': {
      if (text === undefined || /^(false|f|0)$/i.test(text)) return false;
      if (/^(true|t|1)$/i.test(text)) return true;
      throw new Error(`flag --${name} must be true or false, not ${JSON.stringify(text)}`);
    }
    case 'integer': {
      if (text === undefined) return 0;
      if (/^\d{1,15}$/.test(text)) return Number(text);
      throw new Error(`flag --${name} must be a non-negative integer, not ${JSON.stringify(text)}`);
    }
    default:
      return text ?? '';
  }
}

/** Returns the lines that describe the flags. */
export function flagUsage(rules: FlagRules): string {
  const lines = Object.entries(rules).map(([name, { type, meaning, default: value }]) => {
    const shown = type === 'boolean' ? `--${name}` : `--${name}=${type === 'integer' ? 'N' : 'X'}`;
    return `  ${shown.padEnd(38)} ${meaning}${value ? ` (default: ${value})` : ''}`;
  });
  return `${lines.join('\n')}\n`;
}
