import type { Frame, Profile } from './profile.ts';

/** A thing under way, in words: what it waits for first, then whose it is. */
export type TaskStack = readonly string[];

/** What a program has under way, as a profile: where Go has goroutines, there are tasks that wait for something. */
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
