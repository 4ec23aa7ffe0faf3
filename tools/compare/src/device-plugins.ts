import { mkdir } from 'node:fs/promises';
import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';

/** Resource that a device plugin offers, with exactly one device, so that both kubelets must select the same device. */
interface Offer {
  readonly resource: string;
  readonly preStartRequired?: boolean;
  /** Error that Allocate returns instead of a response. */
  readonly fails?: string;
}

export const LED = 'compare.example.com/led';
export const RELAY = 'compare.example.com/relay';
export const VALVE = 'compare.example.com/valve';
export const FUSE = 'compare.example.com/fuse';

const OFFERS: readonly Offer[] = [
  { resource: LED },
  { resource: RELAY, preStartRequired: true },
  { resource: VALVE },
  { resource: FUSE, fails: 'it has blown' },
];

/** Resources of a node while its plugins run. */
export const DEVICE_RESOURCES: readonly string[] = OFFERS.map(({ resource }) => resource);

/**
 * Device plugins of one side. The kubelet finds their sockets below its own root directory. The device plugins
 * directory for self-registration cannot be used, because the Go kubelet uses one fixed path for the whole machine.
 */
export class DevicePlugins {
  readonly #plugins: readonly FakeDevicePlugin[];
  readonly #directory: string;
  /** Reasons why the kubelet rejected resources. */
  readonly refusals: string[] = [];

  constructor(rootDirectory: string) {
    this.#directory = `${rootDirectory}/plugins_registry`;
    this.#plugins = OFFERS.map(({ resource, preStartRequired = false, fails }) => {
      const onStatus = (error: string | undefined): void => {
        if (error !== undefined) this.refusals.push(`${resource}: ${error}`);
      };
      const name = resource.slice(resource.indexOf('/') + 1);
      const given = `${name.toUpperCase()}_GIVEN`;
      return new FakeDevicePlugin(
        {
          ...{ resource, directory: this.#directory, socketName: `${name}.sock`, options: { preStartRequired } },
          services: [foundPlugin({ type: 'DevicePlugin', name: resource, versions: ['v1beta1'], onStatus })],
          allocate: async (ids) => {
            if (fails !== undefined) throw new Error(fails);
            return {
              envs: { [given]: ids.join(), SHADOWED: 'by the plugin' },
              mounts: [{ containerPath: `/${name}/hosts`, hostPath: '/etc/hosts', readOnly: true }],
              devices: [{ containerPath: `/dev/${name}`, hostPath: '/dev/zero', permissions: 'rw' }],
              annotations: { [`${name}.example.com/ids`]: ids.join() },
            };
          },
        },
        [{ ID: `${name}0`, health: 'Healthy' }],
      );
    });
  }

  async start(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    for (const plugin of this.#plugins) await plugin.start();
  }

  stop(): void {
    for (const plugin of this.#plugins) plugin.stop();
  }
}
