import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { admitPod } from '../src/admit/admit-pod.ts';
import { unsupportedFeatureHandler } from '../src/admit/unsupported-features.ts';
import { RuntimeState } from '../src/node/runtime-state.ts';
import { pastActiveDeadline } from '../src/pods/active-deadline.ts';
import type { RuntimeReadiness } from '../src/ports.ts';
import { failingHandler, syncLoopFault } from '../src/sync/loop-health.ts';
import { makePod } from './fakes.ts';

describe('pastActiveDeadline', () => {
  const start = Date.UTC(2026, 0, 1);
  const status = { startTime: '2026-01-01T00:00:00Z' };
  const pod = makePod('a', { spec: { activeDeadlineSeconds: 10 } });

  test.each([
    ['before the deadline', pod, status, start + 9_999, false],
    ['at the deadline', pod, status, start + 10_000, true],
    ['without a deadline', makePod('a'), status, start + 1e9, false],
    ['before the pod has started', pod, {}, start + 1e9, false],
    ['with an invalid start time', pod, { startTime: 'soon' }, start + 1e9, false],
  ])('a pod counts as past its activeDeadlineSeconds %s: $4', (_name, tested, withStatus, nowMs, expected) => {
    expect(pastActiveDeadline(tested, withStatus, nowMs)).toBe(expected);
  });
});

describe('admission of pods', () => {
  const features = { probes: false, lifecycleHooks: false, userNamespaces: false, resourceClaims: false };

  test('a pod is rejected by the first admit handler that rejects it, and later handlers are not called', () => {
    const refuse = { admit: () => ({ admit: false, reason: 'First', message: 'no' }) as const };
    const never = {
      admit: () => {
        throw new Error('asked');
      },
    };
    expect(
      admitPod(
        [{ admit: () => ({ admit: true }) }, refuse, never],
        makePod('a'),
        () => [],
        new AbortController().signal,
      ),
    ).toEqual({
      admit: false,
      reason: 'First',
      message: 'no',
    });
  });

  test('the rejection of a pod names each unsupported field', () => {
    const pod = makePod('a', {
      spec: {
        hostUsers: false,
        containers: [{ name: 'a' }, { name: 'b', livenessProbe: {}, lifecycle: { preStop: {} } }],
      },
    });
    const result = unsupportedFeatureHandler(features).admit(pod);
    expect(result).toEqual({
      admit: false,
      reason: 'UnsupportedFeature',
      message:
        'this kubelet does not support spec.containers[1].livenessProbe, spec.containers[1].lifecycle.preStop, spec.hostUsers=false',
    });
    const all = { probes: true, lifecycleHooks: true, userNamespaces: true, resourceClaims: true };
    expect(unsupportedFeatureHandler(all).admit(pod)).toEqual({ admit: true });
  });

  test.each([
    ['livenessProbe', { livenessProbe: {} }],
    ['readinessProbe', { readinessProbe: {} }],
    ['startupProbe', { startupProbe: {} }],
    ['lifecycle.postStart', { lifecycle: { postStart: {} } }],
    ['lifecycle.preStop', { lifecycle: { preStop: {} } }],
  ])('the handler for unsupported features rejects a container or init container with %s', (field, more) => {
    const refused = (spec: object): unknown =>
      unsupportedFeatureHandler(features).admit(makePod('a', { spec: { containers: [{ name: 'a' }], ...spec } }));
    const message = (group: string): object => ({
      ...{ admit: false, message: `this kubelet does not support spec.${group}[0].${field}` },
    });
    expect(refused({ containers: [{ name: 'a', ...more }] })).toMatchObject(message('containers'));
    expect(refused({ initContainers: [{ name: 'i', ...more }] })).toMatchObject(message('initContainers'));
  });

  test('the handler for unsupported features rejects pods with resource claims if the kubelet has no ResourceClaim manager', () => {
    const claims = [{ name: 'gpu', request: 'one' }];
    const pod = makePod('a', {
      spec: {
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpus' }],
        containers: [{ name: 'a', resources: { claims } }],
      },
    });
    expect(unsupportedFeatureHandler({ ...features, probes: true }).admit(pod)).toEqual({
      admit: false,
      reason: 'UnsupportedFeature',
      message: 'this kubelet does not support spec.containers[0].resources.claims, spec.resourceClaims',
    });
    const mapped = { containerName: 'a', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' };
    const extendedResourceClaimStatus = { resourceClaimName: 'a-x', requestMappings: [mapped] };
    expect(
      unsupportedFeatureHandler({ ...features, probes: true }).admit({
        ...makePod('b'),
        status: { extendedResourceClaimStatus },
      }),
    ).toMatchObject({ message: 'this kubelet does not support status.extendedResourceClaimStatus' });
  });
});

describe('RuntimeState', () => {
  const ok = { ok: true, reason: '', message: '' };
  const ready: RuntimeReadiness = { runtimeReady: ok, networkReady: ok };

  test('RuntimeState reports errors of the runtime before its first status response, and none afterwards', () => {
    const state = new RuntimeState(new FakeClock(), 30_000);
    expect(state.errors()).toEqual(['container runtime status check may not have completed yet']);
    expect(state.networkError()).toBe('network state unknown');
    state.update(ready);
    expect(state.errors()).toEqual([]);
    expect(state.networkError()).toBeUndefined();
  });

  test('K2: a runtime that does not respond counts as down after the threshold, and as up with its next response', async () => {
    const clock = new FakeClock();
    const state = new RuntimeState(clock, 30_000);
    state.update(ready);
    await clock.advance(29_999);
    expect(state.errors()).toEqual([]);
    await clock.advance(1);
    expect(state.errors()).toEqual(['container runtime is down']);
    state.update(ready);
    expect(state.errors()).toEqual([]);
  });

  test("K2: RuntimeState reports the problems in the runtime's own status", () => {
    const state = new RuntimeState(new FakeClock(), 30_000);
    state.update({ ...ready, networkReady: { ok: false, reason: 'NoCni', message: 'cni plugin not initialized' } });
    expect(state.errors()).toEqual([]);
    expect(state.networkError()).toBe(
      'container runtime network not ready: NetworkReady=false reason:NoCni message:cni plugin not initialized',
    );
    state.update({ ...ready, runtimeReady: { ok: false, reason: 'Broken', message: 'no shim' } });
    expect(state.errors()).toEqual(['container runtime not ready: RuntimeReady=false reason:Broken message:no shim']);
  });

  test('a failing health check is reported until it succeeds', () => {
    const state = new RuntimeState(new FakeClock(), 30_000);
    state.update(ready);
    let fault: string | undefined = 'asleep';
    state.addHealthCheck('PLEG', () => fault);
    expect(state.errors()).toEqual(['PLEG is not healthy: asleep']);
    fault = undefined;
    expect(state.errors()).toEqual([]);
  });
});

test.each([
  [10_000, 300_000],
  [60_000, 300_000],
  [150_000, 300_000],
  [240_000, 480_000],
])(
  'K5: with a sync frequency of %d ms the sync loop is unhealthy if it was idle for more than %d ms',
  (syncFrequencyMs, thresholdMs) => {
    expect(syncLoopFault(thresholdMs, syncFrequencyMs)).toBeUndefined();
    expect(syncLoopFault(thresholdMs + 1, syncFrequencyMs)).toBe(
      `sync Loop took longer than expected: last entered ${thresholdMs / 1000} s ago`,
    );
    expect(syncLoopFault(1_000_400, syncFrequencyMs)).toContain('last entered 1000 s ago');
  },
);

test.each([
  [2, 600_000, undefined],
  [3, 59_999, undefined],
  [3, 60_000, 'sync loop handler housekeeping has failed 3 times in a row for 60 s: no spec'],
])(
  'K5: the health check reports for a handler that failed %d times in a row within %d ms: %s',
  (count, forMs, fault) => {
    const failures = new Map([['housekeeping', { count, sinceMs: 1000, error: 'no spec' }]]);
    expect(failingHandler(failures, 1000 + forMs)).toBe(fault);
  },
);
