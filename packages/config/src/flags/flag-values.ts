import { FLAG_DEFAULTS } from '../defaults.ts';
import { formatDuration, parseDuration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import type { FieldType, Json } from '../schema/field.ts';
import { type CommandLine, type FlagSetting, type MirrorFlag, mirrorFlags, ownFlagValue } from './command-line.ts';
import { type KubeletFlag, kubeletFlags } from './kubelet-flags.ts';

/** Text that upstream shows for a secret value. */
const CLASSIFIED = 'CLASSIFIED';

/**
 * Returns the value of every flag by name, as `pflag` prints it: the value from the command line, otherwise the flag's
 * default. As in upstream's `/flagz`, values from a configuration file are not included; `/configz` shows them.
 * Contains no secrets (W4).
 */
export function flagValues({ flags, given, settings }: CommandLine): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const flag of kubeletFlags) {
    values.set(flag.name, ownText(flag, ownFlagValue(flags, flag), given.get(flag.name) ?? flag.default));
  }
  const set = new Map(settings.map((setting) => [setting.mirror.flag.name, setting]));
  for (const mirror of mirrorFlags) values.set(mirror.flag.name, mirrorText(mirror, set.get(mirror.flag.name)));
  return Object.fromEntries([...values].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function ownText({ type }: KubeletFlag, value: unknown, text: string): string {
  if (type === 'duration') return formatDuration(parseDuration(text) ?? 0n);
  if (type === 'labels') return pairs(value, '=');
  return value === undefined ? text : String(value);
}

function mirrorText({ field, flag, path }: MirrorFlag, setting: FlagSetting | undefined): string {
  if (field.isSecret) return setting === undefined ? '' : CLASSIFIED;
  const value = setting?.value ?? ownDefault(path) ?? field.default;
  switch (flag.syntax) {
    case 'reservedMemory':
      return listed(value, ({ numaNode, limits }) => `${numaNode}:${amounts(limits)}`)
        .sort()
        .join(',');
    case 'taints':
      return listed(value, ({ key, value: text, effect }) => `${key}=${text}:${effect}`).join(',');
    case 'vmodule':
      return listed(value, ({ filePattern, verbosity }) => `${filePattern}=${verbosity}`).join(',');
    case 'thresholds':
      return pairs(value, '<');
    default:
      return plainText(field.type, value);
  }
}

type Item = Readonly<Record<string, Json>>;

/** Returns the items of a list of objects as texts. */
function listed(value: Json | undefined, text: (item: Item) => string): string[] {
  return (value as readonly Item[]).map(text);
}

/** Returns quantities in canonical form, by name. */
function amounts(limits: Json | undefined): string {
  const all = Object.entries(limits as Readonly<Record<string, string>>);
  return pairs(Object.fromEntries(all.map(([name, amount]) => [name, parseQuantity(amount)])), '=');
}

/** Returns the default of a field without a configuration file, if this default differs from the default in a file. */
function ownDefault(path: readonly string[]): Json | undefined {
  return FLAG_DEFAULTS.find(([at]) => at.join('.') === path.join('.'))?.[1];
}

function plainText(type: FieldType, value: Json | undefined): string {
  switch (type.kind) {
    case 'duration':
      return formatDuration(parseDuration(String(value)) ?? 0n);
    case 'list':
      return `[${(value as readonly Json[]).map(csvField).join(',')}]`;
    case 'map':
      return pairs(value, '=');
    default:
      return String(value);
  }
}

function pairs(value: unknown, separator: '=' | '<'): string {
  return Object.entries(Object(value))
    .map(([key, part]) => `${key}${separator}${part}`)
    .sort()
    .join(',');
}

function csvField(value: Json): string {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
