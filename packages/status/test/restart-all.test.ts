import type { Container, Pod, PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { generateApiPodStatus } from '../src/generate.ts';
import { illegalTransition } from '../src/transition.ts';
import { makeContext, makePod, makeSandbox, runtimeContainer, runtimeStatus } from './builders.ts';

const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }] as const;
const pod: Pod = makePod({
  restartPolicy: 'Never',
  containers: [
    { name: 'main', image: 'busybox', restartPolicy: 'Never', restartPolicyRules },
    { name: 'side', image: 'busybox' },
  ],
});
const main = (overrides: object) => runtimeContainer({ name: 'main', id: 'm1', ...overrides });
const side = (overrides: object) => runtimeContainer({ name: 'side', id: 's1', ...overrides });
const shown = (status: PodStatus, name: string) => status.containerStatuses?.find((one) => one.name === name);
const condition = (status: PodStatus) => status.conditions?.find(({ type }) => type === 'AllContainersRestarting');

describe('a pod with a restart of all containers', () => {
  const before = generateApiPodStatus(pod, runtimeStatus(main({}), side({})), makeContext());
  const exited = main({ state: 'exited', exitCode: 42, reason: 'Error' });
  const asked = generateApiPodStatus(pod, runtimeStatus(exited, side({})), makeContext({ oldStatus: before }));

  test('the condition AllContainersRestarting is True while a restart of all containers is requested', () => {
    expect(condition(before)).toEqual({ type: 'AllContainersRestarting', status: 'False' });
    expect(condition(asked)).toEqual({
      type: 'AllContainersRestarting',
      status: 'True',
      reason: 'RestartAllContainersStarted',
      message: 'container exited with restart policy rule',
    });
  });

  test('after a restart of all containers, containers without a record wait, with their exit as last state', () => {
    const context = makeContext({ oldStatus: asked });
    const status = generateApiPodStatus(pod, runtimeStatus(), context);
    const waiting = { reason: 'RestartingAllContainers' };
    expect(shown(status, 'main')).toMatchObject({
      state: { waiting },
      lastState: { terminated: { exitCode: 42 } },
      restartCount: 1,
    });
    expect(shown(status, 'side')).toMatchObject({
      state: { waiting },
      lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } },
      restartCount: 1,
    });
    expect(condition(status)?.status).toBe('False');
  });

  test('K1: a pod has not failed if the kubelet was killed after it had removed all records, before it had reported the restart', () => {
    const context = makeContext({ oldStatus: before });
    const status = generateApiPodStatus(pod, { ...runtimeStatus(), sandboxes: [makeSandbox()] }, context);
    const waiting = { reason: 'RestartingAllContainers' };
    expect(status.phase).toBe('Running');
    for (const name of ['main', 'side'])
      expect(shown(status, name)).toMatchObject({ state: { waiting }, restartCount: 1 });
    // A container that is missing while others exist, or whose sandbox has stopped, was not removed by a restart of all
    // containers.
    const rest = { ...runtimeStatus(side({ state: 'exited', exitCode: 0 })), sandboxes: [makeSandbox()] };
    const partly = generateApiPodStatus(pod, rest, context);
    expect(shown(partly, 'main')?.lastState?.terminated?.reason).toBe('ContainerStatusUnknown');
    const stopped = { ...runtimeStatus(), sandboxes: [makeSandbox({ state: 'notReady' })] };
    expect(generateApiPodStatus(pod, stopped, context).phase).toBe('Failed');
    // Without a RestartAllContainers rule, missing containers do not mean a restart of all containers.
    const plain = makePod({ restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] });
    const old = generateApiPodStatus(plain, runtimeStatus(main({})), makeContext());
    expect(
      generateApiPodStatus(plain, { ...runtimeStatus(), sandboxes: [makeSandbox()] }, makeContext({ oldStatus: old }))
        .phase,
    ).toBe('Failed');
  });

  test('K1: a pod has not failed if the kubelet was killed after it had started the init containers again', () => {
    const initContainers = [{ name: 'init', image: 'busybox' }];
    const withInit: Pod = { ...pod, spec: { ...pod.spec, initContainers } };
    const init = runtimeContainer({ name: 'init', id: 'i1', state: 'exited', exitCode: 0 });
    const ready = { sandboxes: [makeSandbox()] };
    const old = generateApiPodStatus(withInit, { ...runtimeStatus(main({}), side({}), init), ...ready }, makeContext());
    const again = runtimeContainer({ name: 'init', id: 'i2', state: 'exited', exitCode: 0, restartCount: 1 });
    const status = generateApiPodStatus(
      withInit,
      { ...runtimeStatus(again), ...ready },
      makeContext({ oldStatus: old }),
    );
    expect(status.phase).toBe('Running');
    for (const name of ['main', 'side']) {
      expect(shown(status, name)).toMatchObject({
        state: { waiting: { reason: 'RestartingAllContainers' } },
        lastState: { terminated: { reason: 'RestartingAllContainers' } },
      });
    }
    // If a restart of all containers has not begun, an unknown container is shown as lost, not as restarting.
    const lost = runtimeContainer({ name: 'init', id: 'i1', state: 'unknown' });
    const running = runtimeContainer({ name: 'init', id: 'i1' });
    const first = generateApiPodStatus(withInit, { ...runtimeStatus(running), ...ready }, makeContext());
    const then = generateApiPodStatus(
      withInit,
      { ...runtimeStatus(lost), ...ready },
      makeContext({ oldStatus: first }),
    );
    expect(then.initContainerStatuses?.[0]?.state?.terminated?.reason).toBe('ContainerStatusUnknown');
  });

  test('K1: a pod has not failed if the kubelet was killed after it had removed the init container that requested the restart', () => {
    const init = { name: 'init', image: 'busybox', restartPolicy: 'Never', restartPolicyRules } as const;
    const withInit: Pod = makePod({ restartPolicy: 'Never', initContainers: [init], containers: [{ name: 'main' }] });
    const ready = { sandboxes: [makeSandbox()] };
    const running = runtimeStatus(runtimeContainer({ name: 'init', id: 'i1' }));
    const oldStatus = generateApiPodStatus(withInit, { ...running, ...ready }, makeContext());
    const status = generateApiPodStatus(withInit, { ...runtimeStatus(), ...ready }, makeContext({ oldStatus }));
    expect(status.phase).toBe('Pending');
    expect(status.initContainerStatuses?.[0]).toMatchObject({
      state: { waiting: { reason: 'RestartingAllContainers' } },
      restartCount: 1,
    });
  });

  test('S3: an init container without a record counts one restart, however often the status is generated', () => {
    const withInit: Pod = { ...pod, spec: { ...pod.spec, initContainers: [{ name: 'init', image: 'busybox' }] } };
    const counts: (number | undefined)[] = [];
    let oldStatus = generateApiPodStatus(withInit, runtimeStatus(main({}), side({})), makeContext());
    for (let look = 0; look < 4; look++) {
      oldStatus = generateApiPodStatus(withInit, runtimeStatus(exited, side({})), makeContext({ oldStatus }));
      counts.push(oldStatus.initContainerStatuses?.[0]?.restartCount);
    }
    expect(counts).toEqual([1, 1, 1, 1]);
  });

  test('after a restart of all containers, the last states show how the containers had terminated', () => {
    const again = runtimeStatus(main({ id: 'm2', restartCount: 1 }), side({ id: 's2', restartCount: 1 }));
    const status = generateApiPodStatus(pod, again, makeContext({ oldStatus: asked }));
    expect(shown(status, 'main')?.lastState).toMatchObject({ terminated: { exitCode: 42, reason: 'Error' } });
    expect(shown(status, 'side')?.lastState).toMatchObject({
      terminated: { exitCode: 137, reason: 'RestartingAllContainers' },
    });
    expect(condition(status)?.status).toBe('False');
    const later = generateApiPodStatus(pod, again, makeContext({ oldStatus: status }));
    expect(shown(later, 'side')?.lastState).toMatchObject({ terminated: { reason: 'RestartingAllContainers' } });
  });

  test.each([
    ['was seen', [runtimeStatus(exited)]],
    ['was not seen', []],
  ])(
    'the last state of another container that crashed before the restart of all containers is kept if the removal of its record %s',
    (_name, removal) => {
      const restarts: Pod = makePod({ ...pod.spec, restartPolicy: 'Always' });
      const rounds = [
        runtimeStatus(exited, side({})),
        runtimeStatus(exited, side({ state: 'exited', exitCode: 5, reason: 'Error' })),
        ...removal,
        runtimeStatus(exited, side({ id: 's2', restartCount: 1 })),
        runtimeStatus(main({ id: 'm2', restartCount: 1 }), side({ id: 's2', restartCount: 1 })),
      ];
      let status: PodStatus | undefined;
      for (const round of rounds) {
        status = generateApiPodStatus(restarts, round, makeContext(status && { oldStatus: status }));
      }
      expect(status && shown(status, 'side')).toMatchObject({
        lastState: { terminated: { exitCode: 5, reason: 'Error', containerID: 'containerd://s1' } },
        restartCount: 1,
      });
    },
  );

  const onSuccess = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [0] } }] as const;
  const asksAtSuccess = { restartPolicy: 'Never', restartPolicyRules: onSuccess } as const;
  test.each<[string, Partial<Container>, number, boolean]>([
    ['had failed and restarts by its policy', { restartPolicy: 'Always' }, 1, true],
    ['had failed for good', { restartPolicy: 'Never' }, 1, false],
    ['had succeeded and restarts by its policy', { restartPolicy: 'Always' }, 0, false],
    ['had requested the restart by its success', asksAtSuccess, 0, true],
  ])(
    'the last state of another container that %s, after a restart of all containers, is its own termination: $3',
    (_name, fields, exitCode, isReported) => {
      const other = { name: 'side', image: 'busybox', ...fields };
      const withOther: Pod = makePod({ ...pod.spec, containers: [...pod.spec.containers.slice(0, 1), other] });
      const ended = runtimeStatus(exited, side({ state: 'exited', exitCode, reason: 'Done' }));
      const oldStatus = generateApiPodStatus(withOther, ended, makeContext());
      const status = generateApiPodStatus(withOther, runtimeStatus(), makeContext({ oldStatus }));
      expect(shown(status, 'side')?.lastState?.terminated).toMatchObject(
        isReported ? { exitCode, reason: 'Done' } : { exitCode: 137, reason: 'RestartingAllContainers' },
      );
    },
  );

  test('a container that the runtime lost during a restart of all containers has the reason RestartingAllContainers', () => {
    const restarting = { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } };
    const lost = generateApiPodStatus(
      pod,
      runtimeStatus(exited, side({ state: 'unknown' })),
      makeContext({ oldStatus: before }),
    );
    expect(shown(lost, 'side')?.state).toMatchObject(restarting);
    const again = [side({ id: 's2', restartCount: 1 }), side({ state: 'unknown' })];
    const runs = generateApiPodStatus(pod, runtimeStatus(exited, ...again), makeContext({ oldStatus: before }));
    expect(shown(runs, 'side')?.lastState).toMatchObject(restarting);
    const alone = generateApiPodStatus(pod, runtimeStatus(main({}), ...again), makeContext({ oldStatus: before }));
    expect(shown(alone, 'side')?.lastState).toMatchObject({ terminated: { reason: 'ContainerStatusUnknown' } });
  });

  test('a pod stays Running between the end of a repeated init container and the start of the main containers', () => {
    const withInit: Pod = makePod({
      restartPolicy: 'Never',
      initContainers: [
        { name: 'init', image: 'busybox' },
        { name: 'source', image: 'busybox', restartPolicy: 'Always', restartPolicyRules },
      ],
      containers: [{ name: 'main', image: 'busybox' }],
    });
    const init = (overrides: object) =>
      runtimeContainer({ name: 'init', id: 'i1', state: 'exited', exitCode: 0, ...overrides });
    const source = runtimeContainer({ name: 'source', id: 'x1', state: 'exited', exitCode: 42, reason: 'Error' });
    let status = generateApiPodStatus(withInit, runtimeStatus(init({}), source, main({})), makeContext());
    const rounds = [
      runtimeStatus(),
      runtimeStatus(init({ id: 'i2', state: 'running', restartCount: 1 })),
      runtimeStatus(init({ id: 'i2', restartCount: 1 })),
    ];
    for (const round of rounds) status = generateApiPodStatus(withInit, round, makeContext({ oldStatus: status }));
    expect(shown(status, 'main')?.state?.waiting?.reason).toBe('PodInitializing');
    expect(status.phase).toBe('Running');
  });

  test('P7: a pod has not terminated while its init container is repeated, although the other containers had terminated for good', () => {
    const initContainers = [
      { name: 'init', image: 'busybox' },
      { name: 'source', image: 'busybox', restartPolicy: 'Always', restartPolicyRules },
    ];
    const containers = [{ name: 'main', image: 'busybox' }];
    const withInit: Pod = makePod({ restartPolicy: 'Never', initContainers, containers });
    const init = (overrides: object) => runtimeContainer({ name: 'init', id: 'i1', state: 'exited', ...overrides });
    const source = runtimeContainer({ name: 'source', id: 'x1', state: 'exited', exitCode: 42, reason: 'Error' });
    const anew = { id: 'i2', restartCount: 1 };
    let status = generateApiPodStatus(withInit, runtimeStatus(init({}), main({}), source), makeContext());
    const phases = [
      runtimeStatus(init({}), main({ state: 'exited', exitCode: 1 }), source),
      runtimeStatus(),
      runtimeStatus(init({ ...anew, state: 'running' })),
      runtimeStatus(init(anew)),
      runtimeStatus(init(anew), main({ id: 'm2', state: 'created', restartCount: 1 })),
    ].map((round) => {
      status = generateApiPodStatus(withInit, round, makeContext({ oldStatus: status }));
      return status.phase;
    });
    expect(phases).toEqual(['Running', 'Running', 'Pending', 'Running', 'Running']);
    expect(shown(status, 'main')?.lastState?.terminated?.reason).toBe('RestartingAllContainers');
  });

  test('P7: a pod has not terminated if its containers were removed and created again between two statuses', () => {
    const oldStatus = generateApiPodStatus(
      pod,
      runtimeStatus(exited, side({ state: 'exited', exitCode: 1 })),
      makeContext({ oldStatus: before }),
    );
    const created = runtimeStatus(
      main({ id: 'm2', state: 'created', restartCount: 1 }),
      side({ id: 's2', state: 'created', restartCount: 1 }),
    );
    const status = generateApiPodStatus(pod, created, makeContext({ oldStatus }));
    expect(shown(status, 'side')?.lastState?.terminated?.reason).toBe('RestartingAllContainers');
    expect(shown(status, 'main')?.lastState?.terminated?.exitCode).toBe(42);
    expect(status.phase).toBe('Running');
  });

  test('S1: a pod has terminated if the container that requests a restart of all containers has a later attempt that never ran, because no restart follows', () => {
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'NotIn', values: [42] } }] as const;
    const asks = { name: 'init', restartPolicy: 'Never', restartPolicyRules: rules };
    const withStray: Pod = makePod({ restartPolicy: 'Never', initContainers: [asks], containers: [{ name: 'main' }] });
    const records = [
      runtimeContainer({ name: 'init', id: 'i2', state: 'created', restartCount: 1 }),
      runtimeContainer({ name: 'init', id: 'i1', state: 'exited', exitCode: 0 }),
      main({ state: 'exited', exitCode: 0 }),
    ];
    expect(generateApiPodStatus(withStray, runtimeStatus(...records), makeContext()).phase).toBe('Succeeded');
  });

  test('C3: a main container that was only created does not show a pod as initialized if a rule may restart all containers', () => {
    const initContainers = [{ name: 'init', image: 'busybox' }];
    const withInit: Pod = makePod({ ...pod.spec, initContainers });
    const plain: Pod = makePod({ initContainers, containers: [{ name: 'main', image: 'busybox' }] });
    const initState = (aPod: Pod, state: string) =>
      generateApiPodStatus(aPod, runtimeStatus(main({ state })), makeContext()).initContainerStatuses?.[0]?.state;
    expect(initState(withInit, 'created')).toEqual({ waiting: { reason: 'PodInitializing' } });
    expect(initState(withInit, 'running')?.terminated?.reason).toBe('Completed');
    expect(initState(plain, 'created')?.terminated?.reason).toBe('Completed');
  });

  test.each([
    ['Succeeded', 0, 'PodCompleted'],
    ['Failed', 1, 'PodFailed'],
  ])('the condition AllContainersRestarting of a %s pod is False with reason $2', (phase, exitCode, reason) => {
    const ended = { state: 'exited', exitCode, reason: '' };
    const status = generateApiPodStatus(
      pod,
      runtimeStatus(main(ended), side(ended)),
      makeContext({ podIsTerminal: true }),
    );
    expect(status.phase).toBe(phase);
    expect(condition(status)).toEqual({ type: 'AllContainersRestarting', status: 'False', reason });
  });

  test('S1: a restart of all containers includes containers that had terminated for good, and the pod does not terminate during the restart', () => {
    const done = side({ state: 'exited', exitCode: 0 });
    const oldStatus = generateApiPodStatus(pod, runtimeStatus(exited, done), makeContext({ oldStatus: before }));
    const waiting = generateApiPodStatus(pod, runtimeStatus(), makeContext({ oldStatus }));
    const restarting = { exitCode: 137, reason: 'RestartingAllContainers' };
    expect(shown(waiting, 'side')?.lastState?.terminated).toMatchObject(restarting);
    expect(waiting.phase).toBe('Running');
    expect(illegalTransition(pod, oldStatus, waiting)).toBeUndefined();
    const off = { containerRestartRules: true, restartAllContainers: false };
    expect(illegalTransition(pod, oldStatus, waiting, off)).toContain('attempted illegal transition');
  });

  test('without the feature gate, a rule to restart all containers has no effect', () => {
    const restartFeatures = { containerRestartRules: true, restartAllContainers: false };
    const context = makeContext({ oldStatus: before, restartFeatures });
    const status = generateApiPodStatus(pod, runtimeStatus(exited, side({ state: 'exited' })), context);
    expect(condition(status)).toBeUndefined();
    expect(status.phase).toBe('Failed');
  });

  test('a pod without a rule to restart all containers does not have the condition AllContainersRestarting', () => {
    const plain = generateApiPodStatus(makePod(), runtimeStatus(runtimeContainer()), makeContext());
    expect(condition(plain)).toBeUndefined();
  });
});

test('the status has stop signals of containers only if their feature gate is on', () => {
  const runtime = runtimeStatus(runtimeContainer({ stopSignal: 'SIGUSR1' }));
  const told = (stopSignals?: boolean) =>
    generateApiPodStatus(makePod(), runtime, makeContext(stopSignals === undefined ? {} : { stopSignals }))
      .containerStatuses?.[0]?.stopSignal;
  expect([told(), told(false), told(true)]).toEqual([undefined, undefined, 'SIGUSR1']);
});
