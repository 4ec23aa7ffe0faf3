import type { Container, Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  containerAnnotations,
  containerLabels,
  criAnnotations,
  parseContainerAnnotations,
  parseContainerLabels,
  parseContainerVersion,
  sandboxAnnotations,
  sandboxLabels,
} from '../../src/config/labels.ts';

const container: Container = {
  name: 'app',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo <bye> & exit'] } } },
  ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 8080 }],
};
const pod: Pod = {
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'uid-1',
    labels: { tier: 'front', 'io.kubernetes.pod.uid': 'a forged one' },
    annotations: { note: 'n' },
    deletionGracePeriodSeconds: 5,
  },
  spec: { containers: [container], terminationGracePeriodSeconds: 30 },
};

describe('labels and annotations', () => {
  it("gives a sandbox the pod's labels, but never lets them forge whose it is", () => {
    expect(sandboxLabels(pod)).toEqual({
      tier: 'front',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-1',
    });
    expect(sandboxAnnotations(pod)).toEqual({ note: 'n' });
  });

  it('labels a container with its identity alone', () => {
    expect(containerLabels(pod, container)).toEqual({
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-1',
      'io.kubernetes.container.name': 'app',
    });
  });

  it('reads back what it wrote', () => {
    const annotations = containerAnnotations(pod, container, 3, 'deadbeef', { [criAnnotations.hash]: 'x', plug: 'in' });
    expect(annotations).toMatchObject({ plug: 'in', [criAnnotations.hash]: 'deadbeef' });
    expect(parseContainerAnnotations(annotations)).toEqual({
      hash: 'deadbeef',
      restartCount: 3,
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      podDeletionGracePeriodSeconds: 5,
      podTerminationGracePeriodSeconds: 30,
      preStopHandler: container.lifecycle?.preStop,
      ports: container.ports,
      malformed: [],
    });
    expect(parseContainerLabels(containerLabels(pod, container))).toEqual({
      podName: 'web',
      podNamespace: 'default',
      podUid: 'uid-1',
      containerName: 'app',
    });
  });

  it('leaves out what the pod does not say', () => {
    const bare: Pod = { metadata: { name: 'n', namespace: 's', uid: 'u' }, spec: { containers: [{ name: 'c' }] } };
    expect(Object.keys(containerAnnotations(bare, { name: 'c' }, 0, '1'))).toEqual([
      criAnnotations.hash,
      criAnnotations.restartCount,
      criAnnotations.terminationMessagePath,
      criAnnotations.terminationMessagePolicy,
    ]);
  });

  it.each([
    [criAnnotations.hash, 'xyz'],
    [criAnnotations.hash, ''],
    [criAnnotations.hash, '12345678901234567'],
    [criAnnotations.restartCount, '-1'],
    [criAnnotations.restartCount, '1e3'],
    [criAnnotations.podDeletionGracePeriod, 'soon'],
    [criAnnotations.podTerminationGracePeriod, '99999999999999999999'],
    [criAnnotations.preStopHandler, '[]'],
    [criAnnotations.preStopHandler, '{'],
    [criAnnotations.ports, '{}'],
    [criAnnotations.ports, '[null]'],
  ])('takes %s = %j as absent and names it', (key, value) => {
    const parsed = parseContainerAnnotations({ [key]: value });
    expect(parsed).toEqual({ ...parseContainerAnnotations({}), malformed: [key] });
  });

  it('is not fooled by prototypes or missing maps', () => {
    expect(parseContainerLabels(Object.create({ 'io.kubernetes.pod.name': 'inherited' })).podName).toBe('');
    expect(parseContainerLabels(null).podUid).toBe('');
    expect(parseContainerAnnotations(undefined).restartCount).toBe(0);
  });

  it('reads the hash and the restart count alone as it reads them with the rest', () => {
    const value = fc.oneof(fc.string(), fc.json(), fc.constantFrom('00Ab', '07', '-0', '+3', '9'.repeat(17)));
    const keys = fc.constantFrom(criAnnotations.hash, criAnnotations.restartCount);
    fc.assert(
      fc.property(fc.dictionary(keys, value), (annotations) => {
        expect(parseContainerAnnotations(annotations)).toMatchObject(parseContainerVersion(annotations));
      }),
    );
  });

  it('never throws, whatever an annotation holds', () => {
    const keys = fc.constantFrom(...Object.values(criAnnotations));
    fc.assert(
      fc.property(fc.dictionary(keys, fc.oneof(fc.string(), fc.json())), (annotations) => {
        const parsed = parseContainerAnnotations(annotations);
        expect(parsed.restartCount).toBeGreaterThanOrEqual(0);
        expect(parsed.hash).toMatch(/^[0-9a-f]{0,16}$/);
      }),
    );
  });
});
