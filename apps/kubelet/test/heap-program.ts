import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { type HeapSize, heapFlags } from '../src/process/heap-size.ts';

/** Returns the size of the young generation in MiB after creating many objects and keeping some of them for a while. */
function youngMiB(size: HeapSize): number {
  for (const flag of heapFlags(size)) setFlagsFromString(flag);
  for (let round = 0; round < 40; round++) Array.from({ length: 20_000 }, (_, index) => ({ index }));
  globalThis.gc?.();
  for (let round = 0; round < 40; round++) Array.from({ length: 20_000 }, (_, index) => ({ index }));
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  return (young?.space_size ?? 0) / 2 ** 20;
}

process.stdout.write(JSON.stringify([youngMiB('large'), youngMiB('small'), youngMiB('roomy'), youngMiB('small')]));
