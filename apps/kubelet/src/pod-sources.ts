import type { Clock } from '@node-agent/async';
import type { KubeletConfiguration } from '@node-agent/config';
import type { FileSystem } from '@node-agent/host';
import type { PodSourcePort } from '@node-agent/kubelet-assembly';
import { type Fetch, FileSource, HttpSource, type PodSchema } from '@node-agent/pod-config';
import { checkPod, defaultPod, type FieldError, validatePod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';

/** The pod API as manifests are held to it. */
const schema: PodSchema = {
  check: (value) => checkPod(value).map(toProblem),
  applyDefaults: defaultPod,
  validate: (pod) => validatePod(pod).map(toProblem),
};

function toProblem({ field, message }: FieldError): { readonly field: string; readonly message: string } {
  return { field, message };
}

/** The sources that the configuration names; none where it names none. */
export function podSources(
  configuration: KubeletConfiguration,
  nodeName: string,
  ports: { readonly fs: FileSystem; readonly clock: Clock; readonly logger: Logger; readonly fetch: Fetch },
): readonly PodSourcePort[] {
  const { staticPodPath, staticPodURL } = configuration;
  const sources: PodSourcePort[] = [];
  if (staticPodPath !== '') {
    const periodMs = configuration.fileCheckFrequencyMs;
    const make: PodSourcePort['make'] = (set) =>
      new FileSource({ ...ports, schema, set }, { path: staticPodPath, nodeName, periodMs });
    sources.push({ name: 'file', make });
  }
  if (staticPodURL !== '') {
    const headers = configuration.staticPodURLHeader;
    const periodMs = configuration.httpCheckFrequencyMs;
    const make: PodSourcePort['make'] = (set) =>
      new HttpSource({ ...ports, schema, set }, { url: staticPodURL, nodeName, headers, periodMs });
    sources.push({ name: 'http', make });
  }
  return sources;
}
