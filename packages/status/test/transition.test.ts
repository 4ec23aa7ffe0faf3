import { type ContainerStatus, defaultRestartFeatures, type Pod, type PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { illegalTransition, nextStatus, terminatedStatus } from '../src/transition.ts';
import { apiStatus, makePod, makeStaticPod } from './builders.ts';

const NOW = Date.UTC(2026, 0, 1, 0, 0, 30);
const ended = (name: string, message: string): ContainerStatus => ({
  ...apiStatus(name, 0),
  state: { terminated: { exitCode: 1, message } },
});

describe('nextStatus', () => {
  const next = (old: PodStatus | undefined, wanted: PodStatus, pod = makePod()) => nextStatus(pod, old, wanted, NOW);

  test.each<[string, PodStatus | undefined, PodStatus, string]>([
    ['as reported before', { startTime: 't0' }, { startTime: 't1' }, 't0'],
    ['at the creation of its sandbox', undefined, { startTime: 't1' }, 't1'],
    ['now', undefined, {}, '2026-01-01T00:00:30Z'],
  ])('nextStatus has the start time of a pod that started %s', (_name, old, wanted, startTime) => {
    expect(next(old, wanted).startTime).toBe(startTime);
  });

  test('S1: nextStatus keeps a terminal phase with its reason and message', () => {
    const running = { phase: 'Running', reason: 'new', message: 'new' };
    const evicted = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' };
    expect(next(evicted, running)).toMatchObject(evicted);
    const bare = next({ phase: 'Failed' }, running);
    expect(bare.phase).toBe('Failed');
    expect(bare).not.toHaveProperty('reason');
    expect(bare).not.toHaveProperty('message');
    expect(next({ phase: 'Running' }, running)).toMatchObject(running);
  });

  test('nextStatus keeps the transition time of an unchanged condition, unless the new condition has its own', () => {
    const old: PodStatus = { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: 't0' }] };
    const stamp = (condition: { type: string; status: string; lastTransitionTime?: string }) =>
      next(old, { conditions: [condition] }).conditions?.[0]?.lastTransitionTime;
    expect(stamp({ type: 'Ready', status: 'True' })).toBe('t0');
    expect(stamp({ type: 'Ready', status: 'False' })).toBe('2026-01-01T00:00:30Z');
    expect(stamp({ type: 'Initialized', status: 'True' })).toBe('2026-01-01T00:00:30Z');
    expect(stamp({ type: 'Ready', status: 'True', lastTransitionTime: 't7' })).toBe('t7');
  });
});

describe('termination messages', () => {
  const LIMIT = 12 * 1024;
  const cut = (text: string, pod = makePod()) =>
    nextStatus(pod, undefined, { containerStatuses: [ended('main', text)] }, NOW).containerStatuses?.[0]?.state
      ?.terminated?.message;

  test.each([
    ['exactly 12 KiB', 'x'.repeat(LIMIT), LIMIT],
    ['more than 12 KiB', 'x'.repeat(LIMIT + 1), LIMIT],
    ['two-byte characters', 'é'.repeat(LIMIT), LIMIT / 2],
    ['two-byte characters with the limit within a character', `x${'é'.repeat(LIMIT)}`, LIMIT / 2],
    ['three-byte characters with the limit within a character', `x${'€'.repeat(LIMIT)}`, LIMIT / 3],
    ['four-byte characters with the limit within a character', `xx${'😀'.repeat(LIMIT)}`, 2 + 2 * (LIMIT / 4 - 1)],
    ['less than 12 KiB', 'short', 5],
  ])('the limit of 12 KiB keeps a length of $2 of a termination message of %s', (_name, text, length) => {
    expect(text.startsWith(cut(text) ?? 'none')).toBe(true);
    expect(cut(text)).toHaveLength(length);
  });

  test('termination messages of all containers of a pod together are kept up to 12 KiB', () => {
    const four = makePod({
      initContainers: [{ name: 'i' }],
      ephemeralContainers: [{ name: 'e' }],
      containers: [{ name: 'main' }, { name: 'b' }],
    });
    expect(cut('x'.repeat(LIMIT), four)).toHaveLength(LIMIT / 4);
  });

  test('termination messages are cut in statuses of all container types and in last states, without other changes', () => {
    const long = 'x'.repeat(LIMIT + 1);
    const both = { ...ended('main', long), lastState: { terminated: { exitCode: 2, message: long } } };
    const kinds = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;
    const status = nextStatus(makePod(), undefined, Object.fromEntries(kinds.map((kind) => [kind, [both]])), NOW);
    const message = 'x'.repeat(LIMIT);
    for (const kind of kinds) {
      expect(status[kind]).toEqual([
        {
          ...both,
          state: { terminated: { exitCode: 1, message } },
          lastState: { terminated: { exitCode: 2, message } },
        },
      ]);
    }
    const plain = nextStatus(makePod(), undefined, { phase: 'Running' }, NOW);
    for (const kind of [...kinds, 'conditions']) expect(plain).not.toHaveProperty(kind);
  });
});

describe('S1: container that terminated for good', () => {
  const SIDECAR = { name: 'proxy', restartPolicy: 'Always' };
  const pod = (restartPolicy?: string, more: Partial<Pod['spec']> = {}) =>
    makePod({
      ...(restartPolicy && { restartPolicy }),
      initContainers: [{ name: 'init' }, SIDECAR],
      containers: [{ name: 'a' }, { name: 'b' }],
      ...more,
    });
  const main = (a: ContainerStatus, b = apiStatus('b', 'running')): PodStatus => ({ containerStatuses: [a, b] });
  const goneMain = 'terminated container a attempted illegal transition to non-terminated state';

  test.each<[string, Pod, PodStatus, PodStatus, string | undefined]>([
    ['does not run again', pod('Never'), main(apiStatus('a', 1)), main(apiStatus('a', 'running')), goneMain],
    ['does not wait again', pod('OnFailure'), main(apiStatus('a', 0)), main(apiStatus('a', 'waiting')), goneMain],
    [
      'may run again if it failed under OnFailure',
      pod('OnFailure'),
      main(apiStatus('a', 1)),
      main(apiStatus('a', 'running')),
      undefined,
    ],
    ['may run again under Always', pod('Always'), main(apiStatus('a', 1)), main(apiStatus('a', 'running')), undefined],
    [
      'may run again without a restartPolicy',
      pod(),
      main(apiStatus('a', 1)),
      main(apiStatus('a', 'running')),
      undefined,
    ],
    [
      'may run again in a pod with Always despite its own policy Never, as upstream',
      pod('Always', { containers: [{ name: 'a', restartPolicy: 'Never' }] }),
      main(apiStatus('a', 1)),
      main(apiStatus('a', 'running')),
      undefined,
    ],
    [
      'may run again in a pod without restartPolicy despite its own policy Never',
      pod(undefined, { containers: [{ name: 'a', restartPolicy: 'Never' }] }),
      main(apiStatus('a', 1)),
      main(apiStatus('a', 'running')),
      undefined,
    ],
    ['may stay terminated', pod('Never'), main(apiStatus('a', 1)), main(apiStatus('a', 1)), undefined],
    ['may be missing in the next status', pod('Never'), main(apiStatus('a', 1)), {}, undefined],
  ])('S1: a container that terminated for good %s', (_name, of, old, next, problem) => {
    expect(illegalTransition(of, old, next)).toBe(problem);
  });

  const init = (
    container: ContainerStatus,
    a = apiStatus('a', 'waiting'),
    b = apiStatus('b', 'waiting'),
  ): PodStatus => ({
    initContainerStatuses: [container],
    containerStatuses: [a, b],
  });
  test('S1: init containers must stay terminated only after a main container has run', () => {
    const [done, again] = [apiStatus('init', 0), apiStatus('init', 'running')];
    const problem = 'terminated init container init attempted illegal transition to non-terminated state';
    const check = (...statuses: ContainerStatus[]) =>
      illegalTransition(pod('Never'), init(done, ...statuses), init(again, ...statuses));
    expect(check()).toBeUndefined();
    expect(check(apiStatus('a', 'running'))).toBe(problem);
    expect(check(apiStatus('a', 'waiting'), apiStatus('b', 3))).toBe(problem);
    expect(check(apiStatus('a', 'crashed'))).toBe(problem);
  });

  test('S1: sidecars may run again after they terminated, whatever feature gates are enabled', () => {
    const features = { ...defaultRestartFeatures, containerRestartRules: false };
    const old = init(apiStatus('proxy', 1), apiStatus('a', 'running'));
    expect(illegalTransition(pod('Never'), old, init(apiStatus('proxy', 'running')), features)).toBeUndefined();
  });
});

describe('terminatedStatus', () => {
  const unknown = {
    terminated: {
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      exitCode: 137,
    },
  };
  const names = (status: PodStatus) =>
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
      .filter(({ state }) => state?.terminated?.exitCode === 137)
      .map(({ name }) => name);
  const two = makePod({ containers: [{ name: 'a' }, { name: 'b' }] });

  test('terminatedStatus terminates all containers whose termination was not observed', () => {
    const status = terminatedStatus(two, {
      phase: 'Running',
      containerStatuses: [apiStatus('a', 0), apiStatus('b', 'running')],
    });
    expect(status.phase).toBe('Failed');
    expect(status.containerStatuses?.[0]).toEqual(apiStatus('a', 0));
    expect(status.containerStatuses?.[1]?.state).toEqual(unknown);
  });

  test('S1: terminatedStatus shows the last exit code of a container that waits for its restart', () => {
    const end = { terminated: { exitCode: 42, reason: 'Error', containerID: 'containerd://c1' } };
    const waiting = apiStatus('a', 'waiting', { lastState: end });
    const status = terminatedStatus(makePod({ containers: [{ name: 'a' }] }), {
      phase: 'Failed',
      containerStatuses: [waiting],
    });
    expect(status.containerStatuses?.[0]?.state).toEqual(end);
  });

  test('terminatedStatus keeps a terminal phase, and the phase of a static pod', () => {
    expect(terminatedStatus(two, { phase: 'Succeeded' }).phase).toBe('Succeeded');
    expect(terminatedStatus(makeStaticPod(), { phase: 'Running' }).phase).toBe('Running');
  });

  test('terminatedStatus has no container statuses if none were reported', () => {
    const status = terminatedStatus(two, { phase: 'Pending' });
    expect(status).not.toHaveProperty('containerStatuses');
    expect(status).not.toHaveProperty('initContainerStatuses');
  });

  test('terminatedStatus does not fail init containers after the last one that ran; the first init container counts as having run', () => {
    const pod = makePod({ initContainers: [{ name: 'i1' }, { name: 'i2' }, { name: 'i3' }] });
    const waits = (name: string) => apiStatus(name, 'waiting');
    const of = (...initContainerStatuses: ContainerStatus[]) => names(terminatedStatus(pod, { initContainerStatuses }));
    expect(of(waits('i1'), waits('i2'), waits('i3'))).toEqual(['i1']);
    expect(of(apiStatus('i1', 0), apiStatus('i2', 'running'), waits('i3'))).toEqual(['i2']);
    const crashed = apiStatus('i2', 'crashed');
    expect(of(apiStatus('i1', 0), { ...crashed, lastState: { terminated: { exitCode: 137 } } }, waits('i3'))).toEqual([
      'i2',
    ]);
  });

  const SIDECAR = { name: 'proxy', restartPolicy: 'Always' };
  const mains = [apiStatus('a', 'waiting'), apiStatus('b', 'waiting')];
  test.each<[string, Pod['spec']['initContainers'], readonly ContainerStatus[], readonly ContainerStatus[], string[]]>([
    ['yes if there are no init containers', undefined, [], mains, ['a', 'b']],
    ['yes if the last init container succeeded', [{ name: 'init' }], [apiStatus('init', 0)], mains, ['a', 'b']],
    [
      'yes if the last init container succeeded before',
      [{ name: 'init' }],
      [{ ...apiStatus('init', 'waiting'), lastState: { terminated: { exitCode: 0 } } }],
      mains,
      ['a', 'b'],
    ],
    [
      'yes if one of them ran',
      [{ name: 'init' }],
      [apiStatus('init', 'running')],
      [apiStatus('a', 1), apiStatus('b', 'waiting')],
      ['init', 'b'],
    ],
    [
      'yes if the last sidecar had started',
      [SIDECAR],
      [apiStatus('proxy', 'running', { started: true })],
      mains,
      ['proxy', 'a', 'b'],
    ],
    ['not if the last init container failed', [{ name: 'init' }], [apiStatus('init', 1)], mains, []],
    [
      'not if the last sidecar had not started',
      [SIDECAR],
      [apiStatus('proxy', 'running', { started: false })],
      mains,
      ['proxy'],
    ],
    ['not if the last sidecar had stopped', [SIDECAR], [apiStatus('proxy', 0, { started: true })], mains, []],
    ['not if the last init container is unknown', [{ name: 'init' }], [], mains, []],
  ])('terminatedStatus fails main containers that never started: %s', (_name, initContainers, init, main, expected) => {
    const pod = makePod({ containers: [{ name: 'a' }, { name: 'b' }], ...(initContainers && { initContainers }) });
    expect(names(terminatedStatus(pod, { initContainerStatuses: init, containerStatuses: main }))).toEqual(expected);
  });

  test('terminatedStatus decides about initialization from the status before the containers were stopped', () => {
    const pod = makePod({ initContainers: [{ name: 'init' }] });
    const status = { initContainerStatuses: [apiStatus('init', 0)], containerStatuses: [apiStatus('main', 'waiting')] };
    const before = { ...status, initContainerStatuses: [apiStatus('init', 'running')] };
    expect(names(terminatedStatus(pod, status, before))).toEqual([]);
    expect(names(terminatedStatus(pod, status))).toEqual(['main']);
  });
});
