import { expect, test } from 'vitest';
import type { Pod } from '../src/api.ts';
import { defaultRestartFeatures, type EndedContainer, initFailed, shouldRestartExited } from '../src/restart-policy.ts';

const oomKilled: EndedContainer = { state: 'exited', exitCode: 0, reason: 'OOMKilled' };
const init = { name: 'init' };
const main = { name: 'main' };
const pod = (restartPolicy: string): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { restartPolicy, initContainers: [init], containers: [main] },
});

test.each<[policy: string, name: 'init' | 'main', again: boolean]>([
  ['Always', 'main', true],
  ['OnFailure', 'main', false],
  ['Never', 'main', false],
  ['Always', 'init', true],
  ['OnFailure', 'init', true],
  ['Never', 'init', false],
])('C6: policy %s, an exit with 0 after an OOM kill, container %s: runs again: %s', (policy, name, again) => {
  const container = name === 'init' ? init : main;
  expect(shouldRestartExited(pod(policy), container, oomKilled, defaultRestartFeatures)).toBe(again);
});

test.each<[what: string, status: EndedContainer, failed: boolean]>([
  ['exited with 0', { state: 'exited', exitCode: 0, reason: 'Completed' }, false],
  ['exited with 1', { state: 'exited', exitCode: 1, reason: 'Error' }, true],
  ['exited with 0 after an OOM kill', oomKilled, true],
  ['unknown', { state: 'unknown', exitCode: 0, reason: '' }, true],
  ['running', { state: 'running', exitCode: 0, reason: '' }, false],
])('an init container: %s', (_what, status, failed) => {
  expect(initFailed(status)).toBe(failed);
});
