import type { CsiDriverRegistry } from '@node-agent/csi';
import type { DeviceManager } from '@node-agent/device-manager';
import type { DraManager } from '@node-agent/dra';
import { type PluginHandler, PluginWatcher } from '@node-agent/plugin-watcher';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

type Devices = Pick<DeviceManager, 'validatePlugin' | 'registerPlugin' | 'deregisterPlugin'>;
type Claims = Pick<DraManager, 'validatePlugin' | 'registerPlugin' | 'deregisterPlugin'>;

/**
 * Handlers of plugin registrations, by the part of the node that uses the plugins. Plugins of an absent part are
 * rejected.
 */
export interface PluginHandlers {
  readonly devices?: Devices | undefined;
  readonly claims?: Claims | undefined;
  readonly csiDrivers?: Pick<CsiDriverRegistry, 'validate' | 'register' | 'deregister'> | undefined;
}

/**
 * Creates the watcher that finds plugins by their sockets, or returns `undefined` if no plugin directory is configured.
 */
export function nodePlugins(
  child: (component: string) => PartComponents,
  {
    fs,
    foreignFiles,
    labelForContainers,
    deviceTransport: transport,
  }: Pick<NodePorts, 'fs' | 'foreignFiles' | 'labelForContainers' | 'deviceTransport'>,
  { pluginsDirectory: directory }: Pick<AssemblySettings, 'pluginsDirectory'>,
  { devices, claims, csiDrivers }: PluginHandlers,
): PluginWatcher | undefined {
  if (directory === undefined) return undefined;
  const handlers = new Map<string, PluginHandler>();
  if (devices !== undefined) handlers.set('DevicePlugin', deviceHandler(devices));
  if (csiDrivers !== undefined) handlers.set('CSIPlugin', csiDrivers);
  if (claims !== undefined) handlers.set('DRAPlugin', claimHandler(claims));
  const ports = {
    fs,
    foreignFiles,
    ...(labelForContainers && { labelForContainers }),
    ...(transport && { transport }),
  };
  return new PluginWatcher({ ...child('plugin-watcher'), ...ports }, { directory, handlers });
}

/**
 * Adapts the device manager to the port of the plugin watcher. Error messages are those of upstream's
 * `plugin/v1beta1/handler.go`.
 */
function deviceHandler(devices: Devices): PluginHandler {
  return {
    validate: (resource, _endpoint, versions) => devices.validatePlugin(resource, versions),
    register: (resource, endpoint, _versions, signal) => devices.registerPlugin(resource, endpoint, signal),
    deregister: (resource, endpoint) => devices.deregisterPlugin(resource, endpoint),
  };
}

/** Adapts the manager of ResourceClaims to the port of the plugin watcher. */
function claimHandler(claims: Claims): PluginHandler {
  return {
    validate: (driver, endpoint, services) => claims.validatePlugin(driver, endpoint, services),
    register: async (driver, endpoint, services) => claims.registerPlugin(driver, endpoint, services),
    deregister: (driver, endpoint) => claims.deregisterPlugin(driver, endpoint),
  };
}
