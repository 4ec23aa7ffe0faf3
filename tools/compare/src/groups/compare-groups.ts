import { type Difference, differences } from '../differences.ts';
import type { GroupFiles, Groups } from './read-groups.ts';

/** Result of comparing two cgroup trees. */
export interface GroupComparison {
  /** Number of cgroups of the Go kubelet. On cgroup v1, a cgroup counts once per hierarchy. */
  readonly groups: number;
  readonly files: number;
  readonly unexpected: readonly Difference[];
  readonly intended: readonly (Difference & { readonly why: string })[];
}

/** Intended difference. */
export interface GroupPurpose {
  /** Matches the path of the cgroup and the name of the file: `/kubepods/burstable memory.max`. */
  readonly pattern: RegExp;
  readonly why: string;
}

/** Compares the cgroup trees of both kubelets file by file. */
export function compareGroups(go: Groups, ours: Groups, purposes: readonly GroupPurpose[]): GroupComparison {
  const paths = [...new Set([...go.keys(), ...ours.keys()])].sort();
  const found = paths.flatMap((path) =>
    differences(go.get(path), ours.get(path)).map((one) => ({ ...one, path: `${path} ${one.path}`.trim() })),
  );
  const judged = found.map((one) => ({ ...one, why: purposes.find(({ pattern }) => pattern.test(one.path))?.why }));
  return {
    groups: go.size,
    files: [...go.values()].reduce((sum, files: GroupFiles) => sum + Object.keys(files).length, 0),
    unexpected: judged.flatMap(({ why, ...one }) => (why === undefined ? [one] : [])),
    intended: judged.flatMap(({ why, ...one }) => (why === undefined ? [] : [{ ...one, why }])),
  };
}

/** Formats the differences as paragraphs, followed by a summary line. */
export function groupReport({ groups, files, unexpected, intended }: GroupComparison, all: boolean): string {
  const text = (value: unknown): string => (value === undefined ? '-' : JSON.stringify(value));
  const paragraph = ({ path, go, ours }: Difference, why?: string): string =>
    `${path}\n  Go:   ${text(go)}\n  here: ${text(ours)}${why === undefined ? '' : `\n  (${why})`}`;
  const shown = [
    ...unexpected.map((one) => paragraph(one)),
    ...(all ? intended.map((one) => paragraph(one, one.why)) : []),
  ];
  const sum = `${groups} cgroups, ${files} files: ${unexpected.length} unexpected and ${intended.length} intended differences`;
  return `${[...shown, sum].join('\n')}\n`;
}
