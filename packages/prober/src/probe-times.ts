import { allContainers, type Container, oncePer, type Pod } from '@node-agent/pod-spec';
import { type ProbeKind, probeOf } from './types.ts';

/** How often a probe is made and what its results need to count. */
export interface ProbeTimes {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/**
 * The annotation of a pod that sets periods and timeouts which the API, in whole seconds, cannot: JSON, in milliseconds, by container and
 * kind of probe: `{"web": {"readiness": {"periodMs": 200, "timeoutMs": 100}}}`. Periods are from 100 to 3,600,000, those of commands from
 * 1,000, timeouts from 10. Not upstream's.
 */
export const PROBE_TIMES_ANNOTATION = 'prober.node-agent.dev/times';

/** Probes are paid for by the node, not by their pod. */
const MIN_PERIOD_MS = 100;
/** As often as the API lets them be run. */
const MIN_COMMAND_PERIOD_MS = 1_000;
const MIN_TIMEOUT_MS = 10;
const MAX_MS = 3_600_000;
const FIELDS = ['periodMs', 'timeoutMs'] as const;
/** An annotation may have tens of thousands of wrong fields, of any length. */
const MAX_TOLD = 10;
const MAX_NAME_LENGTH = 64;
const KINDS = ['liveness', 'readiness', 'startup'] as const satisfies readonly ProbeKind[];

type Overrides = ReadonlyMap<string, Partial<Record<(typeof FIELDS)[number], number>>>;

/** The times of a container's probe: its spec's, or upstream's defaults, and over them what the pod's annotation says. */
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

/** What is wrong with a pod's annotation, with the name of the field, ten of them at most; what is wrong counts for nothing. */
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
      if (problems.length < MAX_TOLD) problems.push(`metadata.annotations[${PROBE_TIMES_ANNOTATION}]${field}: ${want}`);
    };
    const byName = new Map(Array.from(allContainers(pod), ({ container }) => [container.name, container]));
    for (const [container, kinds] of fieldsOf(parsed(text), '', wrong)) {
      for (const [kindName, times] of fieldsOf(kinds, `.${named(container)}`, wrong)) {
        const at = `.${named(container)}.${named(kindName)}`;
        const kind = KINDS.find((known) => known === kindName);
        if (kind === undefined) {
          wrong(at, 'want liveness, readiness or startup');
          continue;
        }
        for (const [field, value] of fieldsOf(times, at, wrong)) {
          const known = FIELDS.find((name) => name === field);
          const least = known === 'periodMs' ? leastPeriodMs(byName.get(container), kind) : MIN_TIMEOUT_MS;
          if (known === undefined) wrong(`${at}.${named(field)}`, `want ${FIELDS.join(' or ')}`);
          else if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > MAX_MS) {
            wrong(`${at}.${field}`, `want a whole number from ${least} to ${MAX_MS}`);
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
  wrong(at, 'want a JSON object');
  return [];
}
