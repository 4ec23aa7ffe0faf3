import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { SpecResult } from './specs.ts';

/** State that a failed spec left behind, collected before the cluster is removed. */
export interface Evidence {
  readonly spec: string;
  readonly namespace: string;
  /** Pods that are left in the spec's namespace: the kubelet's explanation if available, otherwise the pod's status. */
  readonly pods: readonly { readonly name: string; readonly status: unknown; readonly explanation?: unknown }[];
  readonly events: readonly string[];
  /** Last lines of the kubelet's log that contain the namespace. */
  readonly log: readonly string[];
}

/** Findings of a run in addition to the suite's own report. */
export interface Findings {
  /** Exit of the kubelet as text, if the kubelet exited unexpectedly. */
  readonly kubeletEnded?: string | undefined;
  readonly evidence: readonly Evidence[];
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

/** Returns the namespace that a spec logged as its own; `undefined` if there is none. */
export function namespaceOf(output: string): string | undefined {
  return /(?:Collecting events from namespace|namespace) "([a-z0-9-]+-\d+)"/.exec(output)?.[1];
}

/** Sources of evidence for failed specs. */
export interface Witnesses {
  /** Returns the API server's response for a path; `undefined` if there is none. */
  api(path: string): Promise<unknown>;
  /** Returns the kubelet's explanation of a pod; `undefined` if there is none. */
  explain(namespace: string, pod: string): Promise<unknown>;
  readonly kubeletLog: string;
}

/** Collects the evidence for failed specs. */
export async function collectEvidence(
  failed: readonly SpecResult[],
  { api, explain, kubeletLog }: Witnesses,
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
    const pods = await list<Named & { readonly status?: unknown }>(api, `${path}/pods`);
    const explained = [];
    for (const { metadata, status } of pods) {
      const explanation = await explain(namespace, metadata.name);
      explained.push({ name: metadata.name, status, ...(explanation !== undefined && { explanation }) });
    }
    const events = await list<Event>(api, `${path}/events`);
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

async function list<T>(api: Witnesses['api'], path: string): Promise<readonly T[]> {
  return ((await api(path)) as { readonly items?: readonly T[] } | undefined)?.items ?? [];
}

/**
 * Fetches a URL and returns the response as JSON or text; `undefined` if the request fails or the status is not 200.
 */
export async function fetched(url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) }).catch(() => undefined);
  if (response?.status !== 200) return undefined;
  return parsed(await response.text());
}

/** Parses a text as JSON; returns the text itself if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns, for each word, the last lines of a log that contain the word. */
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
