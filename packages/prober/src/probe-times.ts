import type { Container, Pod } from '@node-agent/pod-spec';
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
 * The annotation of a pod that sets periods and timeouts which the API, in whole seconds, cannot: JSON, in milliseconds, from 10 to
 * 3,600,000, by container and kind of probe: `{"web": {"readiness": {"periodMs": 200, "timeoutMs": 100}}}`. Not upstream's.
 */
export const PROBE_TIMES_ANNOTATION = 'prober.node-agent.dev/times';

const MIN_MS = 10;
const MAX_MS = 3_600_000;
const FIELDS = ['periodMs', 'timeoutMs'] as const;
const KINDS: ReadonlySet<string> = new Set<ProbeKind>(['liveness', 'readiness', 'startup']);

type Overrides = ReadonlyMap<string, Partial<Record<(typeof FIELDS)[number], number>>>;

/** The times of a container's probe: its spec's, or upstream's defaults, and over them what the pod's annotation says. */
export function probeTimes(pod: Pick<Pod, 'metadata'>, container: Container, kind: ProbeKind): ProbeTimes {
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

/** What is wrong with a pod's annotation, with the name of the field; what is wrong counts for nothing. */
export function probeTimesProblems(pod: Pick<Pod, 'metadata'>): readonly string[] {
  return overridesOf(pod).problems;
}

function overridesOf({ metadata }: Pick<Pod, 'metadata'>): { overrides: Overrides; problems: readonly string[] } {
  const text = metadata.annotations?.[PROBE_TIMES_ANNOTATION];
  const overrides = new Map<string, Partial<Record<(typeof FIELDS)[number], number>>>();
  const problems: string[] = [];
  if (text === undefined) return { overrides, problems };
  const wrong = (field: string, want: string): void => {
    problems.push(`metadata.annotations[${PROBE_TIMES_ANNOTATION}]${field}: ${want}`);
  };
  for (const [container, kinds] of fieldsOf(parsed(text), '', wrong)) {
    for (const [kind, times] of fieldsOf(kinds, `.${container}`, wrong)) {
      const at = `.${container}.${kind}`;
      if (!KINDS.has(kind)) {
        wrong(at, 'want liveness, readiness or startup');
        continue;
      }
      for (const [field, value] of fieldsOf(times, at, wrong)) {
        const known = FIELDS.find((name) => name === field);
        if (known === undefined) wrong(`${at}.${field}`, `want ${FIELDS.join(' or ')}`);
        else if (typeof value !== 'number' || !Number.isInteger(value) || value < MIN_MS || value > MAX_MS) {
          wrong(`${at}.${field}`, `want a whole number from ${MIN_MS} to ${MAX_MS}`);
        } else {
          const key = `${container} ${kind}`;
          overrides.set(key, { ...overrides.get(key), [known]: value });
        }
      }
    }
  }
  return { overrides, problems };
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
