import { readFile } from 'node:fs/promises';
import type { TarEntry } from '@node-agent/tools-containerd';
import { PROGRAM_FILES } from '@node-agent/tools-csi-driver';
import { build } from 'esbuild';
import type { SidecarName, Sidecars } from '../sidecars.ts';
import { hostPrograms, type LayerContent, programEntries } from './host-programs.ts';
import type { ImageConfig } from './oci.ts';

/** Repository of the host path driver. */
export const HOST_PATH_DRIVER = 'registry.k8s.io/sig-storage/hostpathplugin';

/** Layers of the images of CSI drivers. */
const CSI_LAYERS = [
  'node',
  'storage-tools',
  'csi-programs',
  'host-path-driver',
  'csi-attacher',
  'csi-provisioner',
  'csi-resizer',
] as const;

export type CsiLayerName = (typeof CSI_LAYERS)[number];

/** Reports whether {@link csiLayer} returns the layer with this name. */
export function isCsiLayer(name: string): name is CsiLayerName {
  return CSI_LAYERS.some((layer) => layer === name);
}

/** Programs of this machine that the driver runs. */
const STORAGE_TOOLS = [
  ...['usr/bin/mount', 'usr/bin/umount', 'usr/bin/cp', 'usr/bin/sync', 'usr/bin/chgrp', 'usr/bin/chmod'],
  ...['usr/sbin/losetup', 'usr/sbin/mkfs.ext3', 'usr/sbin/mkfs.ext4', 'usr/sbin/e2fsck', 'usr/sbin/resize2fs'],
  ...['usr/sbin/mkfs.xfs', 'usr/sbin/xfs_growfs'],
];

/**
 * Images of the pods of CSI drivers, by repository. The programs of `tools/csi-driver` replace the host path driver,
 * the registrar and the liveness probe; all other programs are upstream's.
 */
export const CSI_RECIPES: Readonly<
  Record<string, { readonly layers: readonly (CsiLayerName | 'busybox' | 'pause')[]; readonly config: ImageConfig }>
> = {
  [HOST_PATH_DRIVER]: {
    layers: ['busybox', 'node', 'storage-tools', 'csi-programs', 'host-path-driver'],
    // Several specs deploy a driver at the same time, and upstream's manifest gives all drivers the same directory.
    config: own('driver', '--shared-statedir'),
  },
  'registry.k8s.io/sig-storage/csi-node-driver-registrar': {
    layers: ['node', 'csi-programs'],
    config: own('registrar'),
  },
  'registry.k8s.io/sig-storage/livenessprobe': { layers: ['node', 'csi-programs'], config: own('liveness-probe') },
  'registry.k8s.io/sig-storage/csi-attacher': sidecar('csi-attacher'),
  'registry.k8s.io/sig-storage/csi-provisioner': sidecar('csi-provisioner'),
  'registry.k8s.io/sig-storage/csi-resizer': sidecar('csi-resizer'),
  // Upstream's snapshotter exits in a cluster without the snapshot API. This image contains a program that does
  // nothing.
  'registry.k8s.io/sig-storage/csi-snapshotter': { layers: ['pause'], config: { Entrypoint: ['/pause'] } },
};

function own(program: keyof typeof PROGRAM_FILES, ...flags: readonly string[]): ImageConfig {
  const Env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  return { Env, Entrypoint: ['/node', `/${program}.mjs`, ...flags] };
}

function sidecar(name: SidecarName): { readonly layers: readonly CsiLayerName[]; readonly config: ImageConfig } {
  return { layers: [name], config: { Entrypoint: [`/${name}`] } };
}

/** Returns the content of a layer. @throws Error if the layer is a sidecar and the sidecars were not built */
export async function csiLayer(name: CsiLayerName, sidecars: Sidecars | undefined): Promise<LayerContent> {
  switch (name) {
    case 'node':
      return { entries: await programEntries('node', process.execPath), missing: [] };
    case 'storage-tools':
      return hostPrograms(STORAGE_TOOLS);
    case 'host-path-driver': {
      // DRA specs run this program in the driver's container (test/e2e/dra/utils/deploy.go).
      const data = new TextEncoder().encode('#!/bin/sh\nexec /node /driver.mjs "$@"\n');
      return { entries: [{ path: 'hostpathplugin', mode: 0o755, data }], missing: [] };
    }
    case 'csi-programs':
      return { entries: await bundledPrograms(), missing: [] };
    default: {
      if (sidecars === undefined) throw new Error(`build image layer ${name}: the sidecars were not built`);
      const data = new Uint8Array(await readFile(sidecars[name]));
      return { entries: [{ path: name, mode: 0o755, data }], missing: [] };
    }
  }
}

/** Bundles each program of `tools/csi-driver` to one file, so that the image does not contain this repository. */
async function bundledPrograms(): Promise<readonly TarEntry[]> {
  const { outputFiles } = await build({
    ...{ bundle: true, write: false, format: 'esm', platform: 'node', target: 'node22', logLevel: 'error' },
    entryPoints: Object.entries(PROGRAM_FILES).map(([out, file]) => ({ in: file, out })),
    outdir: '/',
    outExtension: { '.js': '.mjs' },
    conditions: ['@node-agent/source'],
    // Bundled CommonJS code loads Node.js modules with this `require`.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  });
  return outputFiles.map(({ path, contents }) => ({ path: path.slice(1), mode: 0o644, data: contents }));
}
