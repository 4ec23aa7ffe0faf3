import { join } from 'node:path';
import { ControlPlane, findControlPlane } from '@node-agent/tools-control-plane';
import { aggregation } from './metrics-server.ts';

/**
 * Starts a control plane whose API server forwards requests to metrics-server.
 * @throws Error with the reason if its programs cannot be found or built
 */
export async function startControlPlane(directory: string, say: (text: string) => void): Promise<ControlPlane> {
  const found = await findControlPlane({ say });
  if ('reason' in found) throw new Error(found.reason);
  const front = await aggregation(join(directory, 'front-proxy'));
  const controlPlane = new ControlPlane({
    ...{ binaries: found.binaries, directory: join(directory, 'control-plane') },
    extraArguments: { 'kube-apiserver': front.arguments },
  });
  await controlPlane.start();
  return controlPlane;
}
