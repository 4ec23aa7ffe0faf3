import { findModuleProgram, type ModuleProgram } from '@node-agent/tools-control-plane';

/** Kubernetes' controllers for CSI drivers, which run beside a driver in its pod. */
export type SidecarName = 'csi-attacher' | 'csi-provisioner' | 'csi-resizer';

/** Paths of the sidecars. */
export type Sidecars = Readonly<Record<SidecarName, string>>;

/**
 * Modules of the sidecars. Each version is the first one that the Go module proxy serves and that is not older than
 * the version in upstream's manifests.
 */
const MODULES: Readonly<Record<SidecarName, ModuleProgram>> = {
  'csi-attacher': sidecar('csi-attacher', 'external-attacher/v4', 'v4.12.0'),
  'csi-provisioner': sidecar('csi-provisioner', 'external-provisioner/v6', 'v6.3.0'),
  'csi-resizer': sidecar('csi-resizer', 'external-resizer/v2', 'v2.2.0'),
};

function sidecar(name: SidecarName, module: string, version: string): ModuleProgram {
  return { module: `github.com/kubernetes-csi/${module}`, version, directory: `cmd/${name}` };
}

/** Returns the sidecars, and builds those that are missing. @throws Error that names the program that cannot be built */
export async function findSidecars(say: (text: string) => void): Promise<Sidecars> {
  const found: Partial<Record<SidecarName, string>> = {};
  // The sidecars are built one at a time, because the modules share most of their packages in Go's cache.
  for (const name of Object.keys(MODULES) as SidecarName[]) {
    const result = await findModuleProgram(MODULES[name], say);
    if ('reason' in result) throw new Error(result.reason);
    found[name] = result.binaries.program;
  }
  return found as Sidecars;
}
