import type { PodSpec } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { staticPodReferenceProblem } from '../src/api-references.ts';

const main = { name: 'main', image: 'busybox' };
const problemOf = (spec: Partial<PodSpec>): string | undefined => {
  const metadata = { name: 'web', namespace: 'default', uid: 'u' };
  const problem = staticPodReferenceProblem({ metadata, spec: { containers: [main], ...spec } });
  return problem && `${problem.field}: ${problem.message}`;
};

describe('staticPodReferenceProblem', () => {
  it.each<[Partial<PodSpec>, string]>([
    [{ serviceAccountName: 'sa' }, 'spec.serviceAccountName: static pods may not reference serviceaccounts'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'spec.imagePullSecrets: static pods may not reference secrets'],
    [
      { initContainers: [{ ...main, env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }] },
      'spec.initContainers[0].env[0].valueFrom.secretKeyRef: static pods may not reference secrets',
    ],
    [
      { containers: [main, { ...main, envFrom: [{ prefix: 'x' }, { configMapRef: { name: 'c' } }] }] },
      'spec.containers[1].envFrom[1].configMapRef: static pods may not reference configmaps',
    ],
    [{ resourceClaims: [{ name: 'gpu' }] }, 'spec.resourceClaims: static pods may not reference resourceclaims'],
    [
      { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
      'spec.volumes[0].configMap: static pods may not reference configmaps (via configmap volumes)',
    ],
    [
      { volumes: [{ name: 'v', secret: { secretName: 's' } }] },
      'spec.volumes[0].secret: static pods may not reference secrets (via secret volumes)',
    ],
    [
      { volumes: [{ name: 'v', rbd: { image: 'i', monitors: [], secretRef: { name: 's' } } }] },
      'spec.volumes[0].rbd.secretRef: static pods may not reference secrets',
    ],
    [
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      'spec.volumes[0].persistentVolumeClaim: static pods may not reference persistentvolumeclaims',
    ],
    [
      {
        volumes: [{ name: 'v', projected: { sources: [{ downwardAPI: {} }, { serviceAccountToken: { path: 't' } }] } }],
      },
      'spec.volumes[0].projected.sources[1].serviceAccountToken: static pods may not reference serviceaccounts (via projected volumes)',
    ],
  ])('refuses a static pod with the spec %j, which refers to an API object', (spec, problem) => {
    expect(problemOf(spec)).toBe(problem);
  });

  it.each<Partial<PodSpec>>([
    {},
    { serviceAccountName: '', imagePullSecrets: [], resourceClaims: [] },
    {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', hostPath: { path: '/' } },
      ],
    },
    { volumes: [{ name: 'a', projected: { sources: [{ downwardAPI: {} }] } }] },
    { containers: [{ ...main, env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }] },
  ])('accepts a static pod with the spec %j, which refers to no API object', (spec) => {
    expect(problemOf(spec)).toBeUndefined();
  });
});
