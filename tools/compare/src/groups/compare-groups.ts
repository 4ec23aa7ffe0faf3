import { type Difference, differences } from '../differences.ts';
import type { GroupFiles, Groups } from './read-groups.ts';

/** What a comparison of two trees came to. */
export interface GroupComparison {
  /** Groups of the Go kubelet; on cgroup v1 one that is in seven hierarchies counts seven times. */
  readonly groups: number;
  readonly files: number;
  readonly unknown: readonly Difference[];
  readonly meant: readonly (Difference & { readonly why: string })[];
}

/** A difference that is meant. */
export interface GroupPurpose {
  /** Of the path of the group and the name of the file: `/kubepods/burstable memory.max`. */
  readonly pattern: RegExp;
  readonly why: string;
}

/** Compares the trees of both kubelets file by file. */
export function compareGroups(go: Groups, ours: Groups, purposes: readonly GroupPurpose[]): GroupComparison {
  const paths = [...new Set([...go.keys(), ...ours.keys()])].sort();
  const found = paths.flatMap((path) =>
    differences(go.get(path), ours.get(path)).map((one) => ({ ...one, path: `${path} ${one.path}`.trim() })),
  );
  const judged = found.map((one) => ({ ...one, why: purposes.find(({ pattern }) => pattern.test(one.path))?.why }));
  return {
    groups: go.size,
    files: [...go.values()].reduce((sum, files: GroupFiles) => sum + Object.keys(files).length, 0),
    unknown: judged.flatMap(({ why, ...one }) => (why === undefined ? [one] : [])),
    meant: judged.flatMap(({ why, ...one }) => (why === undefined ? [] : [{ ...one, why }])),
  };
}

/** The differences, a paragraph each, and how many there are. */
export function groupReport({ groups, files, unknown, meant }: GroupComparison, all: boolean): string {
  const text = (value: unknown): string => (value === undefined ? '-' : JSON.stringify(value));
  const paragraph = ({ path, go, ours }: Difference, why?: string): string =>
    `${path}\n  Go:   ${text(go)}\n  here: ${text(ours)}${why === undefined ? '' : `\n  (${why})`}`;
  const shown = [...unknown.map((one) => paragraph(one)), ...(all ? meant.map((one) => paragraph(one, one.why)) : [])];
  const sum = `${groups} groups, ${files} files: ${unknown.length} differ, and ${meant.length} are meant to`;
  return `${[...shown, sum].join('\n')}\n`;
}
