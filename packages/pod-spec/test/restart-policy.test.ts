import { describe, expect, test } from 'vitest';
import type { Container, ContainerRestartRule, Pod } from '../src/api.ts';
import {
  anyAsksToRestartAll,
  asksToRestartAll,
  canRestartAll,
  defaultRestartFeatures,
  type EndedContainer,
  initFailed,
  restartsAfterKill,
  shouldRestartExited,
  shouldStart,
} from '../src/restart-policy.ts';

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
  ['created, with what its last end left', { state: 'created', exitCode: 1, reason: 'OOMKilled' }, false],
])('an init container: %s', (_what, status, failed) => {
  expect(initFailed(status)).toBe(failed);
});

const exited = (exitCode: number): EndedContainer => ({ state: 'exited', exitCode, reason: '' });
const rule = (action: string, operator: string, ...values: number[]): ContainerRestartRule => ({
  action,
  exitCodes: { operator, values },
});
const ruled = (restartPolicy: string, ...restartPolicyRules: ContainerRestartRule[]): Container => ({
  name: 'main',
  restartPolicy,
  restartPolicyRules,
});
const noRules = { ...defaultRestartFeatures, containerRestartRules: false };
const noRestartOfAll = { ...defaultRestartFeatures, restartAllContainers: false };

test('C6: a main container that a process of was killed in, and exited with 0, has not failed', () => {
  const web = { ...pod('OnFailure'), spec: { restartPolicy: 'OnFailure', containers: [main] } };
  expect(shouldRestartExited(web, main, oomKilled, defaultRestartFeatures)).toBe(false);
});

describe('C6: whether a terminated container is restarted', () => {
  test.each<[what: string, policy: string | undefined, container: Container, exitCode: number, again: boolean]>([
    ['the pod’s policy', 'OnFailure', main, 1, true],
    ['no policy is Always', undefined, main, 0, true],
    ['one that there is not is Always', 'Sometimes', main, 0, true],
    ['its own Never', 'Always', ruled('Never'), 1, false],
    ['its own OnFailure, of a failure', 'Never', ruled('OnFailure'), 1, true],
    ['its own OnFailure, of a success', 'Always', ruled('OnFailure'), 0, false],
    ['its own Always', 'Never', ruled('Always'), 0, true],
    ['one of its own that there is not is the pod’s', 'Never', ruled('Sometimes'), 1, false],
    ['its rule', 'Never', ruled('Never', rule('Restart', 'In', 2, 3)), 3, true],
    ['its rule, of another code', 'Always', ruled('Never', rule('Restart', 'In', 2, 3)), 4, false],
    ['its rule of all other codes', 'Never', ruled('Never', rule('Restart', 'NotIn', 2, 3)), 4, true],
    ['its rule of all other codes, of one of these', 'Never', ruled('Never', rule('Restart', 'NotIn', 2, 3)), 3, false],
    ['a rule of no codes', 'Never', ruled('Never', { action: 'Restart', exitCodes: { operator: 'In' } }), 1, false],
    [
      'a rule of all but no codes',
      'Never',
      ruled('Never', { action: 'Restart', exitCodes: { operator: 'NotIn' } }),
      1,
      true,
    ],
    ['a rule that says nothing of codes', 'Never', ruled('Never', { action: 'Restart' }), 1, false],
    ['a rule for all containers', 'Never', ruled('Never', rule('RestartAllContainers', 'In', 5)), 5, true],
    ['the first rule that holds', 'Never', ruled('Never', rule('Ignore', 'In', 5), rule('Restart', 'In', 5)), 5, false],
    ['a rule of another action', 'Never', ruled('Never', rule('Ignore', 'In', 5)), 5, false],
    [
      'rules without a policy count for nothing',
      'Never',
      { name: 'main', restartPolicyRules: [rule('Restart', 'In', 5)] },
      5,
      false,
    ],
  ])('%s', (_what, policy, container, exitCode, again) => {
    const web = {
      ...pod('Never'),
      spec: { containers: [main], ...(policy !== undefined && { restartPolicy: policy }) },
    };
    expect(shouldRestartExited(web, container, exited(exitCode), defaultRestartFeatures)).toBe(again);
  });

  test('its own policy and rules count only while their gates are on', () => {
    const begins = (container: Container, features: typeof noRules) =>
      shouldRestartExited(pod('Never'), container, exited(5), features);
    const all = ruled('Never', rule('RestartAllContainers', 'In', 5));
    expect(begins(ruled('Always', rule('Restart', 'In', 5)), noRules)).toBe(false);
    expect(begins(all, noRestartOfAll)).toBe(false);
    expect(begins(ruled('Never', rule('Restart', 'In', 5)), noRestartOfAll)).toBe(true);
  });
});

test.each<[what: string, newest: EndedContainer | undefined, starts: boolean]>([
  ['has not run', undefined, true],
  ['runs', { state: 'running', exitCode: 1, reason: '' }, false],
  ['was made', { state: 'created', exitCode: 0, reason: '' }, true],
  ['nobody knows', { state: 'unknown', exitCode: 0, reason: '' }, true],
  ['has succeeded', exited(0), false],
  ['has failed', exited(1), true],
])('a container that %s is started: %s', (_what, newest, starts) => {
  const web = pod('OnFailure');
  expect(shouldStart(web, main, newest, defaultRestartFeatures)).toBe(starts);
  const deleted = { ...web, metadata: { ...web.metadata, deletionTimestamp: '2026-01-31T12:00:00Z' } };
  expect(shouldStart(deleted, main, newest, defaultRestartFeatures)).toBe(false);
});

test.each<[policy: string, container: Container, features: typeof noRules, again: boolean]>([
  ['Always', main, defaultRestartFeatures, true],
  ['OnFailure', main, defaultRestartFeatures, true],
  ['Never', main, defaultRestartFeatures, false],
  ['Never', ruled('Always'), defaultRestartFeatures, true],
  ['Always', ruled('Never'), defaultRestartFeatures, false],
  ['Always', ruled('Never', rule('Restart', 'NotIn')), defaultRestartFeatures, false],
  ['Always', ruled('Never'), noRules, true],
])('in a pod with the policy %s, %j is restarted after a kill, with %j: %s', (policy, container, features, again) => {
  expect(restartsAfterKill(pod(policy), container, features)).toBe(again);
});

describe('a rule for all containers', () => {
  const all = rule('RestartAllContainers', 'In', 5);

  test.each<[what: string, container: Container, ended: EndedContainer, asks: boolean]>([
    ['holds', ruled('Never', all), exited(5), true],
    ['is of another code', ruled('Never', all), exited(6), false],
    ['comes after another that holds', ruled('Never', rule('Restart', 'In', 5), all), exited(5), false],
    ['comes after another that does not hold', ruled('Never', rule('Restart', 'In', 6), all), exited(5), true],
    ['is of one that runs again', ruled('Never', all), { ...exited(5), state: 'running' }, false],
    ['is not there', main, exited(5), false],
  ])('%s', (_what, container, ended, asks) => {
    expect(asksToRestartAll(container, ended)).toBe(asks);
    const web = { spec: { initContainers: [init], containers: [{ name: 'other' }, container] } };
    expect(anyAsksToRestartAll(web, (name) => (name === 'main' ? ended : undefined))).toBe(asks);
  });

  test('may be an init container’s, and is no ephemeral one’s', () => {
    const asking = ruled('Never', all);
    const ended = () => exited(5);
    const [early, late] = [
      { spec: { initContainers: [asking], containers: [init] } },
      { spec: { containers: [init], ephemeralContainers: [asking] } },
    ];
    // Who has no rules is not asked about.
    const asked: string[] = [];
    anyAsksToRestartAll(
      { spec: { containers: [{ name: 'plain' }, { name: 'none', restartPolicyRules: [] }] } },
      (name) => {
        asked.push(name);
        return exited(5);
      },
    );
    expect(asked).toEqual([]);
    expect([anyAsksToRestartAll(early, ended), canRestartAll(early, defaultRestartFeatures)]).toEqual([true, true]);
    expect([anyAsksToRestartAll(late, ended), canRestartAll(late, defaultRestartFeatures)]).toEqual([false, false]);
  });

  test.each<[what: string, containers: readonly Container[], can: boolean]>([
    ['no rules', [main], false],
    ['one of several rules, of one of several containers', [init, ruled('Never', rule('Restart', 'In', 1), all)], true],
    ['other rules', [ruled('Never', rule('Restart', 'In', 5))], false],
  ])('may come to hold: %s', (_what, containers, can) => {
    expect(canRestartAll({ spec: { containers } }, defaultRestartFeatures)).toBe(can);
  });
});
