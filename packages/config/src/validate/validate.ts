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

/** Rules that involve more than one value. */
export const RULES: readonly Rule[] = [
  ...podRules,
  ...imageRules,
  ...resourceRules,
  ...evictionRules,
  ...nodeRules,
  ...observabilityRules,
];

/**
 * Returns all violations of a complete configuration: first those of single fields in the order of the table, then
 * those of the rules (`ValidateKubeletConfiguration`, pkg/kubelet/apis/config/validation). Feature gates are validated
 * elsewhere. Rules for gates that 1.36 locks to true are omitted.
 * @param undecoded properties whose values could not be decoded and that have their defaults instead
 */
export function validateConfiguration(
  configuration: KubeletConfiguration,
  context: ValidationContext,
  undecoded: ReadonlySet<string> = new Set(),
): readonly Violation[] {
  return [
    ...checkFields(configurationFields, configuration as unknown as Readonly<Record<string, unknown>>, ''),
    ...RULES.flatMap((rule) => violationsOf(rule, configuration, context, undecoded)),
  ];
}

/**
 * A rule that reads an undecoded property reports nothing, because it would check a default that the user did not
 * request.
 */
function violationsOf(
  rule: Rule,
  configuration: KubeletConfiguration,
  context: ValidationContext,
  undecoded: ReadonlySet<string>,
): readonly Violation[] {
  if (undecoded.size === 0) return rule(configuration, context);
  let readsUndecoded = false;
  const watched = new Proxy(configuration, {
    get(target, property, receiver): unknown {
      readsUndecoded ||= undecoded.has(String(property));
      return Reflect.get(target, property, receiver);
    },
  });
  const violations = rule(watched, context);
  return readsUndecoded ? [] : violations;
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
