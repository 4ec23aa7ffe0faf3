import type { ContainerdBinaries } from '@node-agent/tools-containerd';

/** Directory of the tested programs in the guest; `../src/share.ts` fills it. */
export const HOST = '/mnt/host';
export const KUBELET: string = `${HOST}/kubelet/dist/main.js`;
export const NODECTL: string = `${HOST}/kubelet/dist/nodectl.js`;
/** Go kubelet of the release that this kubelet follows. */
export const UPSTREAM: string = `${HOST}/bin/kubelet`;
export const binaries: ContainerdBinaries = {
  version: '2.4.2',
  containerd: `${HOST}/bin/containerd`,
  ctr: `${HOST}/bin/ctr`,
  runc: `${HOST}/bin/runc`,
  cniBinDir: '/usr/lib/cni',
};
