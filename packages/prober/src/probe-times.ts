import { allContainers, type Container, oncePer, type Pod } from '@node-agent/pod-spec';
import { type ProbeKind, probeOf } from './types.ts';

/** Timing and thresholds of a probe. */
export interface ProbeTimes {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/**
 * Annotation of a pod that sets periods and timeouts below the API's resolution of one second. The value is JSON, in
 * milliseconds, by container and kind of probe: `{"web": {"readiness": {"periodMs": 200, "timeoutMs": 100}}}`. Periods
 * must be from 100 to 3,600,000, for exec probes from 1,000; timeouts from 10. Upstream has no such annotation.
 */
export const PROBE_TIMES_ANNOTATION = 'prober.node-agent.dev/times';

/** Lower limit of periods, because probes cost CPU time of the node, not of the pod. */
const MIN_PERIOD_MS = 100;
/** Lower limit for exec probes: the shortest period that the API allows. */
const MIN_COMMAND_PERIOD_MS = 1_000;
const MIN_TIMEOUT_MS = 10;
const MAX_MS = 3_600_000;
const FIELDS = ['periodMs', 'timeoutMs'] as const;
/**
 * Maximum number of reported problems, because an annotation may have tens of thousands of invalid fields of any
 * length.
 */
const MAX_PROBLEMS = 10;
const MAX_NAME_LENGTH = 64;
const KINDS = ['liveness', 'readiness', 'startup'] as const satisfies readonly ProbeKind[];

type Overrides = ReadonlyMap<string, Partial<Record<(typeof FIELDS)[number], number>>>;

/** Returns the timing of a container's probe: from the annotation, else from the spec, else upstream's defaults. */
export function probeTimes(pod: Pick<Pod, 'metadata' | 'spec'>, container: Container, kind: ProbeKind): ProbeTimes {
  const probe = probeOf(container, kind) ?? {};
  const own = overridesOf(pod).overrides.get(`${container.name} ${kind}`) ?? {};
  return {
    initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1000,
    periodMs: own.periodMs ?? (probe.periodSeconds || 10) * 1000,
    timeoutMs: own.timeoutMs ?? (probe.timeoutSeconds || 1) * 1000,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

/**
 * Returns the problems of a pod's annotation, each with the name of the field, at most ten. Invalid fields are ignored.
 */
export function probeTimesProblems(pod: Pick<Pod, 'metadata' | 'spec'>): readonly string[] {
  return overridesOf(pod).problems;
}

const overridesOf = oncePer(
  (pod: Pick<Pod, 'metadata' | 'spec'>): { overrides: Overrides; problems: readonly string[] } => {
    const { metadata } = pod;
    const text = metadata.annotations?.[PROBE_TIMES_ANNOTATION];
    const overrides = new Map<string, Partial<Record<(typeof FIELDS)[number], number>>>();
    const problems: string[] = [];
    if (text === undefined) return { overrides, problems };
    const wrong = (field: string, want: string): void => {
      if (problems.length < MAX_PROBLEMS)
        problems.push(`metadata.annotations[${PROBE_TIMES_ANNOTATION}]${field}: ${want}`);
    };
    const byName = new Map(Array.from(allContainers(pod), ({ container }) => [container.name, container]));
    for (const [container, kinds] of fieldsOf(parsed(text), '', wrong)) {
      for (const [kindName, times] of fieldsOf(kinds, `.${named(container)}`, wrong)) {
        const at = `.${named(container)}.${named(kindName)}`;
        const kind = KINDS.find((known) => known === kindName);
        if (kind === undefined) {
          wrong(at, 'must be liveness, readiness or startup');
          continue;
        }
        for (const [field, value] of fieldsOf(times, at, wrong)) {
          const known = FIELDS.find((name) => name === field);
          const least = known === 'periodMs' ? leastPeriodMs(byName.get(container), kind) : MIN_TIMEOUT_MS;
          if (known === undefined) wrong(`${at}.${named(field)}`, `must be ${FIELDS.join(' or ')}`);
          else if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > MAX_MS) {
            wrong(`${at}.${field}`, `must be a whole number from ${least} to ${MAX_MS}`);
          } else {
            const key = `${container} ${kind}`;
            overrides.set(key, { ...overrides.get(key), [known]: value });
          }
        }
      }
    }
    return { overrides, problems };
  },
);

function leastPeriodMs(container: Container | undefined, kind: ProbeKind): number {
  const isCommand = container !== undefined && probeOf(container, kind)?.exec != null;
  return isCommand ? MIN_COMMAND_PERIOD_MS : MIN_PERIOD_MS;
}

function named(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH)}...`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown, at: string, wrong: (field: string, want: string) => void): [string, unknown][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  wrong(at, 'must be a JSON object');
  return [];
}
