import type { Clock } from '@node-agent/async';
import type { KubeletFlags } from '@node-agent/config';
import type { FileSystem } from '@node-agent/host';
import type { NodePorts } from '@node-agent/kubelet-assembly';
import {
  type AccountSource,
  allCredentials,
  CredentialProviders,
  type NodeCredentials,
  NodeDockerConfig,
  nodePluginRunner,
  PullSecrets,
  readCredentialProviders,
} from '@node-agent/object-cache';
import type { Logger, Metrics } from '@node-agent/telemetry';

/** Components of {@link nodeCredentials}. */
interface Components {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Loads the node's own image pull credentials: its docker configuration, then its credential provider plugins.
 * @returns function that creates the credentials; its argument is the source of service account tokens for plugins
 * @throws ObjectCacheError `InvalidProviderConfig`
 */
export async function nodeCredentials(
  components: Components,
  flags: KubeletFlags,
): Promise<(accounts?: AccountSource) => NodeCredentials> {
  const { fs, logger } = components;
  const { imageCredentialProviderConfig: configPath, imageCredentialProviderBinDir: binDir, rootDir } = flags;
  const child = { ...components, logger: logger.child({ component: 'node-credentials' }) };
  const home = process.env.HOME;
  const directories = { rootDirectory: rootDir, workingDirectory: process.cwd(), ...(home && { homeDirectory: home }) };
  const docker = new NodeDockerConfig(child, directories);
  if (configPath === '' || binDir === '') return () => docker;
  const plugins = await readCredentialProviders({ fs }, { configPath, binDir });
  return (accounts) => {
    const run = { run: nodePluginRunner, environment: process.env, ...(accounts && { accounts }) };
    return allCredentials(docker, new CredentialProviders({ ...child, ...run }, plugins));
  };
}

/**
 * Returns the pull credentials of a node without an API server, which are the node's credentials only. @throws as
 * {@link nodeCredentials}
 */
export async function standaloneCredentials(
  components: Components & Pick<NodePorts, 'recorder'>,
  flags: KubeletFlags,
): Promise<NonNullable<NodePorts['pullCredentials']>> {
  return new PullSecrets({ ...components, node: (await nodeCredentials(components, flags))() });
}
