import { CgroupDriver } from '@node-agent/cri-client';
import type { EventHub } from './event-hub.ts';
import { failure } from './failure.ts';
import { IpPool } from './ip-pool.ts';
import type { Handlers } from './rpcs.ts';
import type { RuntimeState } from './state.ts';

type RuntimeHandlers = Pick<
  Handlers,
  'version' | 'status' | 'updateRuntimeConfig' | 'runtimeConfig' | 'checkpointContainer' | 'getContainerEvents'
>;

/** Returns the handlers of the RPCs about the runtime itself. */
export function runtimeRpcs(state: RuntimeState, events: EventHub): RuntimeHandlers {
  return {
    async version() {
      return {
        version: '0.1.0',
        runtimeName: 'fake-cri',
        runtimeVersion: state.version,
        runtimeApiVersion: 'v1',
      };
    },

    async status({ verbose }) {
      const config = { podCidr: state.podCidr, cgroupDriver: state.cgroupDriver, latencies: state.latencies };
      return {
        status: { conditions: [...state.conditions].map(([type, condition]) => ({ type, ...condition })) },
        info: verbose ? { config: JSON.stringify(config) } : {},
        runtimeHandlers: state.runtimeHandlers.map((name) => ({
          name,
          features: { recursiveReadOnlyMounts: true, userNamespaces: true },
        })),
        features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false },
      };
    },

    async updateRuntimeConfig({ runtimeConfig }) {
      const podCidr = runtimeConfig?.networkConfig?.podCidr ?? '';
      const pools = (podCidr === '' ? [] : podCidr.split(',')).map((cidr) => {
        try {
          return new IpPool(cidr.trim());
        } catch {
          throw failure('UNKNOWN', `get routes: invalid CIDR address: ${cidr.trim()}`);
        }
      });
      if (state.usesPodCidr && podCidr !== '' && podCidr !== state.podCidr) state.ipPools = pools;
      if (podCidr !== '') state.podCidr = podCidr;
      return {};
    },

    async runtimeConfig() {
      const driver = state.cgroupDriver === 'systemd' ? CgroupDriver.SYSTEMD : CgroupDriver.CGROUPFS;
      return { linux: { cgroupDriver: driver } };
    },

    async checkpointContainer() {
      throw failure('UNIMPLEMENTED', 'method CheckpointContainer not implemented');
    },

    getContainerEvents: (_request, call) => events.subscribe(call.signal),
  };
}
