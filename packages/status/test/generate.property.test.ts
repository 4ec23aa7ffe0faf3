import type { Container, PodStatus, RuntimeContainerStatus, RuntimePodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { generateApiPodStatus } from '../src/generate.ts';
import { makeContext, makePod, makeSandbox, runtimeContainer, runtimeStatus } from './builders.ts';

const NAMES = ['i0', 'i1', 'm0', 'm1'];
const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }] as const;

const policy: fc.Arbitrary<Partial<Container>> = fc.constantFrom(
  {},
  { restartPolicy: 'Never' } as const,
  { restartPolicy: 'OnFailure' } as const,
  { restartPolicy: 'Never', restartPolicyRules } as const,
);
const pod = fc.record({
  restartPolicy: fc.constantFrom('Always' as const, 'OnFailure' as const, 'Never' as const),
  init: fc.array(fc.oneof(policy, fc.constant({ restartPolicy: 'Always' } as const)), { maxLength: 2 }),
  main: fc.array(policy, { minLength: 1, maxLength: 2 }),
  leaves: fc.boolean(),
});

const record = fc.record({
  name: fc.constantFrom(...NAMES),
  attempt: fc.nat(2),
  state: fc.constantFrom(
    'running' as const,
    'exited' as const,
    'exited' as const,
    'created' as const,
    'unknown' as const,
  ),
  exitCode: fc.constantFrom(0, 0, 1, 42, 137),
  createdAt: fc.nat(100),
  sandboxId: fc.constantFrom('s1', 's2'),
});
const sandboxes = fc.constantFrom(
  [],
  [makeSandbox()],
  [makeSandbox({ state: 'notReady' })],
  [
    makeSandbox({ id: 's2', attempt: 1, createdAtMs: Date.UTC(2026, 0, 1, 0, 0, 50) }),
    makeSandbox({ state: 'notReady' }),
  ],
);
const seen: fc.Arbitrary<RuntimePodStatus> = fc
  .record({ sandboxes, records: fc.array(record, { maxLength: 6 }) })
  .map(({ sandboxes, records }) => {
    const containers = records
      .toSorted((a, b) => b.createdAt - a.createdAt)
      .map(({ attempt, exitCode, createdAt, ...rest }): RuntimeContainerStatus => {
        const createdAtMs = Date.UTC(2026, 0, 1, 0, 0, createdAt);
        const ended = rest.state === 'exited' ? { exitCode } : {};
        return runtimeContainer({
          ...rest,
          ...ended,
          id: `${rest.name}-${attempt}`,
          restartCount: attempt,
          createdAtMs,
        });
      });
    return { ...runtimeStatus(...containers), sandboxes };
  });

const countsOf = ({ initContainerStatuses: init = [], containerStatuses: main = [] }: PodStatus) =>
  [...init, ...main].map(({ name, restartCount }) => `${name}: ${restartCount}`);

test('S3: while nothing changes in the runtime, the status settles and restart counts stop, whatever the state before', () => {
  const look = fc.record({ seen, fails: fc.boolean(), podIsTerminal: fc.boolean() });
  fc.assert(
    fc.property(pod, fc.array(look, { minLength: 1, maxLength: 3 }), ({ restartPolicy, init, main, leaves }, looks) => {
      const named = (some: readonly Partial<Container>[], first: string) =>
        some.map((container, index): Container => ({ ...container, name: `${first}${index}` }));
      const metadata = { name: 'web', namespace: 'default', uid: 'u1' };
      const aPod = makePod(
        { restartPolicy, initContainers: named(init, 'i'), containers: named(main, 'm') },
        { metadata: leaves ? { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } : metadata },
      );
      let oldStatus: PodStatus | undefined;
      for (const { seen, fails, podIsTerminal } of looks) {
        const startFailure = () => (fails ? { reason: 'ErrImagePull', message: 'gone' } : undefined);
        const next = (old: PodStatus | undefined): PodStatus => {
          const context = makeContext({ startFailure, podIsTerminal, ...(old && { oldStatus: old }) });
          return { startTime: '2026-01-01T00:00:00Z', ...generateApiPodStatus(aPod, seen, context) };
        };
        const first = next(oldStatus);
        const second = next(first);
        const third = next(second);
        expect(countsOf(third)).toEqual(countsOf(second));
        expect(third).toEqual(second);
        oldStatus = first;
      }
    }),
    { numRuns: 2000 },
  );
});
