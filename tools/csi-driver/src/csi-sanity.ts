import { type Found, findModuleProgram } from '@node-agent/tools-control-plane';

/** The specification's conformance test for drivers (github.com/kubernetes-csi/csi-test). */
const CSI_SANITY = {
  module: 'github.com/kubernetes-csi/csi-test/v5',
  version: 'v5.4.0',
  directory: 'cmd/csi-sanity',
} as const;

/** Finds csi-sanity in the cache, or builds it with Go in 40 s. If neither works, the result has the reason. */
export function findCsiSanity(say: (text: string) => void): Promise<Found<{ readonly program: string }>> {
  return findModuleProgram(CSI_SANITY, say);
}
