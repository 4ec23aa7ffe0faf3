import type { PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { withContainerChange } from '../src/container-change.ts';
import { apiStatus, makePod } from './builders.ts';

const pod = makePod({ initContainers: [{ name: 'proxy', restartPolicy: 'Always' }] });
const main = apiStatus('main', 'running', { containerID: 'x://m1', ready: true, started: true });
const proxy = apiStatus('proxy', 'running', { containerID: 'x://p1', ready: true, started: true });
const conditions = ['Ready', 'ContainersReady', 'Initialized'].map((type) => ({ type, status: 'True' }));
const status: PodStatus = { phase: 'Running', conditions, containerStatuses: [main], initContainerStatuses: [proxy] };
const readiness = (changed: PodStatus | undefined) =>
  changed?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]);

describe('withContainerChange', () => {
  test('withContainerChange changes the container with this ID and the conditions that follow from it', () => {
    const changed = withContainerChange(pod, status, 'm1', { ready: false });
    expect(changed?.containerStatuses).toEqual([{ ...main, ready: false }]);
    expect(changed?.initContainerStatuses).toEqual([proxy]);
    expect(readiness(changed)).toEqual([
      ['Ready', 'False', 'ContainersNotReady'],
      ['ContainersReady', 'False', 'ContainersNotReady'],
      ['Initialized', 'True', undefined],
    ]);
  });

  test('withContainerChange changes the status of a sidecar in initContainerStatuses', () => {
    const changed = withContainerChange(pod, status, 'p1', { started: false });
    expect(changed?.initContainerStatuses).toEqual([{ ...proxy, started: false }]);
    expect(changed?.containerStatuses).toEqual([main]);
  });

  test('withContainerChange returns no change if the status already shows it or the container was replaced', () => {
    expect(withContainerChange(pod, status, 'm1', { ready: true, started: true })).toBeUndefined();
    expect(withContainerChange(pod, status, 'm0', { ready: false })).toBeUndefined();
    expect(withContainerChange(pod, {}, 'm1', { ready: false })).toBeUndefined();
  });

  test('withContainerChange adds no statuses or conditions that were not reported yet', () => {
    const { containerStatuses: _, conditions: __, ...bare } = status;
    expect(withContainerChange(pod, bare, 'p1', { ready: false })).toStrictEqual({
      ...bare,
      conditions: [],
      initContainerStatuses: [{ ...proxy, ready: false }],
    });
  });

  test('withContainerChange does not make a Failed pod ready', () => {
    const unready = ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'False', reason: 'PodFailed' }));
    const failed = { ...status, phase: 'Failed', conditions: unready, containerStatuses: [{ ...main, ready: false }] };
    const changed = withContainerChange(pod, failed, 'm1', { ready: true });
    expect(readiness(changed)?.[0]).toEqual(['Ready', 'False', 'PodFailed']);
  });

  test('S7: withContainerChange makes an evicted pod unready and ready again while its containers run', () => {
    const evicted = { ...status, phase: 'Failed', reason: 'Evicted' };
    const unready = withContainerChange(pod, evicted, 'm1', { ready: false });
    expect(unready).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(readiness(unready)?.slice(0, 2)).toEqual([
      ['Ready', 'False', 'ContainersNotReady'],
      ['ContainersReady', 'False', 'ContainersNotReady'],
    ]);
    const ready = unready && withContainerChange(pod, unready, 'm1', { ready: true });
    expect(readiness(ready)?.slice(0, 2)).toEqual([
      ['Ready', 'True', undefined],
      ['ContainersReady', 'True', undefined],
    ]);
  });
});
