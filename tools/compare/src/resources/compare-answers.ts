import { isDeepStrictEqual } from 'node:util';
import type { Answer } from './sequence.ts';

/** A field in which the two sides differ. */
export interface AnswerDifference {
  readonly field: string;
  readonly upstream: unknown;
  readonly ours: unknown;
}

const FIELDS = [
  'error',
  'admit',
  'reason',
  'message',
  'affinity',
  'exclusive',
  'memory',
  'allocatableCPUs',
  'allocatableMemory',
] as const;

/** Compares the descriptions of a node after the same step. State files are compared byte for byte. */
export function compareAnswers(upstream: Answer, ours: Answer): readonly AnswerDifference[] {
  const found: AnswerDifference[] = [];
  for (const field of FIELDS) {
    // Go leaves empty values out.
    if (isDeepStrictEqual(upstream[field] ?? undefined, emptyAsAbsent(ours[field]))) continue;
    if (isDeepStrictEqual(emptyAsAbsent(upstream[field]), emptyAsAbsent(ours[field]))) continue;
    found.push({ field, upstream: upstream[field], ours: ours[field] });
  }
  for (const name of new Set([...Object.keys(upstream.files ?? {}), ...Object.keys(ours.files ?? {})])) {
    const [theirs, own] = [upstream.files?.[name], ours.files?.[name]];
    if (theirs !== own && (theirs === undefined || own === undefined || !differInOrderOnly(theirs, own))) {
      found.push({ field: name, upstream: theirs, ours: own });
    }
  }
  return found;
}

function emptyAsAbsent(value: unknown): unknown {
  if (value === '' || value === null) return undefined;
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return undefined;
  return value;
}

/**
 * Returns whether two state files differ only in the order of the memory blocks of a container, and in the checksum
 * over them: upstream's order is that of a Go map, which is random.
 */
function differInOrderOnly(a: string, b: string): boolean {
  return isDeepStrictEqual(inOrder(JSON.parse(a)), inOrder(JSON.parse(b)));
}

function inOrder(file: { readonly entries?: Readonly<Record<string, Readonly<Record<string, unknown>>>> }): unknown {
  const sorted = (blocks: unknown): unknown =>
    Array.isArray(blocks) ? blocks.map((block) => JSON.stringify(block)).sort() : blocks;
  const hasSeveral = Object.values(file.entries ?? {}).some((containers) =>
    Object.values(containers).some((blocks) => Array.isArray(blocks) && blocks.length > 1),
  );
  if (!hasSeveral) return file;
  const entries = Object.entries(file.entries ?? {}).map(([pod, containers]) => [
    pod,
    Object.fromEntries(Object.entries(containers).map(([name, blocks]) => [name, sorted(blocks)])),
  ]);
  return { ...file, entries: Object.fromEntries(entries), checksum: undefined };
}
