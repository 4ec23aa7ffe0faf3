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
])(
  'C6: with restartPolicy %s and exit code 0 after an OOM kill, the %s container restarts: %s',
  (policy, name, again) => {
    const container = name === 'init' ? init : main;
    expect(shouldRestartExited(pod(policy), container, oomKilled, defaultRestartFeatures)).toBe(again);
  },
);

test.each<[what: string, status: EndedContainer, failed: boolean]>([
  ['exited with 0', { state: 'exited', exitCode: 0, reason: 'Completed' }, false],
  ['exited with 1', { state: 'exited', exitCode: 1, reason: 'Error' }, true],
  ['exited with 0 after an OOM kill', oomKilled, true],
  ['unknown', { state: 'unknown', exitCode: 0, reason: '' }, true],
  ['running', { state: 'running', exitCode: 0, reason: '' }, false],
  ['created, with the exit code of its last run', { state: 'created', exitCode: 1, reason: 'OOMKilled' }, false],
])('an init container has failed (%s): $2', (_what, status, failed) => {
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

test('C6: a main container that exited with 0 after an OOM kill of one of its processes has not failed', () => {
  const web = { ...pod('OnFailure'), spec: { restartPolicy: 'OnFailure', containers: [main] } };
  expect(shouldRestartExited(web, main, oomKilled, defaultRestartFeatures)).toBe(false);
});

describe('C6: restart of a terminated container', () => {
  test.each<[what: string, policy: string | undefined, container: Container, exitCode: number, again: boolean]>([
    ['restartPolicy OnFailure of the pod, after a failure', 'OnFailure', main, 1, true],
    ['no restartPolicy means Always', undefined, main, 0, true],
    ['an unknown restartPolicy means Always', 'Sometimes', main, 0, true],
    ['Never of the container', 'Always', ruled('Never'), 1, false],
    ['OnFailure of the container, after a failure', 'Never', ruled('OnFailure'), 1, true],
    ['OnFailure of the container, after a success', 'Always', ruled('OnFailure'), 0, false],
    ['Always of the container', 'Never', ruled('Always'), 0, true],
    ["an unknown restartPolicy of the container means the pod's", 'Never', ruled('Sometimes'), 1, false],
    ['a rule for the exit code', 'Never', ruled('Never', rule('Restart', 'In', 2, 3)), 3, true],
    ['a rule for other exit codes', 'Always', ruled('Never', rule('Restart', 'In', 2, 3)), 4, false],
    ['a NotIn rule without the exit code', 'Never', ruled('Never', rule('Restart', 'NotIn', 2, 3)), 4, true],
    ['a NotIn rule with the exit code', 'Never', ruled('Never', rule('Restart', 'NotIn', 2, 3)), 3, false],
    [
      'an In rule without values',
      'Never',
      ruled('Never', { action: 'Restart', exitCodes: { operator: 'In' } }),
      1,
      false,
    ],
    [
      'a NotIn rule without values',
      'Never',
      ruled('Never', { action: 'Restart', exitCodes: { operator: 'NotIn' } }),
      1,
      true,
    ],
    ['a rule without exitCodes', 'Never', ruled('Never', { action: 'Restart' }), 1, false],
    ['a rule for all containers', 'Never', ruled('Never', rule('RestartAllContainers', 'In', 5)), 5, true],
    [
      'the first matching rule counts',
      'Never',
      ruled('Never', rule('Ignore', 'In', 5), rule('Restart', 'In', 5)),
      5,
      false,
    ],
    ['a rule with an unknown action', 'Never', ruled('Never', rule('Ignore', 'In', 5)), 5, false],
    [
      'rules without a restartPolicy of the container are ignored',
      'Never',
      { name: 'main', restartPolicyRules: [rule('Restart', 'In', 5)] },
      5,
      false,
    ],
  ])('C6: a terminated container restarts (%s): $4', (_what, policy, container, exitCode, again) => {
    const web = {
      ...pod('Never'),
      spec: { containers: [main], ...(policy !== undefined && { restartPolicy: policy }) },
    };
    expect(shouldRestartExited(web, container, exited(exitCode), defaultRestartFeatures)).toBe(again);
  });

  test("a container's own restartPolicy and rules apply only if their feature gates are enabled", () => {
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
  ['is running', { state: 'running', exitCode: 1, reason: '' }, false],
  ['was created', { state: 'created', exitCode: 0, reason: '' }, true],
  ['is in an unknown state', { state: 'unknown', exitCode: 0, reason: '' }, true],
  ['has succeeded', exited(0), false],
  ['has failed', exited(1), true],
])('a container that %s is started under policy OnFailure: $2', (_what, newest, starts) => {
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
])(
  'in a pod with restartPolicy %s, the container %j restarts after a kill with the features %j: %s',
  (policy, container, features, again) => {
    expect(restartsAfterKill(pod(policy), container, features)).toBe(again);
  },
);

describe('a rule with the action RestartAllContainers', () => {
  const all = rule('RestartAllContainers', 'In', 5);

  test.each<[what: string, container: Container, ended: EndedContainer, asks: boolean]>([
    ['matches the exit code', ruled('Never', all), exited(5), true],
    ['has another exit code', ruled('Never', all), exited(6), false],
    ['comes after a matching rule', ruled('Never', rule('Restart', 'In', 5), all), exited(5), false],
    ['comes after a rule that does not match', ruled('Never', rule('Restart', 'In', 6), all), exited(5), true],
    ['belongs to a container that runs again', ruled('Never', all), { ...exited(5), state: 'running' }, false],
    ['is missing', main, exited(5), false],
  ])('all containers of the pod restart if the rule %s: $3', (_what, container, ended, asks) => {
    expect(asksToRestartAll(container, ended)).toBe(asks);
    const web = { spec: { initContainers: [init], containers: [{ name: 'other' }, container] } };
    expect(anyAsksToRestartAll(web, (name) => (name === 'main' ? ended : undefined))).toBe(asks);
  });

  test('an init container may have a rule that restarts all containers, an ephemeral container may not', () => {
    const asking = ruled('Never', all);
    const ended = () => exited(5);
    const [early, late] = [
      { spec: { initContainers: [asking], containers: [init] } },
      { spec: { containers: [init], ephemeralContainers: [asking] } },
    ];
    // The caller is not asked for the exit code of a container without rules.
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
    ['a RestartAllContainers rule among others', [init, ruled('Never', rule('Restart', 'In', 1), all)], true],
    ['only other rules', [ruled('Never', rule('Restart', 'In', 5))], false],
  ])('a rule may restart all containers of a pod with %s: $2', (_what, containers, can) => {
    expect(canRestartAll({ spec: { containers } }, defaultRestartFeatures)).toBe(can);
  });
});
