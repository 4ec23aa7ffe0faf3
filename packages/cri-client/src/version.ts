import type { UnaryRpc } from '@node-agent/grpc';
import { CriError } from './errors.ts';
import { runtimeServiceRpcs } from './generated/services.ts';
import type { VersionRequest, VersionResponse } from './generated/types.ts';

/** `Version` as CRI v1alpha2 had it: the same messages under another package. Kubernetes 1.26 dropped that API. */
export const versionV1alpha2: UnaryRpc<VersionRequest, VersionResponse> = {
  ...runtimeServiceRpcs.version,
  path: '/runtime.v1alpha2.RuntimeService/Version',
};

/**
 * Why a runtime that answered `UNIMPLEMENTED` to the v1 `Version` is of no use.
 * @param v1alpha2 what it answered to the v1alpha2 one; absent where it has not got that either
 */
export function unsupportedRuntime(url: string, v1alpha2: VersionResponse | undefined, cause: unknown): CriError {
  const details =
    v1alpha2 === undefined
      ? `what listens at ${url} serves no CRI v1: it is no container runtime, or its CRI plugin is disabled`
      : `${v1alpha2.runtimeName} ${v1alpha2.runtimeVersion} at ${url} serves CRI v1alpha2 only and CRI v1 is needed: ` +
        'use containerd 1.6, CRI-O 1.23 or newer';
  return new CriError({ rpc: 'Version', code: 'UNIMPLEMENTED', details, cause });
}
