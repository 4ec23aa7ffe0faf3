import type { ProbeResult } from '@node-agent/contracts';
import type { Container, Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computePodActions } from '../src/actions/actions.ts';
import { currentStatus } from '../src/actions/current-status.ts';
import { container, pod, record, sandbox, sidecar, status } from './builders.ts';

const policies = ['Always', 'OnFailure', 'Never'] as const;
const mainNames = ['a', 'b'];
const initNames = ['i1', 's2', 'i3'];

const arbitraryContainer = (name: string): fc.Arbitrary<Container> => {
  if (name.startsWith('s')) return fc.constant(sidecar(name));
  const rule = fc.record({
    action: fc.constantFrom('Restart', 'RestartAllContainers'),
    exitCodes: fc.record({ operator: fc.constantFrom('In', 'NotIn'), values: fc.constant([1]) }),
  });
  return fc
    .record({
      restartPolicy: fc.option(fc.constantFrom(...(name.startsWith('i') ? policies.slice(1) : policies)), {
        nil: undefined,
      }),
      restartPolicyRules: fc.option(fc.array(rule, { maxLength: 2 }), { nil: undefined }),
    })
    .map(({ restartPolicy, restartPolicyRules }) =>
      restartPolicy === undefined
        ? container(name)
        : container(name, { restartPolicy, ...(restartPolicyRules && { restartPolicyRules }) }),
    );
};

const arbitraryPod: fc.Arbitrary<Pod> = fc
  .record({
    restartPolicy: fc.constantFrom(...policies),
    containers: fc.tuple(...mainNames.map(arbitraryContainer)),
    initContainers: fc.tuple(...initNames.map(arbitraryContainer)).chain((all) => fc.subarray(all)),
    deleted: fc.boolean(),
  })
  .map(({ deleted, ...spec }) => pod(spec, deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}));

const arbitraryStatus: fc.Arbitrary<RuntimePodStatus> = fc
  .record({
    sandboxes: fc.array(
      fc.record({ state: fc.constantFrom('ready' as const, 'notReady' as const), hasIp: fc.boolean() }),
      { maxLength: 3 },
    ),
    containers: fc.array(
      fc.record({
        name: fc.constantFrom(...mainNames, ...initNames, 'stranger'),
        state: fc.constantFrom('created' as const, 'running' as const, 'exited' as const, 'unknown' as const),
        restartCount: fc.nat(3),
        exitCode: fc.constantFrom(0, 1, 137),
        sandboxId: fc.constantFrom('s0', 's1', 's2', ''),
        hash: fc.constantFrom(undefined, '', 'other'),
      }),
      { maxLength: 7 },
    ),
  })
  .map(({ sandboxes, containers }) =>
    status(
      containers.map(({ name, state, hash, ...rest }, n) =>
        record(name, state, { ...rest, id: `c${n}`, ...(hash !== undefined && { hash }) }),
      ),
      sandboxes
        .map(({ state, hasIp }, n) => sandbox({ id: `s${n}`, attempt: n, state, ips: hasIp ? ['10.0.0.1'] : [] }))
        .reverse(),
    ),
  );

const probeResult = fc.constantFrom<ProbeResult | undefined>('success', 'failure', 'unknown', undefined);

test('computed pod actions start no container twice and never mix a reset with other actions, for any runtime status', () => {
  fc.assert(
    fc.property(arbitraryPod, arbitraryStatus, probeResult, probeResult, (aPod, aStatus, liveness, startup) => {
      const probes = { liveness: () => liveness, startup: () => startup };
      const actions = computePodActions(aPod, aStatus, { probes });
      const init = aPod.spec.initContainers ?? [];
      const starts = [
        ...actions.initContainersToStart.map((index) => init[index]),
        ...actions.containersToStart.map((index) => aPod.spec.containers[index]),
      ];
      // The same pod and status give the same actions, and the function does not modify its arguments.
      expect(computePodActions(aPod, aStatus, { probes })).toEqual(actions);
      for (const toStart of starts) {
        if (toStart === undefined) throw new Error('an index that is none');
        // C1: a running container is not started again unless it is killed first.
        for (const { id, name, state } of aStatus.containers) {
          if (name !== toStart.name || (state !== 'running' && state !== 'unknown')) continue;
          if (state === 'unknown' && currentStatus(aStatus.containers, name)?.id !== id) continue;
          const sameSandbox = actions.killPod || actions.containersToKill.has(id);
          expect(sameSandbox, `${id} of ${name} may run beside a new one`).toBe(true);
        }
      }
      // C3: at most one init container that is not a sidecar starts, and no main container starts with it.
      const plainInit = actions.initContainersToStart.filter((index) => init[index]?.restartPolicy !== 'Always');
      expect(plainInit.length).toBeLessThanOrEqual(1);
      if (plainInit.length > 0) expect(actions.containersToStart).toEqual([]);
      const ascending = (list: readonly number[]): boolean => list.every((n, k) => k === 0 || n > (list[k - 1] ?? 0));
      expect(ascending(actions.initContainersToStart) && ascending(actions.containersToStart)).toBe(true);
      // A new sandbox is created only if the old sandboxes are stopped, and its attempt number is new.
      if (actions.createSandbox) {
        expect(actions.killPod).toBe(true);
        for (const { attempt } of aStatus.sandboxes) expect(actions.attempt).toBeGreaterThan(attempt);
      } else if (actions.killPod) expect(starts).toEqual([]);
      // While all containers of the pod are being restarted, no other action is taken.
      if (actions.containersToReset.length > 0) {
        expect([...starts, ...actions.containersToKill.keys(), actions.killPod]).toEqual([false]);
      }
      for (const id of actions.containersToKill.keys()) {
        expect(['running', 'unknown']).toContain(aStatus.containers.find((one) => one.id === id)?.state);
      }
    }),
    { numRuns: 1_000 },
  );
});
