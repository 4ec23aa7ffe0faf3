import { PodJournal, type PodStepName } from '@node-agent/kubelet-core';
import type { StatusApi } from '@node-agent/status';
import { describe, expect, test } from 'vitest';
import { notedStatusApi } from '../src/noted-work.ts';
import { makePod, makeWorld, startKubelet } from './node.ts';

const signal = new AbortController().signal;
const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
const exec = { exec: { command: ['true'] } };

describe('journal steps of a pod', () => {
  test('the steps of a pod are recorded by all components in order with their times, until the pod is forgotten (K4)', async () => {
    const world = await makeWorld();
    const node = startKubelet(world);
    const steps = () =>
      node.kubelet
        .explain('default', 'web')
        ?.steps.map(({ step, target, outcome }) => [step, target, outcome].filter(Boolean).join(' ')) ?? [];
    const pod = makePod('web', {
      containers: [
        { ...main, lifecycle: { postStart: exec, preStop: exec }, readinessProbe: { ...exec, periodSeconds: 1 } },
      ],
      terminationGracePeriodSeconds: 5,
    });
    node.setPods([pod]);
    await world.clock.advance(10_000);
    const ofOrder = (...names: readonly (PodStepName | string)[]) => steps().filter((step) => names.includes(step));
    const order = ['Seen done', 'Admission done', 'Volumes done', 'Sandbox done', 'CreateContainer main done'];
    const later = ['StartContainer main done', 'PostStart main done'];
    expect(ofOrder(...order, ...later)).toEqual([...order, ...later]);
    expect(steps()).toContain('Image main done');
    // The order of the two steps is not fixed: a sync may show readiness before the sync loop handles the probe result.
    expect(steps().slice(-3)).toEqual(expect.arrayContaining(['Probe readiness of main done', 'Condition Ready done']));
    expect(node.kubelet.explain('default', 'web')).toMatchObject({ waitingFor: [], next: [] });

    const deletionTimestamp = new Date(world.clock.now()).toISOString();
    node.setPods([{ ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: 5 } }]);
    await world.clock.advance(20_000);
    const end = ['PreStop main done', 'Stop done', 'CleanUp done'];
    expect(
      steps()
        .filter((step) => /^(PreStop|Stop|CleanUp)/.test(step))
        .toSorted(),
    ).toEqual(end.toSorted());

    node.setPods([]);
    await world.clock.advance(120_000);
    expect(node.kubelet.explain('default', 'web')).toBeUndefined();
    node.setPods([pod]);
    await world.clock.advance(10);
    expect(steps()[0]).toBe('Seen done');
    expect(steps()).not.toContain('CleanUp done');
    await node.stop();
  });

  test('recorded steps of a pod show failures and retries', async () => {
    const world = await makeWorld();
    world.cri.faults.add({
      rpc: 'runPodSandbox',
      fault: { kind: 'error', code: 'UNKNOWN', message: 'no network' },
      times: 2,
    });
    const node = startKubelet(world);
    node.setPods([makePod('web')]);
    await world.clock.advance(300);
    const failed = node.kubelet.explain('default', 'web')?.steps.find(({ step }) => step === 'Sandbox');
    expect(failed).toMatchObject({ outcome: 'failed', message: expect.stringContaining('no network') });
    expect(node.kubelet.explain('default', 'web')?.waitingFor).toContainEqual(
      expect.objectContaining({
        what: expect.stringMatching(/^sandbox: .*no network/),
        sinceMs: failed?.failingSinceMs,
      }),
    );
    await world.clock.advance(120_000);
    expect(node.kubelet.explain('default', 'web')).toMatchObject({ waitingFor: [], next: [] });
    expect(node.kubelet.explain('default', 'web')?.steps.find(({ step }) => step === 'Sandbox')?.times).toBe(3);
    await node.stop();
  });

  test('a status update that is sent for a mirror pod is recorded in the journal of its static pod', async () => {
    const journal = new PodJournal({ clock: { now: () => 7 } });
    journal.known('static');
    const api: StatusApi = {
      getPod: () => Promise.reject(new Error('not asked')),
      patchPodStatus: () => Promise.reject(new Error('refused')),
      deletePod: async () => undefined,
    };
    const noted = notedStatusApi(api, journal, (uid) => (uid === 'mirror' ? 'static' : uid));
    await expect(
      noted.patchPodStatus('default', 'web', 'mirror', { metadata: { uid: 'mirror' }, status: {} }, signal),
    ).rejects.toThrow('refused');
    expect(journal.steps('static').at(-1)).toMatchObject({ step: 'StatusSent', outcome: 'failed', message: 'refused' });
  });
});
