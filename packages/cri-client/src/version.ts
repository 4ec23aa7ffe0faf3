import type { UnaryRpc } from '@node-agent/grpc';
import { CriError } from './errors.ts';
import { runtimeServiceRpcs } from './generated/services.ts';
import type { VersionRequest, VersionResponse } from './generated/types.ts';

/** `Version` of CRI v1alpha2: the same messages in another protobuf package. Kubernetes 1.26 removed that API. */
export const versionV1alpha2: UnaryRpc<VersionRequest, VersionResponse> = {
  ...runtimeServiceRpcs.version,
  path: '/runtime.v1alpha2.RuntimeService/Version',
};

/**
 * Returns the error for a runtime that answered `UNIMPLEMENTED` to the v1 `Version` call.
 * @param v1alpha2 the response to the v1alpha2 `Version` call; absent if the runtime does not serve v1alpha2 either
 */
export function unsupportedRuntime(url: string, v1alpha2: VersionResponse | undefined, cause: unknown): CriError {
  const details =
    v1alpha2 === undefined
      ? `the server at ${url} does not serve CRI v1: it is not a container runtime, or its CRI plugin is disabled`
      : `${v1alpha2.runtimeName} ${v1alpha2.runtimeVersion} at ${url} serves only CRI v1alpha2, but CRI v1 is required: ` +
        'use containerd 1.6, CRI-O 1.23 or newer';
  return new CriError({ rpc: 'Version', code: 'UNIMPLEMENTED', details, cause });
}
