import type { Case } from './cases/index.ts';
import { type Difference, differences, type Json, leavesOf } from './differences.ts';
import { normalise, normaliseText } from './normalise.ts';
import { byName, eventsOf, plain, statusOf, told } from './observed.ts';
import { onPurpose, type Purpose } from './on-purpose.ts';
import type { Found, NodeJson } from './side.ts';

/** A difference, of which pod (or `node`), and what it is for where that is known. */
export interface Judged extends Difference {
  readonly of: string;
  readonly purpose: Purpose | undefined;
}

/** What a comparison came to. */
export interface Comparison {
  readonly pods: number;
  /** How many values of the Go kubelet's were looked at. */
  readonly values: number;
  readonly differences: readonly Judged[];
}

/** Compares what was found of both sides. */
export function compare(cases: readonly Case[], go: Found, ours: Found): Comparison {
  const theirs = documentsOf(cases, go);
  const own = documentsOf(cases, ours);
  const found = [...new Set([...theirs.keys(), ...own.keys()])].flatMap((of) =>
    differences(theirs.get(of) ?? null, own.get(of) ?? null).map((difference) => judged(of, difference)),
  );
  const values = [...theirs.values()].map(leavesOf).reduce((sum, leaves) => sum + leaves, 0);
  return { pods: cases.length, values, differences: found };
}

function judged(of: string, difference: Difference): Judged {
  const text = `${of}: ${difference.path}`;
  const theirs = JSON.stringify(difference.go) ?? '';
  const purpose = onPurpose.find(({ pattern, go }) => pattern.test(text) && (go?.test(theirs) ?? true));
  return { ...difference, of, purpose };
}

function documentsOf(cases: readonly Case[], found: Found): ReadonlyMap<string, Json> {
  const { names } = found;
  const [nodeName = ''] = Object.keys(names);
  const pods = byName(found.pods);
  const events = eventsOf(
    found.events.map((event) => ({ ...event, message: normaliseText(event.message ?? '', names) })),
  );
  const documents = cases.map(({ name, loops, isStatic }): [string, Json] => {
    const shown = isStatic ? `${name}-${nodeName}` : name;
    const { metadata, spec, status } = pods.get(shown) ?? {};
    const runtime = [...found.runtime].filter(([key]) => key === shown || key.startsWith(`${shown}/`));
    const document = {
      annotations: metadata?.annotations,
      finalizers: metadata?.finalizers,
      // Of a mirror pod all of it is the kubelet's work.
      ...(isStatic && { metadata, spec }),
      status: statusOf(status, loops),
      events: told(events.get(shown) ?? []),
      runtime: Object.fromEntries(runtime),
    };
    return [name, normalise(plain(document), names)];
  });
  const node = { ...withConditionsByType(found.node), events: told(events.get(nodeName) ?? []) };
  return new Map([...documents, ['node', normalise(plain(node), names)]]);
}

function withConditionsByType({ status, ...node }: NodeJson): object {
  const { conditions = [], ...rest } = status ?? {};
  const byType = Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
  return { ...node, status: { ...rest, conditions: byType } };
}
