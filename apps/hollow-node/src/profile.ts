import { BEHAVIOUR_ANNOTATION, type Behaviour, parseBehaviour, type Script } from '@node-agent/fake-cri';
import { parseQuantity } from '@node-agent/pod-spec';
import { parse } from 'yaml';

/** A rule of a profile: the containers that it applies to, and their scripted behaviour. */
interface ProfileRule {
  /** Patterns with `*`. Absent fields match everything. */
  readonly match: Readonly<Partial<Record<MatchField, RegExp>>>;
  readonly behaviour: Behaviour;
}

const MATCH_FIELDS = ['namespace', 'pod', 'container', 'image'] as const;
type MatchField = (typeof MATCH_FIELDS)[number];

/**
 * Reads a profile, which defines the behaviour of containers, from YAML. The first rule that matches a container
 * applies.
 *
 * ```yaml
 * rules:
 *   - match: { namespace: shop, pod: 'web-*', container: '*', image: '*nginx*' }
 *     cpu: 50m          # shown by kubectl top
 *     memory: 64Mi
 *     behaviour:        # as in the annotation fake-cri.node-agent.dev/behaviour
 *       startDelayMs: 500
 *       output: [{ text: "ready\n" }]
 * ```
 *
 * The behaviour annotation of a pod takes precedence over the profile.
 * @param file named in errors
 * @throws TypeError that names the file and the field
 */
export function parseProfile(text: string, file: string): Script {
  const refuse = (path: string, why: string): never => {
    throw new TypeError(`${file}: ${path}: ${why}`);
  };
  let value: unknown;
  try {
    value = parse(text, { version: '1.1' });
  } catch (cause) {
    throw new TypeError(`${file}: must be YAML: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  if (!isRecord(value)) return refuse('profile', 'must be an object');
  for (const field of Object.keys(value)) if (field !== 'rules') refuse(field, 'unknown field');
  if (!Array.isArray(value.rules)) return refuse('rules', 'must be an array');
  const rules = value.rules.map((rule: unknown, index) => parseRule(rule, `rules[${index}]`, refuse));
  return scriptOf(rules);
}

type Refuse = (path: string, why: string) => never;

function parseRule(rule: unknown, path: string, refuse: Refuse): ProfileRule {
  if (!isRecord(rule)) return refuse(path, 'must be an object');
  const { match = {}, behaviour = {}, cpu, memory, ...others } = rule;
  for (const field of Object.keys(others)) refuse(`${path}.${field}`, 'unknown field');
  return {
    match: parseMatch(match, `${path}.match`, refuse),
    behaviour: { ...parseRuleBehaviour(behaviour, path, refuse), ...usageOf(cpu, memory, path, refuse) },
  };
}

function parseMatch(match: unknown, path: string, refuse: Refuse): ProfileRule['match'] {
  if (!isRecord(match)) return refuse(path, 'must be an object');
  const patterns = Object.entries(match).map(([field, pattern]) => {
    if (!MATCH_FIELDS.some((known) => known === field)) return refuse(`${path}.${field}`, 'unknown field');
    if (typeof pattern !== 'string') return refuse(`${path}.${field}`, 'must be a pattern such as web-*');
    const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return [field, new RegExp(`^${parts.join('.*')}$`, 's')];
  });
  return Object.fromEntries(patterns);
}

function parseRuleBehaviour(behaviour: unknown, path: string, refuse: Refuse): Behaviour {
  try {
    return parseBehaviour(JSON.stringify(behaviour));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refuse(`${path}.behaviour`, why.replace(`annotation ${BEHAVIOUR_ANNOTATION}: `, ''));
  }
}

function usageOf(cpu: unknown, memory: unknown, path: string, refuse: Refuse): Pick<Behaviour, 'usage'> {
  if (cpu === undefined && memory === undefined) return {};
  return {
    usage: {
      ...(cpu !== undefined && { cpuNanoCores: quantity(cpu, `${path}.cpu`, refuse) * 1e9 }),
      ...(memory !== undefined && { memoryBytes: quantity(memory, `${path}.memory`, refuse) }),
    },
  };
}

function quantity(value: unknown, path: string, refuse: Refuse): number {
  try {
    const amount = Number(parseQuantity(String(value)).milliValue()) / 1000;
    if (amount >= 0) return amount;
  } catch {
    // An invalid quantity is rejected below, as a negative one is.
  }
  return refuse(path, 'must be a quantity that is not negative, such as 50m or 64Mi');
}

function scriptOf(rules: readonly ProfileRule[]): Script {
  return ({ name, image, config, sandboxConfig }) => {
    const annotated = [config.annotations, sandboxConfig.annotations].some((all) => BEHAVIOUR_ANNOTATION in all);
    if (annotated) return undefined;
    const { namespace = '', name: pod = '' } = sandboxConfig.metadata ?? {};
    const fields: Readonly<Record<MatchField, string>> = { namespace, pod, container: name, image };
    return rules.find(({ match }) => MATCH_FIELDS.every((field) => match[field]?.test(fields[field]) ?? true))
      ?.behaviour;
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
