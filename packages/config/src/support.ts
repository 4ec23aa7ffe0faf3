import { isDeepStrictEqual } from 'node:util';
import type { ConfigIssue } from './error.ts';
import type { CommandLine } from './flags/command-line.ts';
import { kubeletFlags } from './flags/kubelet-flags.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { normalizeValue } from './normalize.ts';
import type { Origins } from './origins.ts';
import { childPath } from './path.ts';
import type { Field, Support } from './schema/field.ts';
import { configurationFields } from './schema/kubelet-configuration.ts';

/** What was asked for and is not there yet. */
export interface SupportReport {
  readonly refused: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** Finds the fields that somebody set to what this kubelet cannot do, and the defaults that deserve a note. */
export function checkFieldSupport(configuration: KubeletConfiguration, origins: Origins): SupportReport {
  const report = { refused: [] as ConfigIssue[], warnings: [] as ConfigIssue[] };
  const values = configuration as unknown as Readonly<Record<string, unknown>>;
  visit(configurationFields, values, '', origins, report);
  return report;
}

function visit(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
  path: string,
  origins: Origins,
  report: { refused: ConfigIssue[]; warnings: ConfigIssue[] },
): void {
  for (const line of fields) {
    const at = childPath(path, line.name);
    const value = values[line.property];
    if (line.type.kind === 'object') {
      if (typeof value === 'object' && value !== null) {
        visit(line.type.fields, value as Readonly<Record<string, unknown>>, at, origins, report);
      }
      continue;
    }
    if (line.support.state !== 'unsupported') continue;
    const { severity, because } = line.support;
    if (!isAsGoodAsDefault(line, line.support, value) && origins.isSet(at)) {
      const issues = severity === 'refuse' ? report.refused : report.warnings;
      issues.push({ path: at, message: describe(severity, because), origin: firstOrigin(at, origins) });
    }
  }
}

function describe(severity: 'refuse' | 'warn', because: string): string {
  return severity === 'refuse' ? `is not supported yet: ${because}` : `has no effect yet: ${because}`;
}

function firstOrigin(path: string, origins: Origins): ConfigIssue['origin'] {
  const own = origins.of(path);
  if (own.source !== 'default') return own;
  for (const [at, origin] of origins.entries()) if (at.startsWith(path)) return origin;
  return own;
}

function isDefault(line: Field, value: unknown): boolean {
  return (
    value === undefined ||
    (line.default !== undefined && isDeepStrictEqual(value, normalizeValue(line.type, line.default)))
  );
}

function isAsGoodAsDefault(line: Field, support: Support & { state: 'unsupported' }, value: unknown): boolean {
  if (isDefault(line, value)) return true;
  const accepted = support.accepted ?? [];
  return (
    accepted.some((candidate) => isDeepStrictEqual(value, normalizeValue(line.type, candidate))) ||
    support.accepts?.(value) === true
  );
}

/** Finds the flags beside the fields that ask for what this kubelet cannot do. */
export function checkFlagSupport({ flags, given }: CommandLine): SupportReport {
  const refused: ConfigIssue[] = [];
  const warnings: ConfigIssue[] = [];
  for (const { name, property, default: usual, support } of kubeletFlags) {
    const text = given.get(name);
    if (text === undefined || support.state === 'supported') continue;
    const origin = { source: 'flag', flag: name, text } as const;
    const path = `--${name}`;
    if (support.state === 'inert') {
      warnings.push({ path, message: `has no effect: ${support.because}`, origin });
      continue;
    }
    const value =
      property === undefined ? undefined : (flags as unknown as Readonly<Record<string, unknown>>)[property];
    if (text === usual || value === false || value === '') continue;
    const issues = support.severity === 'refuse' ? refused : warnings;
    issues.push({ path, message: describe(support.severity, support.because), origin });
  }
  return { refused, warnings };
}
