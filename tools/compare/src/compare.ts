import type { Case } from './cases/index.ts';
import { type Difference, differences, type Json, leavesOf } from './differences.ts';
import { normalise, normaliseText } from './normalise.ts';
import { asKeys, byName, eventsOf, plain, statusOf } from './observed.ts';
import { onPurpose, type Purpose } from './on-purpose.ts';
import type { Found, NodeJson } from './side.ts';

/** Difference with the name of its pod (or `node`) and, if the difference is intended, the reason. */
export interface Judged extends Difference {
  readonly of: string;
  readonly purpose: Purpose | undefined;
}

/** Result of a comparison. */
export interface Comparison {
  readonly pods: number;
  /** Number of compared values of the Go kubelet. */
  readonly values: number;
  readonly differences: readonly Judged[];
}

/** Compares the findings of both sides. */
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
      // The metadata and spec of a static pod are compared too, because the kubelet creates its whole mirror pod.
      ...(isStatic && { metadata, spec }),
      status: statusOf(status, loops),
      events: asKeys(events.get(shown) ?? []),
      runtime: Object.fromEntries(runtime),
      ...(found.storage.has(shown) && { csi: found.storage.get(shown) }),
    };
    return [name, normalise(plain(document), names)];
  });
  const node = { ...withConditionsByType(found.node), events: asKeys(events.get(nodeName) ?? []) };
  return new Map([...documents, ['node', normalise(plain(node), names)]]);
}

function withConditionsByType({ status, ...node }: NodeJson): object {
  const { conditions = [], ...rest } = status ?? {};
  const byType = Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
  return { ...node, status: { ...rest, conditions: byType } };
}
