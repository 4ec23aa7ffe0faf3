import { describe, expect, it } from 'vitest';
import { keyProblem, nodeLabelProblem, valueProblem } from '../src/labels.ts';

const LONG = 'a'.repeat(63);
/** A DNS subdomain name of 253 characters, the maximum. */
const PREFIX = `${LONG}.${LONG}.${LONG}.${'a'.repeat(61)}`;

describe('the key of a label', () => {
  it.each(['a', 'A.b_c-9', LONG, `${PREFIX}/${LONG}`, 'a-b.c/d'])('accepts %s as label key', (key) => {
    expect(keyProblem(key)).toBeUndefined();
  });

  it.each([
    ['', '"" must be 1 to 63 letters'],
    [`${LONG}a`, `"${LONG}a" must be 1 to 63 letters`],
    ['-a', '"-a" must be 1 to 63 letters'],
    ['a-', '"a-" must be 1 to 63 letters'],
    ['a/', '"" must be 1 to 63 letters'],
    ['a/b/c', '"b/c" must be 1 to 63 letters'],
    ['/a', '"" must be a DNS name of at most 253 characters'],
    ['-a/b', '"-a" must be a DNS name'],
    ['A/b', '"A" must be a DNS name'],
    ['a..b/c', '"a..b" must be a DNS name'],
    [`a${PREFIX}/b`, `"a${PREFIX}" must be a DNS name`],
  ])('refuses %j as label key', (key, problem) => {
    expect(keyProblem(key)).toContain(problem);
  });
});

describe('the value of a label', () => {
  it.each(['', 'a', LONG, 'A.b_c-9'])('accepts %j as label value', (value) => {
    expect(valueProblem(value)).toBeUndefined();
  });

  it.each([`${LONG}a`, '-a', 'a.', 'a/b'])('refuses %j as label value', (value) => {
    expect(valueProblem(value)).toBe(
      `${JSON.stringify(value)} must be empty, or at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends`,
    );
  });
});

describe('node labels that a kubelet may set', () => {
  it.each([
    'beta.kubernetes.io/arch',
    'beta.kubernetes.io/instance-type',
    'beta.kubernetes.io/os',
    'failure-domain.beta.kubernetes.io/region',
    'failure-domain.beta.kubernetes.io/zone',
    'kubernetes.io/arch',
    'kubernetes.io/hostname',
    'kubernetes.io/os',
    'node.kubernetes.io/instance-type',
    'topology.kubernetes.io/region',
    'topology.kubernetes.io/zone',
    'kubelet.kubernetes.io/a',
    'a.kubelet.kubernetes.io/a',
    'node.kubernetes.io/a',
    'a.node.kubernetes.io/a',
    // Any label without a kubernetes.io or k8s.io namespace is allowed.
    'a',
    'k8s.io',
    'k8s.iox',
    'kubernetes.iox',
    'ak8s.io/a',
    'k8s.io.example.com/a',
  ])('a kubelet may set the label %s on its node', (key) => {
    expect(nodeLabelProblem(key)).toBeUndefined();
  });

  it.each(['kubernetes.io/role', 'a.kubernetes.io/role', 'k8s.io/role', 'a.k8s.io/role', 'xnode.kubernetes.io/a'])(
    'a kubelet may not set the label %s on its node',
    (key) => {
      expect(nodeLabelProblem(key)).toBe(
        `unknown 'kubernetes.io' or 'k8s.io' label ${key}: it must begin with an allowed prefix (kubelet.kubernetes.io, node.kubernetes.io) ` +
          'or be in the specifically allowed set (beta.kubernetes.io/arch, beta.kubernetes.io/instance-type, beta.kubernetes.io/os, ' +
          'failure-domain.beta.kubernetes.io/region, failure-domain.beta.kubernetes.io/zone, kubernetes.io/arch, kubernetes.io/hostname, ' +
          'kubernetes.io/os, node.kubernetes.io/instance-type, topology.kubernetes.io/region, topology.kubernetes.io/zone)',
      );
    },
  );
});
