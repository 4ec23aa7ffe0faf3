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
  it("gives a static pod the node's name as suffix, a namespace, a UID and upstream's annotations and tolerations", () => {
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

  it('keeps the namespace and UID that a manifest declares', () => {
    const pod = toStaticPod({ ...web, metadata: { name: 'web', namespace: 'kube-system', uid: 'mine' } }, file);
    expect(pod.metadata).toMatchObject({
      namespace: 'kube-system',
      uid: 'mine',
      annotations: { [CONFIG_HASH_ANNOTATION]: 'mine' },
    });
  });

  it('drops the resourceVersion of a manifest that was copied from the API, so that later changes are noticed', () => {
    const copy = { ...web, metadata: { name: 'web', uid: 'mine', resourceVersion: '7' } };
    expect(toStaticPod(copy, file).metadata).not.toHaveProperty('resourceVersion');
  });

  it('adds no NoExecute toleration to a pod from a URL', () => {
    expect(toStaticPod(web, { ...file, kind: 'http', location: 'http://x/' }).spec.tolerations).toBeUndefined();
  });

  it.each<[string, Toleration[], Toleration[]]>([
    [
      'is added after other tolerations',
      [{ key: 'a', operator: 'Exists' }],
      [
        { key: 'a', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    ],
    [
      'is added after a NoExecute toleration of one key',
      [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }],
      [
        { key: 'a', operator: 'Exists', effect: 'NoExecute' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    ],
    [
      'is not added if it is among other tolerations',
      [
        { key: 'a', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
      [
        { key: 'a', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    ],
    [
      'is not added twice',
      [{ operator: 'Exists', effect: 'NoExecute' }],
      [{ operator: 'Exists', effect: 'NoExecute' }],
    ],
    [
      'replaces one with tolerationSeconds',
      [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
      [{ operator: 'Exists', effect: 'NoExecute' }],
    ],
  ])('the NoExecute toleration of a static pod %s', (_name, tolerations, expected) => {
    expect(toStaticPod({ ...web, spec: { ...web.spec, tolerations } }, file).spec.tolerations).toEqual(expected);
  });
});

describe('the UID of a static pod', () => {
  it('F4: the UID of a static pod is the same at each start and in each release', () => {
    expect(uidOf(web)).toBe('fdf56257011519817d4fb59429225b18');
  });

  it('the UID of a static pod has 32 hex digits', () => {
    expect(uidOf(web)).toMatch(/^[0-9a-f]{32}$/);
  });

  it('F4: the order of keys, null fields and the status do not change the UID of a static pod', () => {
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
  ])('the UID of a static pod changes with its %s', (_name, manifest, origin) => {
    expect(uidOf(manifest, origin)).not.toBe(uidOf(web));
  });
});
