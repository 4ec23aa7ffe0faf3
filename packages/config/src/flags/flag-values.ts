import { FLAG_DEFAULTS } from '../defaults.ts';
import { formatDuration, formatMs, parseDuration } from '../duration.ts';
import type { Field, Json } from '../schema/field.ts';
import { type CommandLine, type MirrorFlag, mirrorFlags } from './command-line.ts';
import { type KubeletFlag, kubeletFlags } from './kubelet-flags.ts';

/** What upstream shows of a value that is a secret. */
const CLASSIFIED = 'CLASSIFIED';

/**
 * The value of every flag by its name, as `pflag` prints it: what the command line gives, else the flag's default. What a
 * configuration file sets is not among them, as upstream has it for `/flagz`: that is in `/configz`. Without secrets (W4).
 */
export function flagValues({ flags, given, settings }: CommandLine): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const flag of kubeletFlags) {
    const value =
      flag.property === undefined ? undefined : (flags as unknown as Record<string, unknown>)[flag.property];
    values.set(flag.name, ownText(flag, value, given.get(flag.name) ?? flag.default));
  }
  const set = new Map(settings.map((setting) => [setting.mirror.flag.name, setting]));
  for (const mirror of mirrorFlags) {
    const setting = set.get(mirror.flag.name);
    values.set(mirror.flag.name, mirrorText(mirror, setting?.value, setting?.text));
  }
  return Object.fromEntries([...values].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function ownText({ type }: KubeletFlag, value: unknown, text: string): string {
  if (type === 'duration') return formatDuration(parseDuration(text) ?? 0n);
  if (type === 'labels') return pairs(value, '=');
  return value === undefined ? text : String(value);
}

function mirrorText({ field, flag, path }: MirrorFlag, value: Json | undefined, text: string | undefined): string {
  if (field.isSecret) return text === undefined ? '' : CLASSIFIED;
  switch (flag.syntax) {
    case 'headers':
    case 'reservedMemory':
    case 'taints':
    case 'vmodule':
      return text ?? '';
    case 'thresholds':
      return pairs(value ?? field.default, '<');
    default:
      return plainText(field, value ?? ownDefault(path) ?? field.default);
  }
}

/** The defaults of a command line: some differ from those of a file. */
function ownDefault(path: readonly string[]): Json | undefined {
  return FLAG_DEFAULTS.find(([at]) => at.join('.') === path.join('.'))?.[1];
}

function plainText({ type }: Field, value: Json | undefined): string {
  switch (type.kind) {
    case 'duration': {
      const duration = typeof value === 'number' ? undefined : parseDuration(String(value ?? '0s'));
      return typeof value === 'number' ? formatMs(value / 1e6) : formatDuration(duration ?? 0n);
    }
    case 'list':
      return `[${(Array.isArray(value) ? value : []).map(csvField).join(',')}]`;
    case 'map':
      return pairs(value, '=');
    case 'boolean':
      return String(value ?? false);
    case 'integer':
      return String(value ?? 0);
    default:
      return value === undefined || value === null ? '' : String(value);
  }
}

function pairs(value: unknown, separator: '=' | '<'): string {
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([key, part]) => `${key}${separator}${part}`)
    .sort()
    .join(',');
}

function csvField(value: Json): string {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
