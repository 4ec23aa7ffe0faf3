import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Command of each pod's container. The command ignores SIGTERM, so the pods have a grace period of one second. */
export const COMMAND: readonly string[] = ['sleep', 'infinity'];

/** Returns the manifest of a pod that becomes ready as soon as its only container runs. */
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
