import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { computePodActions } from '../src/actions/actions.ts';
import type { PodActionsContext } from '../src/actions/pod-actions.ts';
import { container, context, pod, record, sandbox, sidecar, status } from './builders.ts';

interface Expected {
  init?: readonly number[];
  main?: readonly number[];
  kill?: Record<string, string>;
  killPod?: boolean;
}
type Row = [name: string, pod: Pod, status: RuntimePodStatus, expected: Expected, context?: PodActionsContext];

function check(_name: string, aPod: Pod, aStatus: RuntimePodStatus, expected: Expected, aContext = context()): void {
  const actions = computePodActions(aPod, aStatus, aContext);
  expect({
    init: actions.initContainersToStart,
    main: actions.containersToStart,
    kill: Object.fromEntries([...actions.containersToKill].map(([id, { message }]) => [id, message])),
    killPod: actions.killPod,
  }).toEqual({ init: [], main: [], kill: {}, killPod: false, ...expected });
}

const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
const beginsAnew = pod({ initContainers: [container('i1')], containers: [container('app', { restartPolicyRules })] });

const beginsAnewInThree = pod({
  initContainers: [container('i1'), container('i2'), container('i3')],
  containers: beginsAnew.spec.containers,
});

const three = (restartPolicy = 'Always'): Pod =>
  pod({ restartPolicy, initContainers: [container('i1'), container('i2'), container('i3')] });

describe('init containers', () => {
  test.each<Row>([
    [
      'C3: a main container that was only created does not prove their completion if a rule may restart all containers',
      beginsAnew,
      status([record('app', 'created'), record('i1', 'running')]),
      {},
    ],
    [
      'C3: a main container that was only created proves nothing while no init container has started',
      beginsAnew,
      status([record('app', 'created')]),
      { init: [0] },
    ],
    [
      'C3: an exited main container proves their completion, beside one that was only created',
      beginsAnew,
      status([record('app', 'created', { restartCount: 1 }), record('app', 'exited', { exitCode: 1 })]),
      { main: [0] },
    ],
    [
      'C4: a stopped sidecar does not delay containers that ran before',
      pod({ initContainers: [sidecar('s')], containers: beginsAnew.spec.containers }),
      status([
        record('app', 'created', { restartCount: 1 }),
        record('app', 'exited', { exitCode: 1 }),
        record('s', 'exited', { exitCode: 1 }),
      ]),
      { init: [0], main: [0] },
    ],
    [
      'C3: an init container that was only created does not prove the completion of those before it',
      beginsAnewInThree,
      status([record('i2', 'created', { restartCount: 1 })]),
      { init: [0] },
    ],
    [
      'C3: an init container that was only created starts in its turn',
      beginsAnewInThree,
      status([record('i2', 'created', { restartCount: 1 }), record('i1', 'exited')]),
      { init: [1] },
    ],
    [
      'C3: a main container that was only created proves their completion if no rule may restart all containers',
      three(),
      status([record('i2', 'created')]),
      { init: [1] },
    ],
    ['C3: a running main container proves their completion', beginsAnew, status([record('app', 'running')]), {}],
    ['C3: the first one starts alone', three(), status(), { init: [0] }],
    ['C3: no other container starts while one runs', three(), status([record('i1', 'running')]), {}],
    ['C3: the next one follows a success', three(), status([record('i1', 'exited')]), { init: [1] }],
    ['C3: main containers follow the last success', three(), status([record('i3', 'exited')]), { main: [0] }],
    [
      'C3: one without a record does not run again if a later one has a record',
      three(),
      status([record('i2', 'exited')]),
      { init: [2] },
    ],
    ['C3: none runs again after a main container has a record', three(), status([record('app', 'running')]), {}],
    [
      'C3: none runs again after a main container has exited',
      three(),
      status([record('app', 'exited')]),
      { main: [0] },
    ],
    [
      'C3: a main container of an earlier sandbox proves nothing',
      three(),
      status([record('app', 'exited', { sandboxId: 'old' })], [sandbox({ id: 'new', attempt: 1 })]),
      { init: [0] },
    ],
    [
      'C3: an init container of an earlier sandbox proves nothing',
      three(),
      status([record('i3', 'exited', { sandboxId: 'old' })], [sandbox({ id: 'new', attempt: 1 })]),
      { init: [0] },
    ],
    [
      'C3: one that succeeded does not run again for a later attempt that was created late and never started',
      three(),
      status([record('i1', 'exited'), record('i1', 'created', { restartCount: 1 })]),
      { init: [1] },
    ],
    [
      'one that failed runs again for a later attempt that was created late and never started',
      three('OnFailure'),
      status([record('i1', 'exited', { exitCode: 1 }), record('i1', 'created', { restartCount: 1 })]),
      { init: [0] },
    ],
    [
      'one that failed runs again',
      three('OnFailure'),
      status([record('i1', 'exited', { exitCode: 1 })]),
      { init: [0] },
    ],
    [
      'a failure under Never ends the pod',
      three('Never'),
      status([record('i1', 'exited', { exitCode: 1 })]),
      { killPod: true },
    ],
    [
      'C6: one that exited with 0 after an OOM kill has failed',
      three('OnFailure'),
      status([record('i2', 'exited', { reason: 'OOMKilled' })]),
      { init: [1] },
    ],
    [
      'C6: one that exited with 0 after an OOM kill ends the pod under Never',
      three('Never'),
      status([record('i2', 'exited', { reason: 'OOMKilled' })]),
      { killPod: true },
    ],
    [
      'C3: a failure before a success does not count',
      three('Never'),
      status([record('i1', 'exited', { exitCode: 1 }), record('i2', 'running')]),
      {},
    ],
    [
      'one that was created and not started is started',
      three('Never'),
      status([record('i1', 'created')]),
      { init: [0] },
    ],
    [
      'C1: one in an unknown state is killed first',
      three(),
      status([record('i2', 'unknown')]),
      { init: [1], kill: { 'i2-0': 'Init container is in "unknown" state, try killing it before restart' } },
    ],
    [
      'one in an unknown state ends the pod under Never',
      three('Never'),
      status([record('i2', 'unknown')]),
      { killPod: true },
    ],
    [
      "its own restartPolicy takes precedence over the pod's",
      pod({ restartPolicy: 'Never', initContainers: [container('i1', { restartPolicy: 'OnFailure' })] }),
      status([record('i1', 'exited', { exitCode: 1 })]),
      { init: [0] },
    ],
    [
      "its own restart rule takes precedence over the pod's restartPolicy",
      pod({
        restartPolicy: 'Never',
        initContainers: [
          container('i1', {
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [9] } }],
          }),
        ],
      }),
      status([record('i1', 'exited', { exitCode: 9 })]),
      { init: [0] },
    ],
  ])('init containers: %s', check);
});

describe('sidecars', () => {
  const startupProbe = { httpGet: { port: 80 } };
  const livenessProbe = startupProbe;
  const plain = (restartPolicy = 'Always'): Pod =>
    pod({ restartPolicy, initContainers: [sidecar('s1'), sidecar('s2'), sidecar('s3')] });
  const probed = pod({ initContainers: [sidecar('s1', { startupProbe, livenessProbe }), container('i2')] });
  const allUp = [record('s1', 'running'), record('s2', 'running'), record('s3', 'running')];
  test.each<Row>([
    ['C4: the first one starts alone', plain(), status(), { init: [0] }],
    ['C4: the next one starts as soon as one runs', plain(), status([record('s1', 'running')]), { init: [1] }],
    ['C4: main containers start when the last one runs', plain(), status(allUp), { main: [0] }],
    ['one that was created and not started is started', plain(), status([record('s1', 'created')]), { init: [0] }],
    ['C4: the next one waits while a startup probe has no result', probed, status([record('s1', 'running')]), {}],
    [
      'C4: the next one waits while the result of a startup probe is unknown',
      probed,
      status([record('s1', 'running')]),
      {},
      context({}, { 's1-0': 'unknown' }),
    ],
    [
      'C4: the next one starts after the startup probe has succeeded',
      probed,
      status([record('s1', 'running')]),
      { init: [1] },
      context({}, { 's1-0': 'success' }),
    ],
    [
      'a startup failure restarts it',
      probed,
      status([record('s1', 'running')]),
      { init: [0], kill: { 's1-0': 'Init container s1 failed startup probe' } },
      context({}, { 's1-0': 'failure' }),
    ],
    [
      'a liveness failure restarts it and delays no other container',
      probed,
      status([record('s1', 'running')]),
      { init: [0, 1], kill: { 's1-0': 'Init container s1 failed liveness probe' } },
      context({ 's1-0': 'failure' }, { 's1-0': 'success' }),
    ],
    [
      'one that exited restarts, also under Never',
      plain('Never'),
      status([...allUp.slice(0, 1), record('s2', 'exited'), record('s3', 'running'), record('app', 'running')]),
      { init: [1] },
    ],
    [
      'one that exited before the next had started restarts first',
      plain(),
      status([record('s1', 'exited', { exitCode: 1 })]),
      { init: [0] },
    ],
    [
      'several restart in order',
      plain(),
      status([record('s1', 'exited'), record('s2', 'running'), record('s3', 'exited'), record('app', 'running')]),
      { init: [0, 2] },
    ],
    [
      'one without a record restarts if a later one has a record',
      plain(),
      status([record('s3', 'running'), record('app', 'running')]),
      { init: [0, 1] },
    ],
    [
      'another image restarts it',
      plain(),
      status([record('s1', 'running', { hash: 'f00' }), ...allUp.slice(1), record('app', 'running')]),
      { init: [0], kill: { 's1-0': 'Init container s1 definition changed' } },
    ],
    [
      'C1: one in an unknown state is killed first',
      plain(),
      status([record('s1', 'unknown'), ...allUp.slice(1), record('app', 'running')]),
      { init: [0], kill: { 's1-0': 'Init container is in "unknown" state, try killing it before restart' } },
    ],
    [
      'C4: none restarts after the main containers have terminated, and the pod is killed',
      plain('Never'),
      status([record('s1', 'exited'), ...allUp.slice(1), record('app', 'exited')]),
      { killPod: true },
    ],
    [
      'an init container between them runs once',
      pod({ initContainers: [sidecar('s1'), container('i2'), sidecar('s3')] }),
      status([record('s1', 'running'), record('i2', 'exited')]),
      { init: [2] },
    ],
    [
      'a sidecar that died is restarted while an init container runs',
      pod({ initContainers: [sidecar('s1'), container('i2')] }),
      status([record('s1', 'exited'), record('i2', 'running')]),
      { init: [0] },
    ],
  ])('sidecars: %s', check);
});
