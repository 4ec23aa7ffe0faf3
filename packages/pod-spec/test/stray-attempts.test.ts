import { expect, test } from 'vitest';
import type { Container, Pod, RuntimeContainerStatus } from '../src/index.ts';
import { defaultRestartFeatures, withoutStrayAttempts } from '../src/index.ts';

const attempt = (restartCount: number, rest: Partial<RuntimeContainerStatus>): RuntimeContainerStatus => ({
  id: `c-${restartCount}`,
  name: 'c',
  state: 'exited',
  createdAtMs: 1000,
  startedAtMs: 0,
  finishedAtMs: 0,
  exitCode: 0,
  image: '',
  imageId: '',
  hash: 'a',
  restartCount,
  reason: '',
  message: '',
  sandboxId: 's',
  ...rest,
});
const ended = (rest: Partial<RuntimeContainerStatus> = {}) => attempt(0, { finishedAtMs: 2000, ...rest });
const created = (rest: Partial<RuntimeContainerStatus> = {}) =>
  attempt(1, { state: 'created', createdAtMs: 3000, ...rest });

const base = { name: 'c', image: 'x' };
const spec = (rest: Partial<Pod['spec']>): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'other', image: 'x' }], ...rest },
});
const main = (restartPolicy: string, rest: Partial<Container> = {}): Pod =>
  spec({ restartPolicy, containers: [{ ...base, ...rest }] });
const init = (rest: Partial<Container> = {}): Pod => spec({ initContainers: [{ ...base, ...rest }] });
const ephemeral = spec({ ephemeralContainers: [base] });
const livenessProbe = { exec: { command: ['true'] } };
const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
const restarting = {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [0] } }],
};

test.each<[string, Pod, readonly RuntimeContainerStatus[], 'stray' | 'kept']>([
  ['as the only attempt', main('Never'), [created()], 'kept'],
  ['C6: beside a successful attempt with OnFailure', main('OnFailure'), [created(), ended()], 'stray'],
  [
    'C6: beside a successful attempt with OnFailure and a higher number',
    main('OnFailure'),
    [created({ restartCount: 0 }), ended({ restartCount: 1 })],
    'stray',
  ],
  ['beside a failed attempt with OnFailure', main('OnFailure'), [created(), ended({ exitCode: 1 })], 'kept'],
  ['C6: beside a failed attempt with Never', main('Never'), [created(), ended({ exitCode: 1 })], 'stray'],
  ['beside a successful attempt with Always', main('Always'), [created(), ended()], 'kept'],
  ['if a rule requests a restart', main('Never', restarting), [created(), ended()], 'kept'],
  [
    'where the last run failed, and one before it did its work',
    main('OnFailure'),
    [created({ restartCount: 2 }), ended({ restartCount: 1, exitCode: 1 }), ended()],
    'kept',
  ],
  [
    'where an earlier run failed, and the last did its work',
    main('OnFailure'),
    [created({ restartCount: 2 }), ended({ restartCount: 1 }), ended({ exitCode: 1 })],
    'stray',
  ],
  ['beside one that runs', main('Never'), [created(), attempt(0, { state: 'running' })], 'kept'],
  ['beside one of which nothing is known', main('Never'), [created(), attempt(0, { state: 'unknown' })], 'kept'],
  ['of another spec', main('Never'), [created({ hash: 'b' }), ended()], 'kept'],
  ['without a known spec hash', main('Never'), [created({ hash: '' }), ended()], 'stray'],
  [
    'of another spec, created while the other attempt ran',
    main('Never'),
    [created({ hash: 'b', createdAtMs: 1500 }), ended()],
    'stray',
  ],
  ['in another sandbox', main('Never'), [created({ sandboxId: 't' }), ended()], 'kept'],
  ['in an unknown sandbox', main('Never'), [created({ sandboxId: '' }), ended()], 'stray'],
  [
    'after a liveness probe may have killed the other attempt',
    main('OnFailure', { livenessProbe }),
    [created(), ended()],
    'kept',
  ],
  [
    'after a startup probe may have killed the other attempt',
    main('OnFailure', { startupProbe: livenessProbe }),
    [created(), ended()],
    'kept',
  ],
  [
    'after a resize may have killed the other attempt',
    main('OnFailure', { resizePolicy }),
    [created(), ended()],
    'kept',
  ],
  [
    'beside a failed attempt with a liveness probe and Never',
    main('Never', { livenessProbe }),
    [created(), ended()],
    'stray',
  ],
  [
    'created before a probe can have killed the other attempt',
    main('OnFailure', { livenessProbe }),
    [created({ createdAtMs: 1500 }), ended()],
    'stray',
  ],
  [
    'with an unknown creation time',
    main('OnFailure', { livenessProbe }),
    [created({ createdAtMs: 0 }), ended()],
    'kept',
  ],
  ['C3: of an init container that succeeded', init(), [created(), ended()], 'stray'],
  ['of an init container that failed', init(), [created(), ended({ exitCode: 1 })], 'kept'],
  ['of an init container with an OOM kill', init(), [created(), ended({ reason: 'OOMKilled' })], 'kept'],
  ['of an init container that succeeded in another sandbox', init(), [created({ sandboxId: 't' }), ended()], 'kept'],
  ['of a sidecar', init({ restartPolicy: 'Always' }), [created(), ended()], 'kept'],
  ['C6: of an ephemeral container that has run', ephemeral, [created(), ended({ exitCode: 1 })], 'stray'],
  [
    'C6: of an ephemeral container that may have run',
    ephemeral,
    [created({ sandboxId: 't' }), attempt(0, { state: 'unknown' })],
    'stray',
  ],
  ['of an ephemeral container that has not run', ephemeral, [created()], 'kept'],
  ['of a container that is not in the spec', spec({}), [created(), ended()], 'kept'],
])(
  'a container that was created but not started, %s, is left out as stray or kept: $3',
  (_name, pod, containers, expected) => {
    const status = { containers, sandboxes: [] };
    const result = withoutStrayAttempts(pod, status, defaultRestartFeatures);
    if (expected === 'kept') expect(result).toBe(status);
    else expect(result).toEqual({ ...status, containers: containers.filter(({ state }) => state !== 'created') });
  },
);
