import { describe, expect, it } from 'vitest';
import { claimProblem } from '../src/claim-problem.ts';
import type { ResourceClaim } from '../src/resource-claim.ts';
import { claimOf, deviceOf, GATES, podOf } from './builders.ts';

const DEVICES = [deviceOf('gpu-0')];
const NAMED = { podClaim: 'gpu', claimName: 'c', isFromTemplate: false };
const FROM_TEMPLATE = { ...NAMED, isFromTemplate: true };
const POD_OWNER = { apiVersion: 'v1', kind: 'Pod', name: 'pod-1', uid: '1', controller: true };
const GROUP_OWNER = {
  ...{ apiVersion: 'scheduling.k8s.io/v1alpha2', kind: 'PodGroup', name: 'team', uid: 'g' },
  controller: true,
};
const NOT_OWNER = 'ResourceClaim default/c was not created for Pod default/pod-1';

describe('claimProblem', () => {
  it.each<readonly [string, typeof NAMED, ResourceClaim, string | undefined]>([
    ['an allocated claim that is reserved for the pod', NAMED, claimOf('c', DEVICES, ['1']), undefined],
    ['a claim that several pods share', NAMED, claimOf('c', DEVICES, ['2', '1']), undefined],
    ['an allocated claim without devices', NAMED, claimOf('c', [], ['1']), undefined],
    ['a claim that is not allocated', NAMED, claimOf('c', undefined, ['1']), 'ResourceClaim c: not allocated'],
    [
      'a claim that is reserved for another pod',
      NAMED,
      claimOf('c', DEVICES, ['2']),
      'pod pod-1 (1) is not allowed to use ResourceClaim c (uid-c)',
    ],
    [
      'a claim without a status',
      NAMED,
      { metadata: { name: 'c', uid: 'uid-c' } },
      'pod pod-1 (1) is not allowed to use ResourceClaim c (uid-c)',
    ],
    [
      "the pod's claim from a template",
      FROM_TEMPLATE,
      claimOf('c', DEVICES, ['1'], { ownerReferences: [POD_OWNER] }),
      undefined,
    ],
    [
      'a claim from a template that the pod does not own',
      FROM_TEMPLATE,
      claimOf('c', DEVICES, ['1']),
      `${NOT_OWNER} (Pod is not owner)`,
    ],
    [
      'a claim from a template of another pod of the same name',
      FROM_TEMPLATE,
      claimOf('c', DEVICES, ['1'], { ownerReferences: [{ ...POD_OWNER, uid: '0' }] }),
      `${NOT_OWNER} (Pod is not owner)`,
    ],
    [
      'a claim from a template of which the pod is an owner but not the controller',
      FROM_TEMPLATE,
      claimOf('c', DEVICES, ['1'], { ownerReferences: [{ ...POD_OWNER, controller: false }] }),
      `${NOT_OWNER} (Pod is not owner)`,
    ],
    [
      'a claim from a template in another namespace',
      FROM_TEMPLATE,
      claimOf('c', DEVICES, ['1'], { namespace: 'x', ownerReferences: [POD_OWNER] }),
      'ResourceClaim x/c is not in the same namespace as Pod default/pod-1',
    ],
  ])('for %s, claimProblem returns: $3', (_, reference, claim, problem) => {
    expect(claimProblem(podOf('1'), reference, claim, GATES)).toBe(problem);
  });

  it.each([
    ['accepts', true, GROUP_OWNER, undefined],
    ['refuses without the gate', false, GROUP_OWNER, `${NOT_OWNER} (Pod is not owner)`],
    [
      'refuses for another group',
      true,
      { ...GROUP_OWNER, name: 'other' },
      `${NOT_OWNER} (neither Pod nor PodGroup team is the owner)`,
    ],
  ])('claimProblem %s a claim of a PodGroup: $3', (_, workloadClaims, owner, problem) => {
    const pod = podOf('1', { schedulingGroup: { podGroupName: 'team' } });
    const claim: ResourceClaim = {
      metadata: { name: 'c', namespace: 'default', uid: 'uid-c', ownerReferences: [owner] },
      status: {
        allocation: { devices: { results: DEVICES } },
        reservedFor: [{ apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'team', uid: 'g' }],
      },
    };
    expect(claimProblem(pod, FROM_TEMPLATE, claim, { ...GATES, workloadClaims })).toBe(problem);
  });
});
