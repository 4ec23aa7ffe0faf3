import type { ContainerStatus, Pod, PodPhase } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { podPhase } from '../src/phase.ts';
import { apiStatus, makePod, makeStaticPod } from './builders.ts';

const two = { containers: [{ name: 'a' }, { name: 'b' }] };
const always = makePod({ ...two, restartPolicy: 'Always' });
const onFailure = makePod({ ...two, restartPolicy: 'OnFailure' });
const never = makePod({ ...two, restartPolicy: 'Never' });

const LIVE = { podIsTerminal: false, hasInitialized: false };
const ENDED = { podIsTerminal: true, hasInitialized: false };

type Row = readonly [name: string, pod: Pod, statuses: readonly ContainerStatus[], expected: PodPhase];

describe('pod phase and main containers', () => {
  test.each<Row>([
    ['no status is known', always, [], 'Pending'],
    [
      'one container waits for its first start',
      always,
      [apiStatus('a', 'running'), apiStatus('b', 'waiting')],
      'Pending',
    ],
    ['one container is unknown', always, [apiStatus('a', 'running')], 'Pending'],
    ['one has terminated, one is unknown', never, [apiStatus('a', 1)], 'Pending'],
    [
      'one has no state, whatever its last state',
      never,
      [{ ...apiStatus('a', 'crashed'), state: {} }, apiStatus('b', 'running')],
      'Pending',
    ],
    ['the pod has none', makePod({ containers: [] }), [], 'Pending'],
    ['both run', always, [apiStatus('a', 'running'), apiStatus('b', 'running')], 'Running'],
    ['one runs, one waits for its restart', always, [apiStatus('a', 'running'), apiStatus('b', 'crashed')], 'Running'],
    ['both terminated, policy Always', always, [apiStatus('a', 0), apiStatus('b', 0)], 'Running'],
    ['both succeeded, policy OnFailure', onFailure, [apiStatus('a', 0), apiStatus('b', 0)], 'Succeeded'],
    ['one failed, policy OnFailure', onFailure, [apiStatus('a', 0), apiStatus('b', 1)], 'Running'],
    ['both succeeded, policy Never', never, [apiStatus('a', 0), apiStatus('b', 0)], 'Succeeded'],
    ['one failed, policy Never', never, [apiStatus('a', 0), apiStatus('b', 1)], 'Failed'],
    ['one runs on, policy Never', never, [apiStatus('a', 1), apiStatus('b', 'running')], 'Running'],
  ])('the pod phase, given its main containers (%s): $3', (_name, pod, statuses, expected) => {
    expect(podPhase(pod, statuses, LIVE)).toBe(expected);
  });

  test('C6: the phase depends only on the exit code, even after an OOM kill of a process', () => {
    const killed = { ...apiStatus('a', 0), state: { terminated: { exitCode: 0, reason: 'OOMKilled' } } };
    for (const pod of [never, onFailure]) {
      expect(podPhase(pod, [killed, apiStatus('b', 0)], LIVE)).toBe('Succeeded');
    }
    expect(podPhase(always, [killed, apiStatus('b', 0)], ENDED)).toBe('Succeeded');
  });

  test('C6: for the phase, a container’s own restartPolicy and rules take precedence over the pod’s', () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    const containers = [{ name: 'a', restartPolicy: 'Never', restartPolicyRules: [rule] }];
    const pod = makePod({ restartPolicy: 'Never', containers });
    expect(podPhase(pod, [apiStatus('a', 42)], LIVE)).toBe('Running');
    expect(podPhase(pod, [apiStatus('a', 1)], LIVE)).toBe('Failed');
  });

  test('a terminated pod has a terminal phase, whatever its restart policy', () => {
    expect(podPhase(always, [apiStatus('a', 0), apiStatus('b', 0)], ENDED)).toBe('Succeeded');
    expect(podPhase(always, [apiStatus('a', 0), apiStatus('b', 137)], ENDED)).toBe('Failed');
    expect(podPhase(always, [apiStatus('a', 0), apiStatus('b', 'running')], ENDED)).toBe('Running');
  });

  test('a static pod that is stopped keeps its phase', () => {
    const pod = makeStaticPod({ ...two, restartPolicy: 'Always' });
    expect(podPhase(pod, [apiStatus('a', 0), apiStatus('b', 0)], ENDED)).toBe('Running');
  });
});

describe('pod phase and init containers', () => {
  const withInit = (restartPolicy: string): Pod =>
    makePod({ restartPolicy, initContainers: [{ name: 'init' }], containers: [{ name: 'a' }] });
  const waiting = apiStatus('a', 'waiting');

  test.each<Row>([
    ['not started', withInit('Always'), [waiting], 'Pending'],
    ['running', withInit('Always'), [apiStatus('init', 'running'), waiting], 'Pending'],
    ['failed, policy Always', withInit('Always'), [apiStatus('init', 1), waiting], 'Pending'],
    ['failed, policy Never', withInit('Never'), [apiStatus('init', 1), waiting], 'Failed'],
    ['failed and waiting, policy Never', withInit('Never'), [apiStatus('init', 'crashed'), waiting], 'Failed'],
    ['completed', withInit('Always'), [apiStatus('init', 0), apiStatus('a', 'running')], 'Running'],
    ['missing while the main container runs', withInit('Always'), [apiStatus('a', 'running')], 'Pending'],
  ])('the pod phase, given its init container (%s): $3', (_name, pod, statuses, expected) => {
    expect(podPhase(pod, statuses, LIVE)).toBe(expected);
  });

  // Upstream's runtime code treats the container as failed and ends the pod; its status code treats the container as
  // succeeded, so the pod stays Pending forever.
  test('C6: an init container with an OOM killed process has failed, although it exited with 0', () => {
    const killed = { ...apiStatus('init', 0), state: { terminated: { exitCode: 0, reason: 'OOMKilled' } } };
    expect(podPhase(withInit('Never'), [killed, waiting], LIVE)).toBe('Failed');
    expect(podPhase(withInit('OnFailure'), [killed, waiting], LIVE)).toBe('Pending');
  });
});

describe('pod phase and sidecars', () => {
  const initContainers = [{ name: 'proxy', restartPolicy: 'Always' }];
  const pod = makePod({ restartPolicy: 'Never', initContainers, containers: [{ name: 'a' }] });
  const main = apiStatus('a', 'running');
  const starting = apiStatus('proxy', 'running', { started: false });
  const started = apiStatus('proxy', 'running', { started: true });

  test.each<[string, readonly ContainerStatus[], boolean, PodPhase]>([
    ['not started yet', [starting, main], false, 'Pending'],
    ['started', [started, main], true, 'Running'],
    ['restarting while the main container runs', [starting, main], true, 'Running'],
    ['crashed while the main container runs', [apiStatus('proxy', 1), main], true, 'Running'],
    ['still running after the main container has terminated', [started, apiStatus('a', 0)], false, 'Running'],
    ['waiting for its first start', [apiStatus('proxy', 'waiting'), main], true, 'Pending'],
    ['unknown while the main container runs', [main], true, 'Pending'],
    ['unknown after the main container has terminated', [apiStatus('a', 0)], true, 'Pending'],
    ['its exit code does not count', [apiStatus('proxy', 1), apiStatus('a', 0)], false, 'Succeeded'],
  ])('the pod phase, given its sidecar (%s): $3', (_name, statuses, hasInitialized, expected) => {
    expect(podPhase(pod, statuses, { podIsTerminal: false, hasInitialized })).toBe(expected);
  });
});

describe('P7: a pod with a pending restart of all containers has not terminated, although nothing runs', () => {
  const context = { podIsTerminal: false, hasInitialized: true, isRestartRequested: true };
  const withInit = makePod({ restartPolicy: 'Never', initContainers: [{ name: 'i' }], containers: [{ name: 'a' }] });

  test.each<[string, Pod, readonly ContainerStatus[], object, PodPhase]>([
    ['all others have terminated for good', never, [apiStatus('a', 1), apiStatus('b', 1)], {}, 'Running'],
    ['all others have succeeded', never, [apiStatus('a', 0), apiStatus('b', 0)], {}, 'Running'],
    ['an init container has failed for good', withInit, [apiStatus('i', 1), apiStatus('a', 'waiting')], {}, 'Pending'],
    [
      'unless it is terminal and an init container has failed for good',
      withInit,
      [apiStatus('i', 1), apiStatus('a', 'waiting')],
      { podIsTerminal: true },
      'Failed',
    ],
    ['unless it is terminal', never, [apiStatus('a', 1), apiStatus('b', 1)], { podIsTerminal: true }, 'Failed'],
    [
      'unless no restart was requested',
      never,
      [apiStatus('a', 1), apiStatus('b', 1)],
      { isRestartRequested: false },
      'Failed',
    ],
  ])(
    'P7: a pod with a pending restart of all containers has not terminated: %s',
    (_name, pod, statuses, more, expected) => {
      expect(podPhase(pod, statuses, { ...context, ...more })).toBe(expected);
    },
  );

  test('P7: a pod with a pending restart of all containers has terminated if it is being deleted', () => {
    const { metadata } = never;
    const gone: Pod = { ...never, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(podPhase(gone, [apiStatus('a', 1), apiStatus('b', 1)], context)).toBe('Failed');
  });
});
