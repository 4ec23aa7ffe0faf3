import type { Pod } from '@node-agent/pod-spec';
import type { Attack } from '../attack.ts';
import { notStarted } from '../started-pod.ts';

const spec = {
  ...{ dnsPolicy: 'Default', nodeName: 'victim' },
  containers: [{ name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', command: ['sleep', '600'] }],
};

function pod(name: unknown, uid: unknown, more: object = {}): unknown {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', uid }, spec, ...more };
}

const HOSTILE: readonly unknown[] = [
  pod('no-spec', '1', { spec: undefined }),
  pod('null-spec', '2', { spec: null }),
  pod('no-containers', '3', { spec: {} }),
  pod('odd-containers', '4', { spec: { containers: [null, 5, {}] } }),
  pod('../../../etc/evil', '5'),
  pod('up', '../../../../etc/evil'),
  pod('container-up', '6', {
    spec: { ...spec, containers: [{ ...spec.containers[0], name: '../../../../etc/evil' }] },
  }),
  { ...Object(pod('namespace-up', '7')), metadata: { name: 'namespace-up', namespace: '../../../etc/evil', uid: '7' } },
  pod(undefined, undefined),
  pod('number', 5),
  { metadata: null },
  {},
];

export const hostileObjects: Attack = {
  name: 'hostile-objects',
  input: `${HOSTILE.length} objects of a hostile API server: no spec, names with ../`,
  async run(scene) {
    scene.victim.showPods([...HOSTILE, pod('good', 'good')] as readonly Pod[]);
    const problem = await notStarted(scene, 'default/good');
    const stray = (await scene.victim.figures())?.strayFiles ?? [];
    const strayed = stray.length > 0 ? `files outside the directories of the kubelet: ${stray.join(', ')}` : undefined;
    return {
      did: problem ?? 'a good pod was started',
      success: [problem, strayed].filter(Boolean).join('; ') || undefined,
    };
  },
};
