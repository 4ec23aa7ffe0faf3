import type { ContainerdBinaries } from '@node-agent/tools-containerd';

/** Where what is tested is in the guest; `../src/share.ts` puts it there. */
const HOST = '/mnt/host';
export const KUBELET: string = `${HOST}/kubelet/dist/main.js`;
/** The Go kubelet of the release that this one follows. */
export const UPSTREAM: string = `${HOST}/bin/kubelet`;
export const binaries: ContainerdBinaries = {
  version: '2.4.2',
  containerd: `${HOST}/bin/containerd`,
  ctr: `${HOST}/bin/ctr`,
  runc: `${HOST}/bin/runc`,
  cniBinDir: '/usr/lib/cni',
};
