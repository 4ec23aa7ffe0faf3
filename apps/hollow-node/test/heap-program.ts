// Keeps many objects alive while it makes garbage, and prints the sizes of V8's heap in MiB.
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

const MIB = 2 ** 20;
const kept: object[][] = [];
let largestYoung = 0;
for (let round = 0; round < 300; round++) {
  kept[round % 100] = Array.from({ length: 10_000 }, (_, index) => ({ round, index }));
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  largestYoung = Math.max(largestYoung, young?.space_size ?? 0);
}
process.stdout.write(JSON.stringify([largestYoung / MIB, getHeapStatistics().heap_size_limit / MIB]));
