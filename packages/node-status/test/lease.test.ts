import { expect, test } from 'vitest';
import { apiMicroTime, apiTime } from '../src/api-time.ts';
import { newLease, renewedLease } from '../src/lease.ts';

const content = { nodeName: 'n1', durationSeconds: 40, nodeUid: 'u1' };
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' };

test('a lease has its node as owner, so that it is deleted with the node', () => {
  expect(newLease(content, 0)).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n1', namespace: 'kube-node-lease', ownerReferences: [owner] },
    spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: '1970-01-01T00:00:00.000000Z' },
  });
  expect(newLease({ ...content, nodeUid: undefined }, 0).metadata).not.toHaveProperty('ownerReferences');
});

test('renewing a lease adds a missing owner and keeps an existing one', () => {
  const lease = newLease({ ...content, nodeUid: undefined }, 0);
  expect(renewedLease(lease, content, 1000)).toEqual({
    ...newLease(content, 1000),
    spec: { ...lease.spec, renewTime: '1970-01-01T00:00:01.000000Z' },
  });
  expect(renewedLease(lease, { ...content, nodeUid: undefined }, 0).metadata).not.toHaveProperty('ownerReferences');
  const owned = { ...lease, metadata: { ...lease.metadata, ownerReferences: [{ ...owner, uid: 'u0' }] } };
  expect(renewedLease(owned, content, 0).metadata.ownerReferences?.[0]?.uid).toBe('u0');
});

test.each([
  [1999.5, '1970-01-01T00:00:01Z', '1970-01-01T00:00:01.999500Z'],
  [1023 / 1024, '1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000999Z'],
  [7, '1970-01-01T00:00:00Z', '1970-01-01T00:00:00.007000Z'],
])('%d ms since 1970 are formatted as %s, and in a lease as %s', (ms, time, micro) => {
  expect([apiTime(ms), apiMicroTime(ms)]).toEqual([time, micro]);
});
