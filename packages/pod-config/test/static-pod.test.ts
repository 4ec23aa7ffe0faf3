import { CONFIG_HASH_ANNOTATION, type Toleration } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { type ManifestOrigin, type PodManifest, toStaticPod } from '../src/static-pod.ts';

const file: ManifestOrigin = {
  kind: 'file',
  location: '/etc/kubernetes/manifests/web.yaml',
  nodeName: 'Node-1.Example',
};
const web: PodManifest = { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'busybox' }] } };
const uidOf = (manifest: PodManifest, origin = file): string => toStaticPod(manifest, origin).metadata.uid;

describe('toStaticPod', () => {
  it('makes a pod of the node', () => {
    const pod = toStaticPod(web, file);
    expect([pod.apiVersion, pod.kind]).toEqual(['v1', 'Pod']);
    expect(pod.metadata).toEqual({
      name: 'web-node-1.example',
      namespace: 'default',
      uid: pod.metadata.uid,
      annotations: { [CONFIG_HASH_ANNOTATION]: pod.metadata.uid },
    });
    expect(pod.spec.nodeName).toBe('Node-1.Example');
    expect(pod.spec.tolerations).toEqual([{ operator: 'Exists', effect: 'NoExecute' }]);
    expect(pod.status).toEqual({ phase: 'Pending' });
  });

  it('keeps a namespace and a UID that are given', () => {
    const pod = toStaticPod({ ...web, metadata: { name: 'web', namespace: 'kube-system', uid: 'mine' } }, file);
    expect(pod.metadata).toMatchObject({
      namespace: 'kube-system',
      uid: 'mine',
      annotations: { [CONFIG_HASH_ANNOTATION]: 'mine' },
    });
  });

  it('drops the resource version of a pod copied from the API, so that later changes of the manifest are noticed', () => {
    const copy = { ...web, metadata: { name: 'web', uid: 'mine', resourceVersion: '7' } };
    expect(toStaticPod(copy, file).metadata).not.toHaveProperty('resourceVersion');
  });

  it('gives a pod of a URL no toleration', () => {
    expect(toStaticPod(web, { ...file, kind: 'http', location: 'http://x/' }).spec.tolerations).toBeUndefined();
  });

  it.each<[string, Toleration[], Toleration[]]>([
    [
      'keeps others',
      [{ key: 'a', operator: 'Exists' }],
      [
        { key: 'a', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    ],
    [
      'keeps one of a single key',
      [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }],
      [
        { key: 'a', operator: 'Exists', effect: 'NoExecute' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    ],
    [
      'keeps others beside it',
      [
        { key: 'a', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
      [
        { key: 'a', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    ],
    ['adds none twice', [{ operator: 'Exists', effect: 'NoExecute' }], [{ operator: 'Exists', effect: 'NoExecute' }]],
    [
      'takes away a limit of time',
      [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
      [{ operator: 'Exists', effect: 'NoExecute' }],
    ],
  ])('tolerations: %s', (_name, tolerations, expected) => {
    expect(toStaticPod({ ...web, spec: { ...web.spec, tolerations } }, file).spec.tolerations).toEqual(expected);
  });
});

describe('the UID of a static pod', () => {
  it('F4: is the same at each start: this very value', () => {
    expect(uidOf(web)).toBe('fdf56257011519817d4fb59429225b18');
  });

  it('is 32 hex digits', () => {
    expect(uidOf(web)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('F4: leaves the order of keys, null fields and the status out', () => {
    const same = {
      status: { phase: 'Running' },
      spec: { containers: [{ image: 'busybox', name: 'main', command: null }] },
      metadata: { creationTimestamp: null, name: 'web' },
    };
    expect(uidOf(JSON.parse(JSON.stringify(same)))).toBe(uidOf(web));
  });

  it.each<[string, PodManifest, ManifestOrigin]>([
    ['content', { ...web, spec: { containers: [{ name: 'main', image: 'other' }] } }, file],
    ['path', web, { ...file, location: '/etc/kubernetes/manifests/web2.yaml' }],
    ['node', web, { ...file, nodeName: 'node-2' }],
    ['kind of source', web, { ...file, kind: 'http' }],
  ])('is another one with another %s', (_name, manifest, origin) => {
    expect(uidOf(manifest, origin)).not.toBe(uidOf(web));
  });
});
