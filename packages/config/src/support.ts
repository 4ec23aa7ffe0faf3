import { isDeepStrictEqual } from 'node:util';
import type { ConfigIssue } from './error.ts';
import { type CommandLine, ownFlagValue } from './flags/command-line.ts';
import { kubeletFlags } from './flags/kubelet-flags.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { normalizeValue } from './normalize.ts';
import type { Origins } from './origins.ts';
import { childPath, isWithin } from './path.ts';
import type { Field, Support } from './schema/field.ts';
import { configurationFields } from './schema/kubelet-configuration.ts';

/** Issues about requested features that this kubelet does not implement: errors (`refused`) and warnings. */
export interface SupportReport {
  readonly refused: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

interface Report extends SupportReport {
  readonly refused: ConfigIssue[];
  readonly warnings: ConfigIssue[];
}

type Unsupported = Support & { state: 'unsupported' };

/** Reports fields with values that this kubelet does not support, and defaults that need a warning. */
export function checkFieldSupport(configuration: KubeletConfiguration, origins: Origins): SupportReport {
  const report: Report = { refused: [], warnings: [] };
  const values = configuration as unknown as Readonly<Record<string, unknown>>;
  visit(configurationFields, values, '', origins, report);
  return report;
}

function visit(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
  path: string,
  origins: Origins,
  report: Report,
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
    if (!isAsGoodAsDefault(line, line.support, value) && origins.isSet(at)) {
      tell(report, line.support, at, firstOrigin(at, origins));
    }
  }
}

function tell(report: Report, { severity, because }: Unsupported, path: string, origin: ConfigIssue['origin']): void {
  if (severity === 'refuse') report.refused.push({ path, message: `is not supported yet: ${because}`, origin });
  else report.warnings.push({ path, message: `has no effect yet: ${because}`, origin });
}

function firstOrigin(path: string, origins: Origins): ConfigIssue['origin'] {
  for (const [at, origin] of origins.entries()) if (isWithin(at, path)) return origin;
  return origins.of(path);
}

function isDefault(line: Field, value: unknown): boolean {
  return (
    value === undefined ||
    (line.default !== undefined && isDeepStrictEqual(value, normalizeValue(line.type, line.default)))
  );
}

function isAsGoodAsDefault(line: Field, { accepted = [] }: Unsupported, value: unknown): boolean {
  return (
    isDefault(line, value) ||
    accepted.some((candidate) => isDeepStrictEqual(value, normalizeValue(line.type, candidate)))
  );
}

/** Reports flags, other than flags that set fields, with values that this kubelet does not support. */
export function checkFlagSupport({ flags, given }: CommandLine): SupportReport {
  const report: Report = { refused: [], warnings: [] };
  for (const flag of kubeletFlags) {
    const { name, default: usual, support } = flag;
    const text = given.get(name);
    if (text === undefined || support.state === 'supported') continue;
    const origin = { source: 'flag', flag: name, text } as const;
    const path = `--${name}`;
    if (support.state === 'inert') {
      report.warnings.push({ path, message: `has no effect: ${support.because}`, origin });
      continue;
    }
    if (text !== usual && ownFlagValue(flags, flag) !== false) tell(report, support, path, origin);
  }
  return report;
}
