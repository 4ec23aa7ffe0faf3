import type { Container, Pod, PodSpec } from '@node-agent/pod-spec';
import type { ContainerContext, NodeSettings, SandboxContext } from '../../src/config/context.ts';
import type { ResourceSettings } from '../../src/config/resource-settings.ts';

export const GI: number = 2 ** 30;

export const resourceSettings: ResourceSettings = {
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000,
  memoryCapacityBytes: 8 * GI,
  swapCapacityBytes: 4 * GI,
  swapControllerAvailable: false,
  swapBehavior: 'NoSwap',
  hugePageSizes: ['2MB', '1GB'],
  singleProcessOomKill: true,
};

export const nodeSettings: NodeSettings = {
  podLogsDirectory: '/var/log/pods',
  seccompProfileRoot: '/var/lib/kubelet/seccomp',
  seccompDefault: false,
  extraMaskedPaths: [],
  containerStopSignals: true,
  resources: resourceSettings,
};

export const sandboxContext: SandboxContext = {
  node: nodeSettings,
  dns: { servers: ['10.0.0.10'], searches: ['svc.local'], options: ['ndots:5'] },
  hostname: 'web',
  domain: '',
  cgroupParent: '/kubepods/poduid-1',
};

export const containerContext: ContainerContext = {
  node: nodeSettings,
  hash: 'cafe',
  imageRef: 'sha256:1234',
  imageUser: { uid: 0 },
  environment: [],
  mounts: [],
};

export function makeContainer(fields: Partial<Container> = {}): Container {
  return { name: 'app', image: 'busybox', ...fields };
}

export function makePod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', ...metadata },
    spec: { containers: [makeContainer()], ...spec },
  };
}
