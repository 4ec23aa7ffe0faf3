import { silentLogger } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { MemoryCgroups } from './memory-cgroups.ts';
import { makeWorld, startKubelet } from './node.ts';

test('each component of a node logs under its own name', async () => {
  const world = await makeWorld();
  const names = new Set<unknown>();
  const logger = {
    ...silentLogger,
    child: ({ component }: { readonly component?: unknown }) => {
      names.add(component);
      return silentLogger;
    },
  };
  const ports = {
    logger,
    openCgroups: async () => new MemoryCgroups(),
    stats: {
      cgroups: async () => ({ version: 2, mount: '/sys/fs/cgroup' }) as const,
      disks: { statfs: () => Promise.reject(new Error('none')) },
    },
    shutdown: {
      logind: { connect: () => Promise.reject(new Error('none')) },
      inhibitor: { acquire: () => Promise.reject(new Error('none')) },
    },
  };
  const { stop } = startKubelet(world, [], undefined, [], ports, {
    devices: { directory: '/root/device-plugins' },
    pluginsDirectory: '/root/plugins_registry',
    shutdown: { gracePeriods: [{ priority: 0, shutdownGracePeriodSeconds: 20 }] },
    userNamespaces: { unavailable: 'none' },
  });
  await stop();
  const wanted = [
    ...['admission', 'allocation', 'cgroups', 'container-gc', 'container-logs', 'device-manager', 'image-gc', 'images'],
    ...[
      'kubelet',
      'lifecycle-hooks',
      'network',
      'node-shutdown',
      'pleg',
      'plugin-watcher',
      'pod-config',
      'pod-workers',
    ],
    ...['prober', 'runtime', 'stats', 'status', 'volumes'],
  ];
  expect([...names].map(String).sort()).toEqual(wanted);
});
