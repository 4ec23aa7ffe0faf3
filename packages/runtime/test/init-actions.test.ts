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

describe('pod actions for init containers', () => {
  test.each<Row>([
    [
      'C3: a main container that was only created does not prove the completion of the init containers if a rule may restart all containers',
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
      'C3: an exited main container proves the completion of the init containers, even if another one was only created',
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
      'C3: a main container that was only created proves the completion of the init containers if no rule may restart all containers',
      three(),
      status([record('i2', 'created')]),
      { init: [1] },
    ],
    [
      'C3: a running main container proves the completion of the init containers',
      beginsAnew,
      status([record('app', 'running')]),
      {},
    ],
    ['C3: the first init container starts alone', three(), status(), { init: [0] }],
    ['C3: no other container starts while an init container runs', three(), status([record('i1', 'running')]), {}],
    [
      'C3: the next init container starts after the previous one has succeeded',
      three(),
      status([record('i1', 'exited')]),
      { init: [1] },
    ],
    [
      'C3: main containers start after the last init container has succeeded',
      three(),
      status([record('i3', 'exited')]),
      { main: [0] },
    ],
    [
      'C3: an init container without a record does not run again if a later one has a record',
      three(),
      status([record('i2', 'exited')]),
      { init: [2] },
    ],
    [
      'C3: no init container runs again after a main container has a record',
      three(),
      status([record('app', 'running')]),
      {},
    ],
    [
      'C3: no init container runs again after a main container has exited',
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
      'C3: an init container that succeeded does not run again if a later attempt was created and never started',
      three(),
      status([record('i1', 'exited'), record('i1', 'created', { restartCount: 1 })]),
      { init: [1] },
    ],
    [
      'a failed init container runs again if a later attempt was created and never started',
      three('OnFailure'),
      status([record('i1', 'exited', { exitCode: 1 }), record('i1', 'created', { restartCount: 1 })]),
      { init: [0] },
    ],
    [
      'a failed init container runs again',
      three('OnFailure'),
      status([record('i1', 'exited', { exitCode: 1 })]),
      { init: [0] },
    ],
    [
      'a failed init container ends the pod if its restartPolicy is Never',
      three('Never'),
      status([record('i1', 'exited', { exitCode: 1 })]),
      { killPod: true },
    ],
    [
      'C6: an init container that exited with 0 after an OOM kill has failed',
      three('OnFailure'),
      status([record('i2', 'exited', { reason: 'OOMKilled' })]),
      { init: [1] },
    ],
    [
      'C6: an init container that exited with 0 after an OOM kill ends the pod if its restartPolicy is Never',
      three('Never'),
      status([record('i2', 'exited', { reason: 'OOMKilled' })]),
      { killPod: true },
    ],
    [
      'C3: an earlier failure of an init container does not matter after its success',
      three('Never'),
      status([record('i1', 'exited', { exitCode: 1 }), record('i2', 'running')]),
      {},
    ],
    [
      'an init container that was created but not started is started',
      three('Never'),
      status([record('i1', 'created')]),
      { init: [0] },
    ],
    [
      'C1: an init container in an unknown state is killed before it restarts',
      three(),
      status([record('i2', 'unknown')]),
      { init: [1], kill: { 'i2-0': 'Init container is in "unknown" state, try killing it before restart' } },
    ],
    [
      'an init container in an unknown state ends the pod if its restartPolicy is Never',
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
  ])('computes which init containers start, restart or fail the pod: %s', check);
});

describe('pod actions for sidecars', () => {
  const startupProbe = { httpGet: { port: 80 } };
  const livenessProbe = startupProbe;
  const plain = (restartPolicy = 'Always'): Pod =>
    pod({ restartPolicy, initContainers: [sidecar('s1'), sidecar('s2'), sidecar('s3')] });
  const probed = pod({ initContainers: [sidecar('s1', { startupProbe, livenessProbe }), container('i2')] });
  const allUp = [record('s1', 'running'), record('s2', 'running'), record('s3', 'running')];
  test.each<Row>([
    ['C4: the first sidecar starts alone', plain(), status(), { init: [0] }],
    [
      'C4: the next sidecar starts as soon as the previous one runs',
      plain(),
      status([record('s1', 'running')]),
      { init: [1] },
    ],
    ['C4: main containers start when the last sidecar runs', plain(), status(allUp), { main: [0] }],
    [
      'a sidecar that was created but not started is started',
      plain(),
      status([record('s1', 'created')]),
      { init: [0] },
    ],
    [
      'C4: the next sidecar waits while the startup probe of the previous one has no result',
      probed,
      status([record('s1', 'running')]),
      {},
    ],
    [
      'C4: the next sidecar waits while the startup probe result of the previous one is unknown',
      probed,
      status([record('s1', 'running')]),
      {},
      context({}, { 's1-0': 'unknown' }),
    ],
    [
      'C4: the next sidecar starts after the startup probe of the previous one has succeeded',
      probed,
      status([record('s1', 'running')]),
      { init: [1] },
      context({}, { 's1-0': 'success' }),
    ],
    [
      'a failed startup probe restarts the sidecar',
      probed,
      status([record('s1', 'running')]),
      { init: [0], kill: { 's1-0': 'Init container s1 failed startup probe' } },
      context({}, { 's1-0': 'failure' }),
    ],
    [
      'a failed liveness probe restarts the sidecar and delays no other container',
      probed,
      status([record('s1', 'running')]),
      { init: [0, 1], kill: { 's1-0': 'Init container s1 failed liveness probe' } },
      context({ 's1-0': 'failure' }, { 's1-0': 'success' }),
    ],
    [
      'a sidecar that exited restarts, even if the restartPolicy of the pod is Never',
      plain('Never'),
      status([...allUp.slice(0, 1), record('s2', 'exited'), record('s3', 'running'), record('app', 'running')]),
      { init: [1] },
    ],
    [
      'a sidecar that exited before the next one had started restarts first',
      plain(),
      status([record('s1', 'exited', { exitCode: 1 })]),
      { init: [0] },
    ],
    [
      'several sidecars restart in order',
      plain(),
      status([record('s1', 'exited'), record('s2', 'running'), record('s3', 'exited'), record('app', 'running')]),
      { init: [0, 2] },
    ],
    [
      'a sidecar without a record restarts if a later one has a record',
      plain(),
      status([record('s3', 'running'), record('app', 'running')]),
      { init: [0, 1] },
    ],
    [
      'a changed image restarts the sidecar',
      plain(),
      status([record('s1', 'running', { hash: 'f00' }), ...allUp.slice(1), record('app', 'running')]),
      { init: [0], kill: { 's1-0': 'Init container s1 definition changed' } },
    ],
    [
      'C1: a sidecar in an unknown state is killed before it restarts',
      plain(),
      status([record('s1', 'unknown'), ...allUp.slice(1), record('app', 'running')]),
      { init: [0], kill: { 's1-0': 'Init container is in "unknown" state, try killing it before restart' } },
    ],
    [
      'C4: no sidecar restarts after the main containers have terminated, and the pod is killed',
      plain('Never'),
      status([record('s1', 'exited'), ...allUp.slice(1), record('app', 'exited')]),
      { killPod: true },
    ],
    [
      'an init container between sidecars runs once',
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
  ])('computes which sidecars and main containers start, restart or are killed: %s', check);
});
