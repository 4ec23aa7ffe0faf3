import type { PodStatus } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { withStatus } from '../src/pods/with-status.ts';
import { makePod } from './fakes.ts';

const OWN: PodStatus = { phase: 'Running' };
const CLAIMS: PodStatus = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'a-gpu' }] };
const EXTENDED: PodStatus = { extendedResourceClaimStatus: { resourceClaimName: 'a-x', requestMappings: [] } };

test.each<readonly [string, PodStatus, PodStatus]>([
  ['takes the kubelet’s status', { phase: 'Pending' }, OWN],
  ['keeps the names of claims', { phase: 'Pending', ...CLAIMS }, { ...OWN, ...CLAIMS }],
  ['keeps the claim of extended resources', { ...CLAIMS, ...EXTENDED }, { ...OWN, ...CLAIMS, ...EXTENDED }],
])('withStatus replaces the status of a pod and %s', (_, before, expected) => {
  expect(withStatus({ ...makePod('a'), status: before }, OWN).status).toEqual(expected);
});
