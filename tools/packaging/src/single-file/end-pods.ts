// Ends the pods of this node while its kubelet is stopped. The Debian package runs this program when the package is
// removed.

import { systemClock } from '@node-agent/async';
import { loadKubeletConfig } from '@node-agent/config';
import { CriClient, type PodSandbox } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { endPods } from '../../../standalone/src/end-pods.ts';

/** Label that the kubelet gives to each sandbox. */
const POD_UID = 'io.kubernetes.pod.uid';
/** Longest time without a response from the runtime. */
const RESPONSE_MS = 30_000;

void run(process.argv.slice(3)).catch((error: unknown) => {
  process.stderr.write(`kubelet: end pods: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});

/**
 * Stops the pods of the node and reports their number.
 * @param argv the kubelet's flags; `--container-runtime-endpoint` or the file that `--config` names has the runtime's
 * endpoint
 */
async function run(argv: readonly string[]): Promise<void> {
  const source = { argv, fs: nodeFileSystem, workingDirectory: process.cwd(), cgroupVersion: 2 } as const;
  const { configuration } = await loadKubeletConfig(source);
  const options = {
    endpoint: configuration.containerRuntimeEndpoint,
    timeoutMs: RESPONSE_MS,
    waitForRuntime: 'never',
  } as const;
  await using client = new CriClient({ clock: systemClock }, options);
  const isPod = ({ labels }: PodSandbox): boolean => labels[POD_UID] !== undefined;
  const count = await endPods(client, isPod, new AbortController().signal);
  process.stdout.write(`ended ${count} pods\n`);
}
