import { expect, test } from 'vitest';
import { Kubelet } from '../src/index.ts';

test.each([
  [{ syncPeriodMs: 0 }, 'syncPeriodMs must be above 0, not 0'],
  [{ housekeepingPeriodMs: 0 }, 'housekeepingPeriodMs must be above 0, not 0'],
  [{ runtimeStatusPeriodMs: 0 }, 'runtimeStatusPeriodMs must be above 0, not 0'],
  [{ runtimeUpThresholdMs: 0 }, 'runtimeUpThresholdMs must be above 0, not 0'],
  [{ containerGcPeriodMs: 0 }, 'containerGcPeriodMs must be above 0, not 0'],
  [{ imageGcPeriodMs: 0 }, 'imageGcPeriodMs must be above 0, not 0'],
  [{ syncFrequencyMs: 0 }, 'syncFrequencyMs must be above 0, not 0'],
])('Kubelet rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new Kubelet({} as never, { configuration: {}, nodeRef: {}, ...options } as never)).toThrow(message);
});
