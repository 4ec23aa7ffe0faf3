import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** What the container of each pod runs. It does not hear SIGTERM, so pods are given a second only. */
export const COMMAND: readonly string[] = ['sleep', 'infinity'];

/** The manifest of a pod that becomes ready as soon as its one container runs. */
export function podManifest(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'bench' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent', command: COMMAND }],
    },
  });
}
