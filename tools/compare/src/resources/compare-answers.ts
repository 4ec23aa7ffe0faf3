import { createHash } from 'node:crypto';
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
] as const satisfies readonly (keyof Answer)[];

/** Compares the descriptions of a node after the same step. State files are compared byte for byte. */
export function compareAnswers(upstream: Answer, ours: Answer): readonly AnswerDifference[] {
  const [theirs, own] = [comparable(upstream), comparable(ours)];
  const found: AnswerDifference[] = [];
  for (const field of new Set([...theirs.keys(), ...own.keys()])) {
    if (isDeepStrictEqual(theirs.get(field), own.get(field))) continue;
    const of = (answer: Answer): unknown => answer.files?.[field] ?? answer[field as keyof Answer];
    found.push({ field, upstream: of(upstream), ours: of(ours) });
  }
  return found;
}

/**
 * Returns a digest of an answer. Two answers between which {@link compareAnswers} finds no difference have the same
 * digest.
 */
export function digestOf(answer: Answer): string {
  const text = JSON.stringify([...comparable(answer)].map(([field, value]) => [field, withSortedKeys(value)]));
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/**
 * Returns the fields and files of an answer that are compared. Empty values are omitted, because Go omits some of them.
 */
function comparable(answer: Answer): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  for (const field of FIELDS) if (!isEmpty(answer[field])) values.set(field, answer[field]);
  for (const name of Object.keys(answer.files ?? {}).sort())
    values.set(name, comparableFile(answer.files?.[name] ?? ''));
  return values;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

interface StateFile {
  readonly entries?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly podEntries?: Readonly<Record<string, { readonly memoryBlocks?: unknown }>>;
}

/**
 * Returns the text of a state file in a comparable form. If a container has several memory blocks, their order and the
 * checksum are removed, because upstream writes the blocks in the random order of a Go map.
 */
function comparableFile(text: string): unknown {
  const file = JSON.parse(text) as StateFile;
  const lists = [
    ...Object.values(file.entries ?? {}).flatMap((containers) => Object.values(containers)),
    ...Object.values(file.podEntries ?? {}).map(({ memoryBlocks }) => memoryBlocks),
  ];
  if (!lists.some((blocks) => Array.isArray(blocks) && blocks.length > 1)) return text;
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

/** Returns a value with the keys of its objects sorted, as Go writes maps. */
function withSortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withSortedKeys);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, withSortedKeys(one)]));
}
