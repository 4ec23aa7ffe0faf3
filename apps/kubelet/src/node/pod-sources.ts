import { join } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { KubeletConfiguration } from '@node-agent/config';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import type { PodSourcePort } from '@node-agent/kubelet-assembly';
import { type Fetch, FileSource, HttpSource, LastGoodDirectory } from '@node-agent/pod-config';
import type { Logger } from '@node-agent/telemetry';

/** Components of the pod sources. */
interface SourcePorts {
  readonly fs: FileSystem;
  readonly foreign: ForeignFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetch: Fetch;
}

/**
 * Creates the pod sources that the configuration names: a manifest directory, a manifest URL, both or none.
 * @param rootDirectory directory in which the last valid manifests are kept, so that pods survive a restart of the
 * kubelet while their manifest is broken (F2)
 */
export function podSources(
  configuration: KubeletConfiguration,
  nodeName: string,
  rootDirectory: string,
  ports: SourcePorts,
): readonly PodSourcePort[] {
  const { staticPodPath, staticPodURL } = configuration;
  const lastGood = (source: string) =>
    new LastGoodDirectory({ fs: ports.fs }, { path: join(rootDirectory, 'last-good-manifests', source) });
  const sources: PodSourcePort[] = [];
  if (staticPodPath !== '') {
    const options = { path: staticPodPath, nodeName, periodMs: configuration.fileCheckFrequencyMs };
    const make: PodSourcePort['make'] = (set) => new FileSource({ ...ports, set, lastGood: lastGood('file') }, options);
    sources.push({ name: 'file', make });
  }
  if (staticPodURL !== '') {
    const headers = configuration.staticPodURLHeader;
    const options = { url: staticPodURL, nodeName, headers, periodMs: configuration.httpCheckFrequencyMs };
    const make: PodSourcePort['make'] = (set) => new HttpSource({ ...ports, set, lastGood: lastGood('http') }, options);
    sources.push({ name: 'http', make });
  }
  return sources;
}
