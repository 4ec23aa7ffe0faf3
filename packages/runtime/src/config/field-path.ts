import { metadataFieldValue, type Pod, PodSpecError } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';

/** Addresses that only the node and the runtime know. */
export interface PodAddresses {
  /** IPs of the pod, primary IP first; empty while the sandbox has no address. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/**
 * Returns the value of a `fieldRef` of the downward API in an environment variable (`podFieldSelectorRuntimeValue`
 * upstream).
 * @throws PodRuntimeError `InvalidSpec` for an unsupported field
 */
export function podFieldValue(
  pod: Pod,
  fieldPath: string,
  { podIps, hostIps }: PodAddresses,
  apiVersion = 'v1',
): string {
  if (apiVersion !== 'v1') throw invalid(`unsupported pod version: ${apiVersion}`);
  const { spec } = pod;
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host': // former name of spec.nodeName
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    case 'status.hostIP':
      return requireHostIps(hostIps)[0] ?? '';
    case 'status.hostIPs':
      return requireHostIps(hostIps).join(',');
    case 'spec.restartPolicy':
    case 'spec.schedulerName':
    case 'status.phase':
      throw invalid(`unsupported fieldPath: ${fieldPath}`);
    default:
      if (!fieldPath.startsWith('metadata.')) throw invalid(`field label not supported: ${fieldPath}`);
      return asInvalidSpec(() => metadataFieldValue(pod, fieldPath));
  }
}

/**
 * Converts a PodSpecError to `InvalidSpec`.
 * @param what prefix of the message: the part of the spec that is invalid
 */
export function asInvalidSpec<T>(read: () => T, what = ''): T {
  try {
    return read();
  } catch (error) {
    throw PodSpecError.is(error) ? invalid(`${what}${error.message}`, error) : error;
  }
}

function requireHostIps(hostIps: readonly string[]): readonly string[] {
  if (hostIps.length === 0) throw invalid("the node's addresses are not known");
  return hostIps;
}

function invalid(message: string, cause?: unknown): PodRuntimeError {
  return new PodRuntimeError('InvalidSpec', message, { cause });
}
