import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { computePodActions } from '../src/actions/actions.ts';
import type { PodActions, PodActionsContext } from '../src/actions/pod-actions.ts';
import { surplusInitContainers } from '../src/actions/prune-rule.ts';
import { container, context, pod, record, sandbox, sidecar, status } from './builders.ts';

/** What a row expects; what it leaves out must be "nothing", on the sandbox that is there. */
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

describe('sandbox', () => {
  const dead = sandbox({ state: 'notReady' });
  test.each<Row>([
    [
      'a pod that is new gets a sandbox and all its containers',
      two('Always'),
      status([], []),
      { ...newSandbox, sandboxId: '', containersToStart: [0, 1] },
    ],
    ['a pod that runs is left alone', two('Always'), status([record('a', 'running'), record('b', 'running')]), {}],
    [
      'a dead sandbox is replaced, under the next attempt',
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
      'a ready sandbox that is not the newest does not serve',
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
      'a sandbox of which the runtime tells no network stays',
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
      'policy Never: what was running when the sandbox died does not run again',
      two('Never'),
      status([record('a', 'exited'), record('b', 'running')], [dead]),
      { killPod: true, attempt: 1 },
    ],
    [
      'P7: policy Never: a container that has not run yet still does, in a second sandbox',
      two('Never'),
      status([record('a', 'exited')], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'C6: a container with a policy of its own goes by that in a new sandbox, too',
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
      'policy Never: a pod that never got a container does',
      two('Never'),
      status([], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [0, 1] },
    ],
    [
      'policy OnFailure: only what did not succeed starts again',
      two('OnFailure'),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 1 })], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'C6: policy OnFailure: nor what exited with 0 after a process of it was killed for its memory',
      two('OnFailure'),
      status([record('a', 'exited', { reason: 'OOMKilled' }), record('b', 'exited', { exitCode: 1 })], [dead]),
      { ...newSandbox, attempt: 1, containersToStart: [1] },
    ],
    [
      'policy OnFailure: nothing left to do, so no new sandbox',
      two('OnFailure'),
      status([record('a', 'exited'), record('b', 'exited')], [dead]),
      { killPod: true, attempt: 1 },
    ],
    [
      'init containers begin anew with the sandbox',
      pod({ initContainers: [container('i1'), container('i2')] }),
      status([record('i1', 'exited'), record('i2', 'exited'), record('app', 'exited')], [dead]),
      { ...newSandbox, attempt: 1, initContainersToStart: [0] },
    ],
  ])('%s', (_name, aPod, aStatus, expected, aContext = context()) => {
    expectActions(computePodActions(aPod, aStatus, aContext), expected);
  });
});

describe('main containers', () => {
  const exited = (exitCode: number, reason = '') =>
    status([record('a', 'exited', { exitCode, reason }), record('b', 'running')]);
  test.each<Row>([
    ['one that is missing starts', two('Always'), status([record('a', 'running')]), { containersToStart: [1] }],
    ['Always: an exit with 0 is followed by a start', two('Always'), exited(0), { containersToStart: [0] }],
    ['OnFailure: an exit with 0 is the end', two('OnFailure'), exited(0), {}],
    [
      'C6: OnFailure: nor is it for a later attempt that an earlier kubelet’s call left late, never started',
      two('OnFailure'),
      status([record('a', 'created', { restartCount: 1 }), record('a', 'exited'), record('b', 'running')]),
      {},
    ],
    [
      'C6: Never: nor is one with 1',
      two('Never'),
      status([
        record('a', 'created', { restartCount: 1 }),
        record('a', 'exited', { exitCode: 1 }),
        record('b', 'running'),
      ]),
      {},
    ],
    [
      'OnFailure: one that a probe may have killed goes on with what was created after its end',
      pod({
        restartPolicy: 'OnFailure',
        containers: [container('a', { livenessProbe: { exec: { command: ['true'] } } }), container('b')],
      }),
      status([record('a', 'created', { restartCount: 1 }), record('a', 'exited'), record('b', 'running')]),
      { containersToStart: [0] },
    ],
    ['OnFailure: an exit with 1 is not', two('OnFailure'), exited(1), { containersToStart: [0] }],
    [
      'C6: OnFailure: an exit with 0 is the end, though a process was killed for its memory',
      two('OnFailure'),
      exited(0, 'OOMKilled'),
      {},
    ],
    [
      'C6: a rule for exit code 0 holds for it, too',
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
    ['Never: any exit is the end', two('Never'), exited(1), {}],
    [
      'Never: created but not started has not run',
      two('Never'),
      status([record('a', 'created'), record('b', 'running')]),
      { containersToStart: [0] },
    ],
    [
      'all ended for good: the pod goes',
      two('Never'),
      status([record('a', 'exited'), record('b', 'exited', { exitCode: 3 })]),
      { killPod: true },
    ],
    [
      'a pod that is being deleted restarts nothing',
      pod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      status([record('app', 'exited')]),
      { killPod: true },
    ],
    [
      'another image: killed and started, whatever the policy',
      two('Never'),
      status([record('a', 'running', { hash: 'abc' }), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container a definition changed, will be restarted' } },
    ],
    [
      'a record that lost its hash is left alone',
      two('Always'),
      status([record('a', 'running', { hash: '' }), record('b', 'running')]),
      {},
    ],
    [
      'C1: one in unknown state is killed before it starts again',
      two('Always'),
      status([record('a', 'unknown'), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container is in "unknown" state, try killing it before restart' } },
    ],
    [
      'a liveness failure restarts',
      two('Always'),
      status([record('a', 'running'), record('b', 'running')]),
      { containersToStart: [0], kill: { 'a-0': 'Container a failed liveness probe, will be restarted' } },
      context({ 'a-0': 'failure' }),
    ],
    [
      'a liveness failure under Never only kills, and does not end the pod',
      two('Never'),
      status([record('a', 'running'), record('b', 'running')]),
      { kill: { 'a-0': 'Container a failed liveness probe' } },
      context({ 'a-0': 'failure' }),
    ],
    [
      'a startup failure restarts',
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
  ])('%s', (_name, aPod, aStatus, expected, aContext = context()) => {
    expectActions(computePodActions(aPod, aStatus, aContext), expected);
  });

  test('the reason of a kill names the failed probe', () => {
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
      'a running one counts, though a later "created" one was left by a lost answer',
      pod(),
      status([
        record('app', 'created', { restartCount: 0, id: 'late', createdAtMs: 9_000 }),
        record('app', 'running', { restartCount: 1 }),
      ]),
      {},
    ],
    [
      'the highest attempt counts, though a clock that was set back made it older',
      pod({ restartPolicy: 'OnFailure' }),
      status([
        record('app', 'exited', { restartCount: 0, exitCode: 1, createdAtMs: 9_000 }),
        record('app', 'exited', { restartCount: 1, createdAtMs: 1_000 }),
      ]),
      { killPod: true },
    ],
    [
      'one that runs in a sandbox that was replaced goes, and comes back in the one that is there',
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
      'a sidecar that runs in a sandbox that was replaced goes too',
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
      'a running one counts, though a higher attempt was created beside it',
      pod(),
      status([record('app', 'created', { restartCount: 2 }), record('app', 'running', { restartCount: 1 })]),
      {},
    ],
    [
      'of two that run the older attempt goes',
      pod(),
      status([record('app', 'running', { restartCount: 1 }), record('app', 'running', { restartCount: 0 })]),
      { kill: { 'app-0': 'Container app runs twice, stopping attempt 0' } },
    ],
  ];
  test.each(rows)('%s', (_name, aPod, aStatus, expected, aContext = context()) => {
    expectActions(computePodActions(aPod, aStatus, aContext), expected);
  });
});

describe('ephemeral containers', () => {
  const debugged = pod({
    ephemeralContainers: [
      { name: 'd1', image: 'x' },
      { name: 'd2', image: 'x' },
    ],
  });
  test.each<Row>([
    [
      'start once',
      debugged,
      status([record('app', 'running'), record('d1', 'exited')]),
      { ephemeralContainersToStart: [1] },
    ],
    [
      'one that was created and not started has not run',
      debugged,
      status([record('app', 'running'), record('d1', 'running'), record('d2', 'created')]),
      { ephemeralContainersToStart: [1] },
    ],
    [
      'C6: one that has run does not for a later attempt that was created late',
      debugged,
      status([record('app', 'running'), record('d1', 'created', { restartCount: 1 }), record('d1', 'exited')]),
      { ephemeralContainersToStart: [1] },
    ],
    ['wait for the new sandbox', debugged, status([], []), { ...newSandbox, sandboxId: '', containersToStart: [0] }],
  ])('%s', (_name, aPod, aStatus, expected, aContext = context()) => {
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
      'C6: a rule that matches restarts against both policies',
      ruled('Never', rule('Restart', 'In', 42)),
      after(42),
      { containersToStart: [0] },
    ],
    [
      'C6: where none matches the policy of the container decides',
      ruled('Never', rule('Restart', 'In', 42)),
      after(1),
      {},
    ],
    [
      'C6: the policy of the container wins over that of the pod',
      ruled('Always'),
      after(0),
      { containersToStart: [0] },
    ],
    [
      'C6: NotIn matches what is not listed',
      ruled('Never', rule('Restart', 'NotIn', 0)),
      after(7),
      { containersToStart: [0] },
    ],
    ['C6: NotIn does not match what is listed', ruled('Never', rule('Restart', 'NotIn', 0)), after(0), {}],
    ['C6: an unknown operator matches nothing', ruled('Never', rule('Restart', 'Near', 1)), after(1), {}],
  ])('%s', (_name, aPod, aStatus, expected, aContext = context()) => {
    expectActions(computePodActions(aPod, aStatus, aContext), expected);
  });

  test('ignores rules and policy of containers if the gate is disabled', () => {
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

  test('RestartAllContainers removes every record, the requesting container’s last', () => {
    expectActions(computePodActions(all, everything, context()), {
      containersToReset: [
        { id: 'b-0', name: 'b', kill: true, neverRan: false },
        { id: 'i-0', name: 'i', kill: false, neverRan: false },
        { id: 'a-0', name: 'a', kill: false, neverRan: false },
      ],
    });
  });

  test('C6: the first matching rule wins, also over RestartAllContainers', () => {
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

  test('restarts the pod in the same sandbox once all records are gone', () => {
    expectActions(computePodActions(all, status(), context()), { initContainersToStart: [0] });
  });
});

// With all records gone through for each, it would take longer than a test may.
describe('K5: pod with very many containers', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `c${index}`);
  const containers = names.map((name) => container(name));
  const many = pod({ containers, initContainers: names.map((name) => sidecar(`s${name}`)) });

  test.each(['running', 'exited'] as const)('is evaluated in linear time with all containers %s', (state) => {
    const records = status([...names, ...names.map((name) => `s${name}`)].map((name) => record(name, state)));
    const { containersToStart } = computePodActions(many, records, context());
    expect(containersToStart).toHaveLength(state === 'exited' ? names.length : 0);
    expect(surplusInitContainers(many, records.containers, false)).toEqual([]);
  });
});
