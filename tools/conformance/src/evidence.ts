import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
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

/** What a run leaves beside the suite's own report. */
export interface Findings {
  /** How the kubelet ended, where nobody had told it to. */
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

/** The namespace that a spec has logged as its own; `undefined` where it had none. */
export function namespaceOf(output: string): string | undefined {
  return /(?:Collecting events from namespace|namespace) "([a-z0-9-]+-\d+)"/.exec(output)?.[1];
}

/** Where what failed specs have left is found. */
export interface Witnesses {
  /** What the API server has at a path; `undefined` where it has nothing, or does not answer. */
  api(path: string): Promise<unknown>;
  /** What the kubelet says of a pod; `undefined` where it explains nothing. */
  explain(namespace: string, pod: string): Promise<unknown>;
  readonly kubeletLog: string;
}

/** Looks at what failed specs have left. */
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

/** What a URL answers, as JSON or as text; `undefined` where it does not, or with an error. */
export async function fetched(url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) }).catch(() => undefined);
  if (response?.status !== 200) return undefined;
  return parsed(await response.text());
}

/** A text as JSON, where it is some. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
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
