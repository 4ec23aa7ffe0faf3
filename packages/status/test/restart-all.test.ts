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

describe('a pod of which all containers begin anew', () => {
  const before = generateApiPodStatus(pod, runtimeStatus(main({}), side({})), makeContext());
  const exited = main({ state: 'exited', exitCode: 42, reason: 'Error' });
  const asked = generateApiPodStatus(pod, runtimeStatus(exited, side({})), makeContext({ oldStatus: before }));

  test('says whether they do', () => {
    expect(condition(before)).toEqual({ type: 'AllContainersRestarting', status: 'False' });
    expect(condition(asked)).toEqual({
      type: 'AllContainersRestarting',
      status: 'True',
      reason: 'RestartAllContainersStarted',
      message: 'container exited with restart policy rule',
    });
  });

  test('shows containers without a record as waiting for that, and how they ended, as far as it is known', () => {
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

  test('K1: has not failed where a kubelet was killed when it had taken all records away, and had told nobody', () => {
    const context = makeContext({ oldStatus: before });
    const status = generateApiPodStatus(pod, { ...runtimeStatus(), sandboxes: [makeSandbox()] }, context);
    const waiting = { reason: 'RestartingAllContainers' };
    expect(status.phase).toBe('Running');
    for (const name of ['main', 'side'])
      expect(shown(status, name)).toMatchObject({ state: { waiting }, restartCount: 1 });
    // What is gone from among others, or with its sandbox, was not taken away for that.
    const rest = { ...runtimeStatus(side({ state: 'exited', exitCode: 0 })), sandboxes: [makeSandbox()] };
    const partly = generateApiPodStatus(pod, rest, context);
    expect(shown(partly, 'main')?.lastState?.terminated?.reason).toBe('ContainerStatusUnknown');
    const stopped = { ...runtimeStatus(), sandboxes: [makeSandbox({ state: 'notReady' })] };
    expect(generateApiPodStatus(pod, stopped, context).phase).toBe('Failed');
    // Nor is anything begun anew where no rule asks for it.
    const plain = makePod({ restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] });
    const old = generateApiPodStatus(plain, runtimeStatus(main({})), makeContext());
    expect(
      generateApiPodStatus(plain, { ...runtimeStatus(), sandboxes: [makeSandbox()] }, makeContext({ oldStatus: old }))
        .phase,
    ).toBe('Failed');
  });

  test('K1: nor where it was killed when it had begun the init containers again', () => {
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
    // While it begins for the first time nothing of it has gone.
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

  test('K1: nor where it was killed when it had taken away an init container that asked for it, before any other had run', () => {
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

  test('S3: counts an init container without a record once, however often it is looked at', () => {
    const withInit: Pod = { ...pod, spec: { ...pod.spec, initContainers: [{ name: 'init', image: 'busybox' }] } };
    const counts: (number | undefined)[] = [];
    let oldStatus = generateApiPodStatus(withInit, runtimeStatus(main({}), side({})), makeContext());
    for (let look = 0; look < 4; look++) {
      oldStatus = generateApiPodStatus(withInit, runtimeStatus(exited, side({})), makeContext({ oldStatus }));
      counts.push(oldStatus.initContainerStatuses?.[0]?.restartCount);
    }
    expect(counts).toEqual([1, 1, 1, 1]);
  });

  test('keeps how they ended when they run again', () => {
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
    'tells how another one had crashed that its policy restarts, where the removal of its record %s',
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
    ['had failed, and runs again by its policy', { restartPolicy: 'Always' }, 1, true],
    ['had failed for good', { restartPolicy: 'Never' }, 1, false],
    ['had succeeded, though it runs again by its policy', { restartPolicy: 'Always' }, 0, false],
    ['had succeeded, and asked for it by that', asksAtSuccess, 0, true],
  ])('tells how one ended that %s, or that it is removed', (_name, fields, exitCode, isTold) => {
    const other = { name: 'side', image: 'busybox', ...fields };
    const withOther: Pod = makePod({ ...pod.spec, containers: [...pod.spec.containers.slice(0, 1), other] });
    const ended = runtimeStatus(exited, side({ state: 'exited', exitCode, reason: 'Done' }));
    const oldStatus = generateApiPodStatus(withOther, ended, makeContext());
    const status = generateApiPodStatus(withOther, runtimeStatus(), makeContext({ oldStatus }));
    expect(shown(status, 'side')?.lastState?.terminated).toMatchObject(
      isTold ? { exitCode, reason: 'Done' } : { exitCode: 137, reason: 'RestartingAllContainers' },
    );
  });

  test('says so of one that the runtime has lost meanwhile, now or before its newest run', () => {
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

  test('stays Running between the end of the repeated init container and the start of the main containers', () => {
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

  test('P7: has not ended while its init container runs once more, or is through, though the others had ended for good', () => {
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

  test('P7: though the removal of one and its next creation were seen together', () => {
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

  test('S1: has ended where only a container asks that has a stray attempt beside it: nobody begins them anew', () => {
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

  test('C3: is not shown as initialized by a main container that was merely created: it may be left over from before', () => {
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
  ])('has ended: %s', (phase, exitCode, reason) => {
    const ended = { state: 'exited', exitCode, reason: '' };
    const status = generateApiPodStatus(
      pod,
      runtimeStatus(main(ended), side(ended)),
      makeContext({ podIsTerminal: true }),
    );
    expect(status.phase).toBe(phase);
    expect(condition(status)).toEqual({ type: 'AllContainersRestarting', status: 'False', reason });
  });

  test('S1: containers that had ended for good begin anew too, and the pod has not ended meanwhile', () => {
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

  test('is a pod like any other where the gate is off', () => {
    const restartFeatures = { containerRestartRules: true, restartAllContainers: false };
    const context = makeContext({ oldStatus: before, restartFeatures });
    const status = generateApiPodStatus(pod, runtimeStatus(exited, side({ state: 'exited' })), context);
    expect(condition(status)).toBeUndefined();
    expect(status.phase).toBe('Failed');
  });

  test('a pod without such a rule does not tell of it', () => {
    const plain = generateApiPodStatus(makePod(), runtimeStatus(runtimeContainer()), makeContext());
    expect(condition(plain)).toBeUndefined();
  });
});

test('stop signals are told where their gate is on', () => {
  const runtime = runtimeStatus(runtimeContainer({ stopSignal: 'SIGUSR1' }));
  const told = (stopSignals?: boolean) =>
    generateApiPodStatus(makePod(), runtime, makeContext(stopSignals === undefined ? {} : { stopSignals }))
      .containerStatuses?.[0]?.stopSignal;
  expect([told(), told(false), told(true)]).toEqual([undefined, undefined, 'SIGUSR1']);
});
