import type { GrpcTransport, Service } from '@node-agent/grpc';
import type { AssemblySettings, NodePorts } from '@node-agent/kubelet-assembly';
import type { NodePlan } from '../scenario/actions.ts';
import { PLUGINS_DIRECTORY } from '../world/csi-driver.ts';
import { DEVICE_PLUGINS_DIRECTORY } from '../world/device-plugins.ts';
import type { World } from '../world/world.ts';
import type { Lease } from './lease.ts';

/**
 * Returns the transport between a kubelet and its device plugins, CSI and DRA drivers, bound to the lease. Returns no
 * port on a node without plugins and drivers.
 */
export function devicePorts(
  lease: Lease,
  { devicePlugins, csi, dra, sockets }: World,
  change: (transport: GrpcTransport) => GrpcTransport = (transport) => transport,
): Pick<NodePorts, 'deviceTransport'> {
  return devicePlugins || csi || dra ? { deviceTransport: guardedTransport(lease, change(sockets)) } : {};
}

/** Returns the directories of device plugins and of other plugins, as far as the node has any. */
export function deviceSettings({
  devices,
  csi,
  claims,
}: NodePlan): Pick<AssemblySettings, 'devices' | 'pluginsDirectory' | 'resourceClaims'> {
  return {
    ...(devices && { devices: { directory: DEVICE_PLUGINS_DIRECTORY } }),
    ...((csi || claims) && { pluginsDirectory: PLUGINS_DIRECTORY }),
    ...(claims && { resourceClaims: {} }),
  };
}

/** Closes all connections when the process dies, as a kernel does. */
function guardedTransport(lease: Lease, transport: GrpcTransport): GrpcTransport {
  const open = new Set<{ close(): void }>();
  lease.untilDeath(new AbortController().signal).addEventListener('abort', () => {
    for (const one of open) one.close();
  });
  return {
    client(_components, options) {
      const inner = transport.client({ clock: lease.clock }, options);
      open.add(inner);
      const call = (name: string) => ({ port: 'plugin', name, args: [options.socketPath] }) as const;
      return {
        connect: (timeoutMs, signal) =>
          lease.call(call('connect'), signal, (linked) => inner.connect(timeoutMs, linked)),
        unary: (rpc, request, options = {}) =>
          lease.call(call(rpc.name), options.signal, (signal) => inner.unary(rpc, request, { ...options, signal })),
        stream: (rpc, request, options = {}) =>
          lease.stream(call(rpc.name), options.signal, (signal) => inner.stream(rpc, request, { ...options, signal })),
        close: () => {
          open.delete(inner);
          inner.close();
        },
      };
    },
    server(options) {
      const inner = transport.server({ ...options, services: options.services.map((one) => unlessDead(lease, one)) });
      open.add(inner);
      return {
        start: () =>
          lease.call({ port: 'plugin', name: 'listen', args: [options.socketPath] }, undefined, () => inner.start()),
        close: () => {
          open.delete(inner);
          inner.close();
        },
      };
    },
  };
}

/** Calls to a dead process get no response. Such calls end when the process's server is closed. */
function unlessDead(lease: Lease, { rpcs, handlers }: Service): Service {
  const guarded = Object.entries(handlers).map(([name, handler]): [string, typeof handler] => [
    name,
    (request, signal) => (lease.dead ? new Promise<never>(() => {}) : handler(request, signal)),
  ]);
  return { rpcs, handlers: Object.fromEntries(guarded) };
}
