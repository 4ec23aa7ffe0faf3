import { formatMs } from '../duration.ts';
import type { KubeletConfiguration } from '../generated/kubelet-configuration.ts';
import { childPath } from '../path.ts';
import type { Field, FieldType } from '../schema/field.ts';
import { configurationFields } from '../schema/kubelet-configuration.ts';
import { evictionRules } from './eviction.ts';
import { imageRules } from './images.ts';
import { nodeRules } from './node.ts';
import { observabilityRules } from './observability.ts';
import { podRules } from './pods.ts';
import { resourceRules } from './resources.ts';
import type { Rule, ValidationContext, Violation } from './rule.ts';

const RULES: readonly Rule[] = [
  ...podRules,
  ...imageRules,
  ...resourceRules,
  ...evictionRules,
  ...nodeRules,
  ...observabilityRules,
];

/**
 * Everything in a complete configuration that is not allowed, in the order of the table, then of the rules
 * (`ValidateKubeletConfiguration`, pkg/kubelet/apis/config/validation; feature gates are looked at elsewhere; rules
 * that need a gate which 1.36 locks to true are left out).
 */
export function validateConfiguration(
  configuration: KubeletConfiguration,
  context: ValidationContext,
): readonly Violation[] {
  return [
    ...checkFields(configurationFields, configuration as unknown as Readonly<Record<string, unknown>>, ''),
    ...RULES.flatMap((rule) => rule(configuration, context)),
  ];
}

function checkFields(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
  path: string,
): readonly Violation[] {
  return fields.flatMap((line) => {
    const at = childPath(path, line.name);
    const value = values[line.property];
    if (value === undefined) return [];
    if (line.type.kind === 'object' && typeof value === 'object' && value !== null) {
      return checkFields(line.type.fields, value as Readonly<Record<string, unknown>>, at);
    }
    const problem = line.check?.(value);
    return problem === undefined ? [] : [{ path: at, message: `${shown(line.type, value)}${problem}` }];
  });
}

function shown(type: FieldType, value: unknown): string {
  if (typeof value !== 'number') return '';
  return type.kind === 'duration' ? `${formatMs(value)} ` : `${value} `;
}
