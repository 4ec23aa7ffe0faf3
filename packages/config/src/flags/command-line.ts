import { durationMs } from '../defaults.ts';
import { parseDuration } from '../duration.ts';
import { ConfigError, type ConfigIssue } from '../error.ts';
import type { KubeletFlags } from '../generated/kubelet-configuration.ts';
import type { Field, FieldFlag, FieldType, Json } from '../schema/field.ts';
import { configurationFields } from '../schema/kubelet-configuration.ts';
import { INT32 } from '../schema/types.ts';
import { parseFieldText } from './field-syntax.ts';
import { type KubeletFlag, kubeletFlags } from './kubelet-flags.ts';
import { type FlagOccurrence, type FlagShape, parseArguments } from './parse-arguments.ts';
import { type Parsed, parseBoolean, splitPair } from './text-values.ts';

/** A flag that sets a field of the configuration. */
export interface MirrorFlag {
  readonly flag: FieldFlag;
  /** Field names from the top of the configuration to the field. */
  readonly path: readonly string[];
  readonly field: Field;
}

/** A field that the command line sets. */
export interface FlagSetting {
  readonly mirror: MirrorFlag;
  readonly value: Json;
  /** Last text of the flag on the command line; masked if the field is secret. */
  readonly text: string;
}

/** A parsed command line. */
export interface CommandLine {
  readonly flags: KubeletFlags;
  /** Flags on the command line that do not set fields, with their last text. */
  readonly given: ReadonlyMap<string, string>;
  readonly settings: readonly FlagSetting[];
  /** Warnings about deprecated flags, in upstream's words. */
  readonly warnings: readonly ConfigIssue[];
}

const USE_THE_FILE =
  "This parameter should be set via the config file specified by the Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.";

/** Text that is shown instead of a secret value. */
const MASKED = '<masked>';

export const mirrorFlags: readonly MirrorFlag[] = mirrorsIn(configurationFields, []);

function mirrorsIn(fields: readonly Field[], path: readonly string[]): readonly MirrorFlag[] {
  return fields.flatMap((field) => {
    const at = [...path, field.name];
    if (field.type.kind === 'object') return mirrorsIn(field.type.fields, at);
    return field.flag === undefined ? [] : [{ flag: field.flag, path: at, field }];
  });
}

/**
 * Reads the kubelet's command line, without the program's name.
 *
 * @throws ConfigError `flag` for a flag that pflag refuses, a value of the wrong form, or an argument that is not a
 * flag
 */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const { flags, given, settings, warnings, issues } = readCommandLine(argv);
  if (issues.length > 0) throw new ConfigError('flag', issues);
  return { flags, given, settings, warnings };
}

/** The part of a command line that could be parsed. */
export interface CommandLineReading extends CommandLine {
  /** The first argument that is not a flag; the kubelet has no commands. */
  readonly command: string | undefined;
  /** All problems of the command line. */
  readonly issues: readonly ConfigIssue[];
  /** Top-level properties of the configuration for which a flag has an invalid value. */
  readonly unreadProperties: readonly string[];
}

/** Parses as much of the kubelet's command line as possible, and lists all problems. */
export function readCommandLine(argv: readonly string[]): CommandLineReading {
  const { occurrences, positional, problems } = parseArguments(argv, shapes());
  const byName = Map.groupBy(occurrences, (occurrence) => occurrence.name);
  const issues: ConfigIssue[] = problems.map(flagIssue);
  const [command] = positional;
  if (command !== undefined) issues.push(flagIssue(`unknown command ${command}; kubelet --help lists the flags`));
  const unreadProperties: string[] = [];
  const settings = mirrorFlags.flatMap((mirror) => {
    const before = issues.length;
    const setting = settingOf(mirror, byName.get(mirror.flag.name) ?? [], issues);
    if (issues.length > before) unreadProperties.push(topProperty(mirror));
    return setting === undefined ? [] : [setting];
  });
  const flags = ownFlags(byName, issues);
  return {
    flags,
    given: givenTexts(occurrences),
    settings,
    warnings: deprecations(byName),
    command,
    issues,
    unreadProperties,
  };
}

function topProperty({ path: [name], field }: MirrorFlag): string {
  return configurationFields.find((candidate) => candidate.name === name)?.property ?? field.property;
}

function shapes(): readonly FlagShape[] {
  const own = kubeletFlags.map((flag) => shape(flag.name, flag.shorthand, isBare(flag.type)));
  return [...own, ...mirrorFlags.map(({ flag, field }) => shape(flag.name, flag.shorthand, isBare(field.type.kind)))];
}

function isBare(type: FieldType['kind'] | KubeletFlag['type']): boolean {
  return type === 'boolean' || type === 'version';
}

function shape(name: string, shorthand: string | undefined, bare: boolean): FlagShape {
  return { name, shorthand, bareText: bare ? 'true' : undefined };
}

function settingOf(
  mirror: MirrorFlag,
  occurrences: readonly FlagOccurrence[],
  issues: ConfigIssue[],
): FlagSetting | undefined {
  let setting: FlagSetting | undefined;
  for (const occurrence of occurrences) {
    if (occurrence.text === '' && changesNothing(mirror)) continue;
    const text = shownText(mirror.field, occurrence.text);
    const parsed = parseFieldText(occurrence.text, mirror.field.type, mirror.flag.syntax, setting?.value);
    if (parsed.problem !== undefined) {
      issues.push(badValue(mirror.flag, text, parsed.problem));
      return undefined;
    }
    setting = { mirror, value: parsed.value, text };
  }
  return setting === undefined || isIgnored(setting) ? undefined : setting;
}

/**
 * Returns whether the flag without a text has no effect: the value of an earlier occurrence, of the file, or the
 * default stays.
 */
function changesNothing({ flag: { syntax } }: MirrorFlag): boolean {
  return syntax === 'ip' || syntax === 'reservedMemory';
}

/** Returns whether the setting has no effect, because its flag has an effect only if it is true. */
function isIgnored({ mirror: { flag }, value }: FlagSetting): boolean {
  return flag.syntax === 'onlyTrueCounts' && value === false;
}

function shownText(field: Field, text: string): string {
  return field.isSecret ? MASKED : text;
}

function ownFlags(byName: ReadonlyMap<string, readonly FlagOccurrence[]>, issues: ConfigIssue[]): KubeletFlags {
  const members: [string, unknown][] = [];
  for (const flag of kubeletFlags) {
    const occurrences = byName.get(flag.name) ?? [];
    let value = ownValue(flag, flag.default, undefined).value;
    let labels: unknown;
    for (const { text } of occurrences) {
      const parsed = ownValue(flag, text, labels);
      if (parsed.problem === undefined) [value, labels] = [parsed.value, parsed.value];
      else issues.push(badValue(flag, text, parsed.problem));
    }
    if (flag.property !== undefined) members.push([flag.property, value]);
  }
  // The interface is generated from the table that this function reads.
  return Object.fromEntries(members) as unknown as KubeletFlags;
}

/**
 * Returns the value of a flag that does not set a field; `undefined` for a flag that has no effect in upstream either.
 */
export function ownFlagValue(flags: KubeletFlags, { property = '' }: KubeletFlag): unknown {
  return (flags as unknown as Readonly<Record<string, unknown>>)[property];
}

function ownValue(flag: KubeletFlag, text: string, previous: unknown): Parsed<unknown> {
  switch (flag.type) {
    case 'boolean':
      return parseBoolean(text);
    case 'integer':
      return parseFieldText(text, INT32, undefined, undefined);
    case 'duration':
      return parseDuration(text) === undefined
        ? { problem: 'must be a duration with a unit, such as 1m30s or 300ms' }
        : { value: durationMs(text) };
    case 'labels':
      return labels(text, previous);
    case 'version': {
      if (text === 'raw') return { value: text };
      const parsed = parseBoolean(text);
      return parsed.problem === undefined ? { value: String(parsed.value) } : { problem: 'must be true, false or raw' };
    }
    case 'string':
      return { value: text };
  }
}

function labels(text: string, previous: unknown): Parsed<Readonly<Record<string, string>>> {
  const before = typeof previous === 'object' && previous !== null ? Object.entries(previous) : [];
  const pairs = text.split(',').filter((part) => part !== '');
  return { value: Object.fromEntries([...before, ...pairs.map((part) => splitPair(part, '=') ?? [part.trim(), ''])]) };
}

function givenTexts(occurrences: readonly FlagOccurrence[]): ReadonlyMap<string, string> {
  const own = new Set(kubeletFlags.map((flag) => flag.name));
  return new Map(occurrences.filter(({ name }) => own.has(name)).map(({ name, text }) => [name, text] as const));
}

function deprecations(byName: ReadonlyMap<string, unknown>): readonly ConfigIssue[] {
  const texts = new Map<string, string | undefined>([
    ...kubeletFlags.map((flag) => [flag.name, flag.deprecated] as const),
    ...mirrorFlags.map(({ flag }) => [flag.name, flag.deprecated === false ? undefined : USE_THE_FILE] as const),
  ]);
  return [...byName.keys()].flatMap((name) => {
    const text = texts.get(name);
    return text === undefined ? [] : [flagIssue(`Flag --${name} has been deprecated, ${text}`)];
  });
}

function badValue(
  flag: { readonly name: string; readonly shorthand?: string },
  text: string,
  problem: string,
): ConfigIssue {
  const name = flag.shorthand === undefined ? `--${flag.name}` : `-${flag.shorthand}, --${flag.name}`;
  return flagIssue(`invalid argument ${JSON.stringify(text)} for "${name}" flag: ${problem}`);
}

function flagIssue(message: string): ConfigIssue {
  return { path: '', message, origin: { source: 'default' } };
}
