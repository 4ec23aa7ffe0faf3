import { expect, test } from 'vitest';
import { defaultRestartFeatures, type RuntimeContainerState, showsInitialized } from '../src/index.ts';

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } } as const;
const plain = { spec: { initContainers: [{ name: 'i' }], containers: [{ name: 'a' }] } };
const anew = {
  spec: { ...plain.spec, containers: [{ name: 'a', restartPolicy: 'Never', restartPolicyRules: [rule] }] },
};

test.each<[string, typeof plain, string, RuntimeContainerState, object, boolean]>([
  ['a main container that was created', plain, 'a', 'created', {}, true],
  ['one that runs', plain, 'a', 'running', {}, true],
  ['no init container', plain, 'i', 'exited', {}, false],
  ['one that was merely created may be left over where all can begin anew', anew, 'a', 'created', {}, false],
  ['one that runs is not', anew, 'a', 'running', {}, true],
  ['nor one that has ended', anew, 'a', 'exited', {}, true],
  ['nor where the one gate is off', anew, 'a', 'created', { restartAllContainers: false }, true],
  ['nor where the other is', anew, 'a', 'created', { containerRestartRules: false }, true],
])('C3: init is over by %s', (_name, pod, name, state, off, expected) => {
  expect(showsInitialized(pod, { name, state, exitCode: 1 }, { ...defaultRestartFeatures, ...off })).toBe(expected);
});

test('C3: a container whose exit requests a restart of all containers does not prove that init containers have completed', () => {
  const asks = { name: 'a', state: 'exited', exitCode: 42 } as const;
  expect(showsInitialized(anew, asks, defaultRestartFeatures)).toBe(false);
  expect(showsInitialized(anew, asks, { ...defaultRestartFeatures, restartAllContainers: false })).toBe(true);
  expect(showsInitialized(plain, asks, defaultRestartFeatures)).toBe(true);
});

// With all main containers gone through for each, it would take longer than a test may.
test('K5: takes no longer per container for a pod with very many containers', () => {
  const containers = Array.from({ length: 30_000 }, (_, index) => ({ name: `c${index}` }));
  const pod = { spec: { containers } };
  const told = containers.map(({ name }) =>
    showsInitialized(pod, { name: `i-${name}`, state: 'exited', exitCode: 0 }, defaultRestartFeatures),
  );
  expect(told).not.toContain(true);
});
