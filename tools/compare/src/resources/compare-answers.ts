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

interface StateFile {
  readonly entries?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly podEntries?: Readonly<Record<string, { readonly memoryBlocks?: unknown }>>;
}

function inOrder(file: StateFile): unknown {
  const lists = [
    ...Object.values(file.entries ?? {}).flatMap((containers) => Object.values(containers)),
    ...Object.values(file.podEntries ?? {}).map(({ memoryBlocks }) => memoryBlocks),
  ];
  if (!lists.some((blocks) => Array.isArray(blocks) && blocks.length > 1)) return file;
  const entries = mapped(file.entries, (containers) => mapped(containers, sorted));
  const podEntries = mapped(file.podEntries, (entry) => ({ ...entry, memoryBlocks: sorted(entry.memoryBlocks) }));
  return { ...file, entries, podEntries, checksum: undefined };
}

function sorted(blocks: unknown): unknown {
  return Array.isArray(blocks) ? blocks.map((block) => JSON.stringify(block)).sort() : blocks;
}

function mapped<T>(values: Readonly<Record<string, T>> | undefined, change: (value: T) => unknown): unknown {
  return values && Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
