import type { Frame, Profile } from './profile.ts';

/** A pending task as a stack of names: first the event that the task waits for, then its owner. */
export type TaskStack = readonly string[];

/** Returns the pending tasks of this program as a profile. The profile takes the place of Go's `goroutine` profile. */
export function taskProfile(tasks: Iterable<TaskStack>, timeMs: number): Profile {
  const counts = new Map<string, { readonly stack: readonly Frame[]; count: number }>();
  for (const task of tasks) {
    const key = JSON.stringify(task);
    const known = counts.get(key) ?? { stack: task.map((name) => ({ name, file: '', line: 0 })), count: 0 };
    known.count++;
    counts.set(key, known);
  }
  return {
    sampleTypes: [{ type: 'goroutine', unit: 'count' }],
    defaultType: 'goroutine',
    period: { type: 'goroutine', unit: 'count', value: 1 },
    timeMs,
    samples: [...counts.values()].map(({ stack, count }) => ({ stack, values: [count] })),
  };
}
