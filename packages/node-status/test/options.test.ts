import { expect, test } from 'vitest';
import { NodeLease, NodeStatusManager } from '../src/index.ts';

const NODE = { nodeName: 'n1', hostname: 'n1', kubeletVersion: 'v1.36.3', architecture: 'amd64' };

test.each([
  [{ maxPods: -1 }, 'maxPods must be a whole number of at least 0, not -1'],
  [{ podsPerCore: -1 }, 'podsPerCore must be a whole number of at least 0, not -1'],
  [{ maxImages: 0.5 }, 'maxImages must be a whole number, not 0.5'],
  [{ kubeletPort: 65_536 }, 'kubeletPort must be a whole number from 0 to 65535, not 65536'],
  [{ updateFrequencyMs: 0 }, 'updateFrequencyMs must be above 0, not 0'],
  [{ reportFrequencyMs: 0 }, 'reportFrequencyMs must be above 0, not 0'],
  [{ requestTimeoutMs: 0 }, 'requestTimeoutMs must be above 0, not 0'],
  [{ factPatienceMs: -1 }, 'factPatienceMs must be at least 0, not -1'],
])('the node status manager rejects the options %j with an error that names the invalid one', (options, message) => {
  expect(() => new NodeStatusManager({} as never, { ...NODE, ...options })).toThrow(message);
});

test.each([
  [{ leaseDurationSeconds: 0 }, 'leaseDurationSeconds must be above 0, not 0'],
  [{ requestTimeoutMs: 0 }, 'requestTimeoutMs must be above 0, not 0'],
])('the node lease rejects the options %j with an error that names the invalid one', (options, message) => {
  expect(() => new NodeLease({} as never, { nodeName: 'n1', ...options })).toThrow(message);
});
