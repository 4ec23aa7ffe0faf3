import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import type { SpecResult } from './specs.ts';

/** What was found beside a failed spec, before the cluster went. */
export interface Evidence {
  readonly spec: string;
  readonly namespace: string;
  /** What is left of its pods: as the kubelet explains them where it can, else their status. */
  readonly pods: readonly { readonly name: string; readonly status: unknown; readonly explanation?: unknown }[];
  readonly events: readonly string[];
  /** Lines of the kubelet's log that name the namespace, the last ones. */
  readonly log: readonly string[];
}

interface Named {
  readonly metadata: { readonly name: string };
}

interface Event {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly involvedObject: { readonly kind?: string; readonly name?: string };
}

const LOG_LINES = 80;

/** The namespace that a spec has logged as its own; `undefined` where it had none. */
export function namespaceOf(output: string): string | undefined {
  return /(?:Collecting events from namespace|namespace) "([a-z0-9-]+-\d+)"/.exec(output)?.[1];
}

/** Looks at what failed specs have left. */
export async function collectEvidence(
  failed: readonly SpecResult[],
  plane: ControlPlane,
  nodeName: string,
  kubeletLog: string,
): Promise<readonly Evidence[]> {
  const found = failed.flatMap((spec) => {
    const namespace = namespaceOf(spec.output);
    return namespace === undefined ? [] : [{ spec, namespace }];
  });
  const logs = await linesOf(
    kubeletLog,
    found.map(({ namespace }) => namespace),
  );
  const evidence: Evidence[] = [];
  for (const { spec, namespace } of found) {
    const path = `/api/v1/namespaces/${namespace}`;
    const pods = await list<Named & { readonly status?: unknown }>(plane, `${path}/pods`);
    const explained = [];
    for (const { metadata, status } of pods) {
      const asked = `/api/v1/nodes/${nodeName}/proxy/debug/explain/${namespace}/${metadata.name}`;
      const explanation = await json(plane, asked);
      explained.push({ name: metadata.name, status, ...(explanation !== undefined && { explanation }) });
    }
    const events = await list<Event>(plane, `${path}/events`);
    evidence.push({
      spec: spec.name,
      namespace,
      pods: explained,
      events: events.map(eventLine),
      log: logs.get(namespace) ?? [],
    });
  }
  return evidence;
}

function eventLine({ type, reason, message, count = 1, involvedObject }: Event): string {
  return `${type} ${reason} ${involvedObject.kind}/${involvedObject.name} (x${count}): ${message}`;
}

async function list<T>(plane: ControlPlane, path: string): Promise<readonly T[]> {
  return ((await json(plane, path)) as { readonly items?: readonly T[] } | undefined)?.items ?? [];
}

/** What is at a path; `undefined` where nothing is, or nobody answers. */
async function json(plane: ControlPlane, path: string): Promise<unknown> {
  const answer = await plane.request('GET', path).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  try {
    return JSON.parse(answer.text);
  } catch {
    return answer.text;
  }
}

/** The last lines of a log that name each of some words. */
async function linesOf(file: string, words: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>(words.map((word) => [word, []]));
  if (words.length === 0) return found;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    for (const [word, lines] of found) {
      if (!line.includes(word)) continue;
      lines.push(line);
      if (lines.length > LOG_LINES) lines.shift();
    }
  }
  return found;
}
