import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { qosMemoryProtection } from '../src/memory-qos.ts';
import { qosMemoryLimits } from '../src/qos-reserve.ts';
import { bestEffort, container, guaranteed, makePod } from './pods.ts';

test('the memory protection and limits of the QoS cgroups read the spec of an unchanged pod only for the first call', () => {
  let reads = 0;
  const counted = (pod: Pod): Pod => ({
    metadata: pod.metadata,
    get spec() {
      reads += 1;
      return pod.spec;
    },
  });
  const burstable = makePod('b', [container('c', { memory: '20Mi' })]);
  const pods = [guaranteed('g'), burstable, bestEffort('e')].map(counted);
  const both = (): unknown => [
    qosMemoryProtection(pods, 'TieredReservation'),
    qosMemoryLimits(pods, { memoryPercent: 50, allocatableBytes: 100n * 2n ** 20n }),
  ];
  const first = both();
  expect(reads).toBeGreaterThan(0);
  reads = 0;
  expect(both()).toEqual(first);
  expect(reads).toBe(0);
});
