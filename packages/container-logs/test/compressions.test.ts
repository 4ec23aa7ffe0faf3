import { describe, expect, it } from 'vitest';
import { Compressions } from '../src/compressions.ts';
import type { ContainerLog } from '../src/rotate.ts';

const { signal } = new AbortController();
const log = (containerId: string): ContainerLog => ({ containerId, path: `/logs/${containerId}` });

/** Creates a queue of compressions. Each compression ends when the test ends it. */
function gated(limit: number) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const compressions = new Compressions(({ containerId }) => {
    begun.push(containerId);
    return new Promise((resolve) => ends.set(containerId, resolve));
  }, limit);
  const end = async (containerId: string): Promise<void> => {
    ends.get(containerId)?.();
    await new Promise(setImmediate);
  };
  return { begun, compressions, end };
}

describe('N7: compressions concurrent with log rotation', () => {
  it('N7: compressions run with as many workers as allowed, in order of arrival', async () => {
    const { begun, compressions, end } = gated(2);
    for (const id of ['a', 'b', 'c', 'd']) compressions.add(log(id), signal);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('N7: a rotated log is compressed by one task at a time, and once more if compression became due during that task', async () => {
    const { begun, compressions, end } = gated(2);
    for (const id of ['a', 'a', 'a', 'b']) compressions.add(log(id), signal);
    expect(begun).toEqual(['a', 'b']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'a']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'a']);
  });

  it('N7: compressions end when none is due, and later requests after the end are ignored', async () => {
    const { begun, compressions, end } = gated(1);
    await compressions.ended();
    const ending = new AbortController();
    for (const id of ['a', 'b']) compressions.add(log(id), ending.signal);
    let hasEnded = false;
    const ended = compressions.ended().then(() => {
      hasEnded = true;
    });
    ending.abort();
    await new Promise(setImmediate);
    expect(hasEnded).toBe(false);
    await end('a');
    await ended;
    expect(begun).toEqual(['a']);
  });
});
