import { expect, test } from 'vitest';
import { defaultRestartFeatures, type RuntimeContainerState, showsInitialized } from '../src/index.ts';

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } } as const;
const plain = { spec: { initContainers: [{ name: 'i' }], containers: [{ name: 'a' }] } };
const anew = {
  spec: { ...plain.spec, containers: [{ name: 'a', restartPolicy: 'Never', restartPolicyRules: [rule] }] },
};

test.each<[string, typeof plain, string, RuntimeContainerState, object, boolean]>([
  ['a created main container', plain, 'a', 'created', {}, true],
  ['a running main container', plain, 'a', 'running', {}, true],
  ['an exited init container', plain, 'i', 'exited', {}, false],
  ['a created main container if a rule may restart all containers', anew, 'a', 'created', {}, false],
  ['a running main container if a rule may restart all containers', anew, 'a', 'running', {}, true],
  ['an exited main container if a rule may restart all containers', anew, 'a', 'exited', {}, true],
  [
    'a created main container if the gate restartAllContainers is off',
    anew,
    'a',
    'created',
    { restartAllContainers: false },
    true,
  ],
  [
    'a created main container if the gate containerRestartRules is off',
    anew,
    'a',
    'created',
    { containerRestartRules: false },
    true,
  ],
])('C3: %s proves that initialization is complete: $5', (_name, pod, name, state, off, expected) => {
  expect(showsInitialized(pod, { name, state, exitCode: 1 }, { ...defaultRestartFeatures, ...off })).toBe(expected);
});

test('C3: a container whose exit requests a restart of all containers does not prove that init containers have completed', () => {
  const asks = { name: 'a', state: 'exited', exitCode: 42 } as const;
  expect(showsInitialized(anew, asks, defaultRestartFeatures)).toBe(false);
  expect(showsInitialized(anew, asks, { ...defaultRestartFeatures, restartAllContainers: false })).toBe(true);
  expect(showsInitialized(plain, asks, defaultRestartFeatures)).toBe(true);
});

// A search through all main containers for each container would exceed the test's timeout.
test('K5: the time per container of the initialization check does not grow with the number of containers', () => {
  const containers = Array.from({ length: 30_000 }, (_, index) => ({ name: `c${index}` }));
  const pod = { spec: { containers } };
  const told = containers.map(({ name }) =>
    showsInitialized(pod, { name: `i-${name}`, state: 'exited', exitCode: 0 }, defaultRestartFeatures),
  );
  expect(told).not.toContain(true);
});
