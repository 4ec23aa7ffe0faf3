import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { containerClaims, containerRequests, podClaims, usesClaims } from '../src/pod-claims.ts';
import { containerOf, GATES, podOf } from './builders.ts';

const BY_NAME = { name: 'a', resourceClaimName: 'claim-a' };
const FROM_TEMPLATE = { name: 'b', resourceClaimTemplateName: 'template' };
const EXTENDED = {
  resourceClaimName: 'extended',
  requestMappings: [
    { containerName: 'main', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' },
    { containerName: 'main', resourceName: 'deviceclass.resource.kubernetes.io/nic', requestName: 'nic' },
    { containerName: 'other', resourceName: 'example.com/gpu', requestName: 'container-1-request-0' },
  ],
};

describe('claims of a pod', () => {
  it.each<readonly [string, Partial<Pod['spec']>, Partial<Pod['status']>, readonly string[]]>([
    ['no claims', {}, {}, []],
    ['a claim by name', { resourceClaims: [BY_NAME] }, {}, ['a=claim-a']],
    [
      'a claim from a template',
      { resourceClaims: [FROM_TEMPLATE] },
      { resourceClaimStatuses: [{ name: 'b', resourceClaimName: 'pod-b-x' }] },
      ['b=pod-b-x, from template'],
    ],
    [
      'a template for which no claim was needed',
      { resourceClaims: [FROM_TEMPLATE, BY_NAME] },
      { resourceClaimStatuses: [{ name: 'b' }] },
      ['a=claim-a'],
    ],
    ['extended resources backed by a claim', {}, { extendedResourceClaimStatus: EXTENDED }, ['=extended']],
  ])('podClaims of a pod with %s returns $3', (_, spec, status, expected) => {
    const claims = podClaims(podOf('1', spec, status), GATES);
    const texts = claims.map(
      ({ podClaim, claimName, isFromTemplate }) => `${podClaim}=${claimName}${isFromTemplate ? ', from template' : ''}`,
    );
    expect(texts).toEqual(expected);
    expect(usesClaims(podOf('1', spec, status), GATES)).toBe(expected.length > 0);
  });

  it('podClaims rejects a template whose claim was not created yet', () => {
    const pod = podOf('1', { resourceClaims: [FROM_TEMPLATE] });
    expect(() => podClaims(pod, GATES)).toThrow('pod "default/pod-1": ResourceClaim not created yet');
  });

  it('podClaims rejects a claim with neither name nor template', () => {
    const pod = podOf('1', { resourceClaims: [{ name: 'c' }] });
    const message = 'pod "default/pod-1", spec.resourceClaim "c": none of the supported fields are set';
    expect(() => podClaims(pod, GATES)).toThrow(message);
  });

  it('podClaims ignores extended resources when the gate DRAExtendedResource is off', () => {
    const pod = podOf('1', {}, { extendedResourceClaimStatus: EXTENDED });
    const gates = { ...GATES, extendedResources: false };
    expect(usesClaims(pod, gates)).toBe(false);
    expect(podClaims(pod, gates)).toEqual([]);
    expect(containerRequests(pod, requesting({ 'example.com/gpu': '1' }), gates).size).toBe(0);
  });
});

describe('requests of a container', () => {
  it('containerRequests returns the requests of a container by claim, with an empty request for a whole claim', () => {
    const claims = [BY_NAME, { name: 'c', resourceClaimName: 'claim-c' }];
    const pod = podOf('1', { resourceClaims: claims });
    const uses = [{ name: 'a', request: 'x' }, { name: 'a', request: 'y' }, { name: 'c' }];
    const requests = containerRequests(pod, containerOf('main', uses), GATES);
    expect(requests).toEqual(
      new Map([
        ['claim-a', new Set(['x', 'y'])],
        ['claim-c', new Set([''])],
      ]),
    );
    expect(containerClaims(pod, containerOf('main', uses), GATES)).toEqual(['claim-a', 'claim-c']);
    expect(containerClaims(pod, containerOf('idle'), GATES)).toEqual([]);
  });

  it('containerRequests includes the requests to which extended resources of the container are mapped', () => {
    const pod = podOf('1', {}, { extendedResourceClaimStatus: EXTENDED });
    const both = { 'example.com/gpu': '1', 'deviceclass.resource.kubernetes.io/nic': '1' };
    expect(containerRequests(pod, requesting(both), GATES)).toEqual(
      new Map([['extended', new Set(['container-0-request-0', 'nic'])]]),
    );
    expect(containerRequests(pod, requesting({ 'example.com/gpu': '0' }), GATES).size).toBe(0);
    expect(containerClaims(pod, requesting(both), GATES)).toEqual(['extended']);
    expect(containerClaims(pod, containerOf('third'), GATES)).toEqual([]);
  });
});

function requesting(requests: Readonly<Record<string, string>>) {
  return { name: 'main', image: 'x', resources: { requests, limits: requests } };
}
