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

/** What the node's credentials work with. */
interface Components {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * What the node itself pulls images with: its docker configuration, then its credential provider plugins.
 * @returns makes it, given where plugins get the tokens of service accounts from
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

/** What pods of a node without an API server are pulled with: the node's credentials alone. @throws as {@link nodeCredentials} */
export async function standaloneCredentials(
  components: Components & Pick<NodePorts, 'recorder'>,
  flags: KubeletFlags,
): Promise<NonNullable<NodePorts['pullCredentials']>> {
  return new PullSecrets({ ...components, node: (await nodeCredentials(components, flags))() });
}
