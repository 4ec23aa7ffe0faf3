import type { PodView } from './pod-view.ts';

/**
 * Compares two states of the pods and returns one line per change: first the pods that are gone, then the others in the
 * order of `after`.
 */
export function diffLines(before: readonly PodView[], after: readonly PodView[]): readonly string[] {
  const known = new Map(before.map((pod) => [pod.uid, pod]));
  const there = new Set(after.map(({ uid }) => uid));
  const gone = before.filter(({ uid }) => !there.has(uid)).map(({ name }) => `${name}: gone`);
  return [...gone, ...after.flatMap((pod) => changes(known.get(pod.uid), pod))];
}

function changes(before: PodView | undefined, after: PodView): readonly string[] {
  const { name } = after;
  const lines: string[] = [];
  if (before === undefined) lines.push(`${name}: new, ${after.phase}`);
  else if (before.phase !== after.phase) lines.push(`${name}: phase ${arrow(before.phase, after.phase)}`);
  if (after.ip !== '' && before?.ip !== after.ip) lines.push(`${name}: IP ${after.ip}`);
  const states = new Map(before?.containers.map((container) => [container.name, container.state]));
  for (const container of after.containers) {
    const was = states.get(container.name);
    if (was !== container.state) lines.push(`${name}: container ${container.name} ${arrow(was, container.state)}`);
  }
  if (before !== undefined && before.ready !== after.ready) {
    lines.push(`${name}: ready ${arrow(before.ready, after.ready)}`);
  }
  if (before !== undefined && before.restarts !== after.restarts) {
    lines.push(`${name}: restarts ${arrow(String(before.restarts), String(after.restarts))}`);
  }
  return lines;
}

function arrow(before: string | undefined, after: string): string {
  return before === undefined ? after : `${before} -> ${after}`;
}
