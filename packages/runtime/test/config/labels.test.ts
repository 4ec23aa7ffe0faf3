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
  it("a sandbox has the pod's labels, which cannot override the kubelet's own labels", () => {
    expect(sandboxLabels(pod)).toEqual({
      tier: 'front',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-1',
    });
    expect(sandboxAnnotations(pod)).toEqual({ note: 'n' });
  });

  it('a container has only the labels that identify it', () => {
    expect(containerLabels(pod, container)).toEqual({
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-1',
      'io.kubernetes.container.name': 'app',
    });
  });

  it('labels and annotations are read back as they were written', () => {
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

  it('annotations omit fields that the pod does not set', () => {
    const bare: Pod = { metadata: { name: 'n', namespace: 's', uid: 'u' }, spec: { containers: [{ name: 'c' }] } };
    expect(Object.keys(containerAnnotations(bare, { name: 'c' }, 0, '1'))).toEqual([
      criAnnotations.hash,
      criAnnotations.restartCount,
      criAnnotations.terminationMessagePath,
      criAnnotations.terminationMessagePolicy,
    ]);
  });

  it('labels and annotations have the names that upstream’s kubelet reads', () => {
    const prefix = 'io.kubernetes.container.';
    expect(Object.keys(containerAnnotations(pod, container, 3, 'deadbeef'))).toEqual([
      ...[`${prefix}hash`, `${prefix}restartCount`],
      ...[`${prefix}terminationMessagePath`, `${prefix}terminationMessagePolicy`],
      ...['io.kubernetes.pod.deletionGracePeriod', 'io.kubernetes.pod.terminationGracePeriod'],
      ...[`${prefix}preStopHandler`, `${prefix}ports`],
    ]);
  });

  it('missing labels and annotations are read as undefined', () => {
    const bare: Pod = { metadata: { name: 'n', namespace: 's', uid: 'u' }, spec: { containers: [{ name: 'c' }] } };
    expect(containerAnnotations(bare, { name: 'c', ports: [] }, 0, '1')).toEqual({
      [criAnnotations.hash]: '1',
      [criAnnotations.restartCount]: '0',
      [criAnnotations.terminationMessagePath]: '',
      [criAnnotations.terminationMessagePolicy]: '',
    });
    const none = { podName: '', podNamespace: '', podUid: '', containerName: '' };
    expect([parseContainerLabels({}), parseContainerLabels(null)]).toEqual([none, none]);
    expect(parseContainerLabels({ 'io.kubernetes.pod.uid': 5 } as never)).toEqual(none);
    expect(parseContainerAnnotations({})).toEqual({
      ...{ hash: '', restartCount: 0, terminationMessagePath: '', terminationMessagePolicy: '', malformed: [] },
    });
    expect(parseContainerVersion({})).toEqual({ hash: '', restartCount: 0 });
  });

  it('reads a 64-bit hash without its leading zeros, and a restart count of 0', () => {
    const annotations = { [criAnnotations.hash]: '00123456789ABCDEF0', [criAnnotations.restartCount]: '0' };
    expect(parseContainerAnnotations(annotations)).toMatchObject({
      ...{ hash: '123456789abcdef0', restartCount: 0, malformed: [] },
    });
    const ports = JSON.stringify([{ containerPort: 80 }, { containerPort: '80' }]);
    expect(parseContainerAnnotations({ [criAnnotations.ports]: ports }).malformed).toEqual([criAnnotations.ports]);
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
  ])('treats the container annotation %s = %j as absent and lists its key as malformed', (key, value) => {
    const parsed = parseContainerAnnotations({ [key]: value });
    expect(parsed).toEqual({ ...parseContainerAnnotations({}), malformed: [key] });
  });

  it('labels named like properties of Object.prototype, and missing label maps, cause no exception', () => {
    expect(parseContainerLabels(Object.create({ 'io.kubernetes.pod.name': 'inherited' })).podName).toBe('');
    expect(parseContainerLabels(null).podUid).toBe('');
    expect(parseContainerAnnotations(undefined).restartCount).toBe(0);
  });

  it('the hash and the restart count have the same values whether they are read alone or with all other labels', () => {
    const value = fc.oneof(fc.string(), fc.json(), fc.constantFrom('00Ab', '07', '-0', '+3', '9'.repeat(17)));
    const keys = fc.constantFrom(criAnnotations.hash, criAnnotations.restartCount);
    fc.assert(
      fc.property(fc.dictionary(keys, value), (annotations) => {
        expect(parseContainerAnnotations(annotations)).toMatchObject(parseContainerVersion(annotations));
      }),
    );
  });

  it('any annotation value is read without an exception', () => {
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
