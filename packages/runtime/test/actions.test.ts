import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { computePodActions } from '../src/actions/actions.ts';
import type { PodActions, PodActionsContext } from '../src/actions/pod-actions.ts';
import { surplusInitContainers } from '../src/actions/prune-rule.ts';
import { container, context, pod, record, sandbox, sidecar, status } from './builders.ts';

/**
 * Checks computed actions against the expected actions of a row. Fields that the row omits must be empty, and the
 * existing sandbox must be kept.
 */
function expectActions(
  actual: PodActions,
  expected: Partial<Omit<PodActions, 'containersToKill'>> & { kill?: Record<string, string> },
): void {
  const { kill = {}, ...rest } = expected;
  const { containersToKill, ...others } = actual;
  expect(others).toEqual({
    containersToUpdate: { memory: [], cpu: [] },
    updatePodResources: false,
    updatePodLevelResources: false,
    killPod: false,
    createSandbox: false,
    sandboxId: 'sandbox-0',
    attempt: 0,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToReset: [],
    ...rest,
  });
  expect(Object.fromEntries([...containersToKill].map(([id, { message }]) => [id, message]))).toEqual(kill);
}

type Row = [
  name: string,
  pod: Pod,
  status: RuntimePodStatus,
  expected: Parameters<typeof expectActions>[1],
  context?: PodActionsContext,
];

const two = (restartPolicy: string): Pod => pod({ restartPolicy, containers: [container('a'), container('b')] });
const newSandbox = { killPod: true, createSandbox: true };

describe('pod actions for the sandbox', () => {
  const dead = sandbox({ state: 'notReady' });
  test.each<Row>([
    [
      'a pod that is new gets a sandbox and all its containers',
      two('Always'),
      status([], []),
      { ...newSandbox, sandboxId: '', containersToStart: [0, 1] },
    ],
    ['a running pod needs no action', two('Always'), status([record('a', 'running'), record('b', 'running')]), {}],
    [
      'a dead sandbox is replaced with the next attempt number',
      two('Always'),
      status([record('a', 'exited'), record('b', 'exited')], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [0, 1] },
    ],
    [
      'two ready sandboxes are both replaced',
      two('Always'),
      status([], [sandbox({ id: 's1', attempt: 1 }), sandbox()]),
      { ...newSandbox, sandboxId: 's1', attempt: 2, containersToStart: [0, 1] },
    ],
    [
      'a ready sandbox that is not the newest is replaced',
      two('Always'),
      status([], [sandbox({ id: 's1', attempt: 1, state: 'notReady' }), sandbox()]),
      { ...newSandbox, sandboxId: 's1', attempt: 2, containersToStart: [0, 1] },
    ],
    [
      'a sandbox on the wrong network is replaced',
      { ...two('Always'), spec: { ...two('Always').spec, hostNetwork: true } },
      status(),
      { ...newSandbox, sandboxId: '', attempt: 1, containersToStart: [0, 1] },
    ],
    [
      'a sandbox without an address is replaced',
      two('Always'),
      status([], [sandbox({ ips: [] })]),
      { ...newSandbox, attempt: 1, containersToStart: [0, 1] },
    ],
    [
      'a sandbox without network information from the runtime is kept',
      two('Always'),
      status([], [sandbox({ ips: [], networkReported: false })]),
      { containersToStart: [0, 1] },
    ],
    [
      'a sandbox on the host network needs no address',
      pod({ hostNetwork: true }),
      status([record('app', 'running')], [sandbox({ ips: [], hostNetwork: true })]),
      {},
    ],
    [
      'policy Never: a pod that has run gets no second sandbox',
      two('Never'),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 1 })], [dead]),
      { killPod: true, attempt: 1 },
    ],
    [
      'policy Never: a container that ran when the sandbox died does not run again',
      two('Never'),
      status([record('a', 'exited'), record('b', 'running')], [dead]),
      { killPod: true, attempt: 1 },
    ],
    [
      'P7: policy Never: a container that has not run yet runs in a second sandbox',
      two('Never'),
      status([record('a', 'exited')], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'C6: the restartPolicy of a container applies in a new sandbox, too',
      pod({
        restartPolicy: 'Never',
        containers: [container('a'), { ...container('b'), restartPolicy: 'OnFailure' }],
      }),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 1 })], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'C6: a container of policy Never does not run again in a new sandbox of a pod of policy Always',
      pod({ restartPolicy: 'Always', containers: [container('a'), { ...container('b'), restartPolicy: 'Never' }] }),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 1 })], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [0] },
    ],
    [
      'policy Never: a pod without any container so far gets a new sandbox',
      two('Never'),
      status([], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [0, 1] },
    ],
    [
      'policy OnFailure: only containers that did not succeed restart in a new sandbox',
      two('OnFailure'),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 1 })], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'C6: policy OnFailure: a container that exited with 0 after an OOM kill does not restart in a new sandbox',
      two('OnFailure'),
      status([record('a', 'exited', { reason: 'OOMKilled' }), record('b', 'exited', { exitCode: 1 })], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'policy OnFailure: all containers have succeeded, so there is no new sandbox',
      two('OnFailure'),
      status([record('a', 'exited'), record('b', 'exited')], [dead]),
      { killPod: true, attempt: 1 },
    ],
    [
      'init containers run again in a new sandbox',
      pod({ initContainers: [container('i1'), container('i2')] }),
      status([record('i1', 'exited'), record('i2', 'exited'), record('app', 'exited')], [dead]),
      { ...newSandbox, attempt: 1, initContainersToStart: [0] },
    ],
  ])(
    'computes whether a pod gets a new sandbox and which containers start: %s',
    (_name, aPod, aStatus, expected, aContext = context()) => {
      expectActions(computePodActions(aPod, aStatus, aContext), expected);
    },
  );
});

describe('pod actions for main containers', () => {
  const exited = (exitCode: number, reason = '') =>
    status([record('a', 'exited', { exitCode, reason }), record('b', 'running')]);
  test.each<Row>([
    ['a missing container starts', two('Always'), status([record('a', 'running')]), { containersToStart: [1] }],
    ['Always: a container that exited with 0 restarts', two('Always'), exited(0), { containersToStart: [0] }],
    ['OnFailure: a container that exited with 0 does not restart', two('OnFailure'), exited(0), {}],
    [
      'C6: OnFailure: a later attempt that was created but never started does not restart a container that exited with 0',
      two('OnFailure'),
      status([record('a', 'created', { restartCount: 1 }), record('a', 'exited'), record('b', 'running')]),
      {},
    ],
    [
      'C6: Never: a later attempt that was created but never started does not restart a container that exited with 1',
      two('Never'),
      status([
        record('a', 'created', { restartCount: 1 }),
        record('a', 'exited', { exitCode: 1 }),
        record('b', 'running'),
      ]),
      {},
    ],
    [
      'OnFailure: an attempt that was created after a possible probe kill is started',
      pod({
        restartPolicy: 'OnFailure',
        containers: [container('a', { livenessProbe: { exec: { command: ['true'] } } }), container('b')],
      }),
      status([record('a', 'created', { restartCount: 1 }), record('a', 'exited'), record('b', 'running')]),
      { containersToStart: [0] },
    ],
    ['OnFailure: a container that exited with 1 restarts', two('OnFailure'), exited(1), { containersToStart: [0] }],
    [
      'C6: OnFailure: a container that exited with 0 after an OOM kill does not restart',
      two('OnFailure'),
      exited(0, 'OOMKilled'),
      {},
    ],
    [
      'C6: a restart rule for exit code 0 matches after an OOM kill, too',
      pod({
        restartPolicy: 'Never',
        containers: [
          container('a', {
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [0] } }],
          }),
          container('b'),
        ],
      }),
      exited(0, 'OOMKilled'),
      { containersToStart: [0] },
    ],
    ['Never: a container that exited does not restart', two('Never'), exited(1), {}],
    [
      'Never: a container that was created but not started is started',
      two('Never'),
      status([record('a', 'created'), record('b', 'running')]),
      { containersToStart: [0] },
    ],
    [
      'all containers have terminated for good: the pod is killed',
      two('Never'),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 3 })]),
      { killPod: true },
    ],
    [
      'a pod that is being deleted restarts no container',
      pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      status([record('app', 'exited')]),
      { killPod: true },
    ],
    [
      'a container with another image is killed and started, whatever the policy',
      two('Never'),
      status([record('a', 'running', { hash: 'abc' }), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container a definition changed, will be restarted' } },
    ],
    [
      'a container without a hash is kept',
      two('Always'),
      status([record('a', 'running', { hash: '' }), record('b', 'running')]),
      {},
    ],
    [
      'C1: a container in an unknown state is killed before it restarts',
      two('Always'),
      status([record('a', 'unknown'), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container is in "unknown" state, try killing it before restart' } },
    ],
    [
      'a failed liveness probe restarts the container',
      two('Always'),
      status([record('a', 'running'), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container a failed liveness probe, will be restarted' } },
      context({ 'a-0': 'failure' }),
    ],
    [
      'a failed liveness probe kills a container with restartPolicy Never, and does not end the pod',
      two('Never'),
      status([record('a', 'running'), record('b', 'running')]),
      { kill: { 'a-0': 'Container a failed liveness probe' } },
      context({ 'a-0': 'failure' }),
    ],
    [
      'a failed startup probe restarts the container',
      two('OnFailure'),
      status([record('a', 'running'), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container a failed startup probe, will be restarted' } },
      context({}, { 'a-0': 'failure' }),
    ],
    [
      'an unknown probe result does nothing',
      two('Always'),
      status([record('a', 'running'), record('b', 'running')]),
      {},
      context({ 'a-0': 'unknown' }),
    ],
  ])(
    'computes which main containers are started and killed: %s',
    (_name, aPod, aStatus, expected, aContext = context()) => {
      expectActions(computePodActions(aPod, aStatus, aContext), expected);
    },
  );

  test('the message of a kill after a failed probe names the probe', () => {
    const running = status([record('a', 'running'), record('b', 'running')]);
    const kills = computePodActions(
      two('Always'),
      running,
      context({ 'a-0': 'failure' }, { 'b-0': 'failure' }),
    ).containersToKill;
    expect([...kills.values()].map(({ reason }) => reason)).toEqual(['LivenessProbe', 'StartupProbe']);
  });
});

describe('C1: current attempt among several attempts of one container', () => {
  const rows: Row[] = [
    [
      'a running attempt is current even if a later one was created by a call with a lost response',
      pod(),
      status([
        record('app', 'created', { restartCount: 0, id: 'late', createdAtMs: 9_000 }),
        record('app', 'running', { restartCount: 1 }),
      ]),
      {},
    ],
    [
      'the highest attempt is current even if the clock was set back',
      pod({ restartPolicy: 'OnFailure' }),
      status([
        record('app', 'exited', { restartCount: 0, exitCode: 1, createdAtMs: 9_000 }),
        record('app', 'exited', { restartCount: 1, createdAtMs: 1_000 }),
      ]),
      { killPod: true },
    ],
    [
      'an attempt in a replaced sandbox is killed and started in the current sandbox',
      pod({ initContainers: [sidecar('s')] }),
      status(
        [record('app', 'running', { sandboxId: 'old' }), record('s', 'running', { sandboxId: 'new' })],
        [sandbox({ id: 'new', attempt: 1 })],
      ),
      {
        sandboxId: 'new',
        attempt: 1,
        containersToStart: [0],
        kill: { 'app-0': 'Container is in "unknown" state, try killing it before restart' },
      },
    ],
    [
      'a sidecar in a replaced sandbox is killed, too',
      pod({ initContainers: [sidecar('s')] }),
      status([record('s', 'running', { sandboxId: 'old' })], [sandbox({ id: 'new', attempt: 1 })]),
      {
        sandboxId: 'new',
        attempt: 1,
        initContainersToStart: [0],
        kill: { 's-0': 'Container s is in a sandbox that was replaced' },
      },
    ],
    [
      'a running attempt is current even if a higher attempt was created',
      pod(),
      status([record('app', 'created', { restartCount: 2 }), record('app', 'running', { restartCount: 1 })]),
      {},
    ],
    [
      'of two running attempts of a container the older is killed',
      pod(),
      status([record('app', 'running', { restartCount: 1 }), record('app', 'running', { restartCount: 0 })]),
      { kill: { 'app-0': 'Container app runs twice, stopping attempt 0' } },
    ],
  ];
  test.each(rows)(
    'C1: computes pod actions by the current one of several attempts of a container: %s',
    (_name, aPod, aStatus, expected, aContext = context()) => {
      expectActions(computePodActions(aPod, aStatus, aContext), expected);
    },
  );
});

describe('pod actions for ephemeral containers', () => {
  const debugged = pod({
    ephemeralContainers: [
      { name: 'd1', image: 'x' },
      { name: 'd2', image: 'x' },
    ],
  });
  test.each<Row>([
    [
      'each ephemeral container starts once',
      debugged,
      status([record('app', 'running'), record('d1', 'exited')]),
      { ephemeralContainersToStart: [1] },
    ],
    [
      'a container that was created but not started is started',
      debugged,
      status([record('app', 'running'), record('d1', 'running'), record('d2', 'created')]),
      { ephemeralContainersToStart: [1] },
    ],
    [
      'C6: an ephemeral container that has run does not start again if a later attempt was created',
      debugged,
      status([record('app', 'running'), record('d1', 'created', { restartCount: 1 }), record('d1', 'exited')]),
      { ephemeralContainersToStart: [1] },
    ],
    [
      'ephemeral containers wait for a new sandbox',
      debugged,
      status([], []),
      { ...newSandbox, sandboxId: '', containersToStart: [0] },
    ],
  ])('computes which ephemeral containers start: %s', (_name, aPod, aStatus, expected, aContext = context()) => {
    expectActions(computePodActions(aPod, aStatus, aContext), expected);
  });
});

describe('container restart rules', () => {
  const rule = (action: string, operator: string, ...values: number[]) => ({ action, exitCodes: { operator, values } });
  const ruled = (restartPolicy: string, ...restartPolicyRules: ReturnType<typeof rule>[]): Pod =>
    pod({
      restartPolicy: 'Never',
      containers: [container('a', { restartPolicy, restartPolicyRules }), container('b')],
    });
  const after = (exitCode: number) => status([record('a', 'exited', { exitCode }), record('b', 'running')]);
  test.each<Row>([
    [
      'C6: a matching rule restarts the container despite restartPolicy Never',
      ruled('Never', rule('Restart', 'In', 42)),
      after(42),
      { containersToStart: [0] },
    ],
    [
      'C6: without a matching rule the restartPolicy of the container decides',
      ruled('Never', rule('Restart', 'In', 42)),
      after(1),
      {},
    ],
    [
      "C6: the restartPolicy of the container takes precedence over the pod's",
      ruled('Always'),
      after(0),
      { containersToStart: [0] },
    ],
    [
      'C6: NotIn matches an exit code that is not listed',
      ruled('Never', rule('Restart', 'NotIn', 0)),
      after(7),
      { containersToStart: [0] },
    ],
    ['C6: NotIn does not match a listed exit code', ruled('Never', rule('Restart', 'NotIn', 0)), after(0), {}],
    ['C6: an unknown operator matches nothing', ruled('Never', rule('Restart', 'Near', 1)), after(1), {}],
  ])(
    'computes by container restart rules which containers restart: %s',
    (_name, aPod, aStatus, expected, aContext = context()) => {
      expectActions(computePodActions(aPod, aStatus, aContext), expected);
    },
  );

  test('restart rules and restartPolicy of containers are ignored if the feature gate is disabled', () => {
    const off = { ...context(), features: { containerRestartRules: false, restartAllContainers: false } };
    expectActions(computePodActions(ruled('Always', rule('Restart', 'In', 42)), after(42), off), {});
  });

  const all = pod({
    restartPolicy: 'Never',
    initContainers: [container('i')],
    containers: [
      container('a', {
        restartPolicy: 'Never',
        restartPolicyRules: [rule('RestartAllContainers', 'In', 42), rule('Restart', 'In', 42)],
      }),
      container('b'),
    ],
  });
  const everything = status([record('b', 'running'), record('a', 'exited', { exitCode: 42 }), record('i', 'exited')]);

  test('RestartAllContainers removes every container record, the record of the requesting container last', () => {
    expectActions(computePodActions(all, everything, context()), {
      containersToReset: [
        { id: 'b-0', name: 'b', kill: true, neverRan: false },
        { id: 'i-0', name: 'i', kill: false, neverRan: false },
        { id: 'a-0', name: 'a', kill: false, neverRan: false },
      ],
    });
  });

  test('C6: the first matching restart rule decides, even before RestartAllContainers', () => {
    const reversed = pod({
      ...all.spec,
      containers: [
        container('a', {
          restartPolicy: 'Never',
          restartPolicyRules: [rule('Restart', 'In', 42), rule('RestartAllContainers', 'In', 42)],
        }),
        container('b'),
      ],
    });
    expectActions(computePodActions(reversed, everything, context()), { containersToStart: [0] });
  });

  test('after RestartAllContainers has removed all records, the pod restarts in the same sandbox', () => {
    expectActions(computePodActions(all, status(), context()), { initContainersToStart: [0] });
  });
});

// If each container were searched in all container records, the test would exceed its timeout.
describe('K5: pod with very many containers', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `c${index}`);
  const containers = names.map((name) => container(name));
  const many = pod({ containers, initContainers: names.map((name) => sidecar(`s${name}`)) });

  test.each(['running', 'exited'] as const)(
    'K5: computes the actions of a pod with very many containers, all of them %s, in linear time',
    (state) => {
      const records = status([...names, ...names.map((name) => `s${name}`)].map((name) => record(name, state)));
      const { containersToStart } = computePodActions(many, records, context());
      expect(containersToStart).toHaveLength(state === 'exited' ? names.length : 0);
      expect(surplusInitContainers(many, records.containers, false)).toEqual([]);
    },
  );
});
