import { FUSE, LED, RELAY, VALVE } from '../device-plugins.ts';
import { type Case, one, runs, shell } from './case.ts';

const asks = (resource: string, count = 1) => ({ resources: { limits: { [resource]: `${count}` } } });

/** Devices of device plugins: containers that get devices, and pods that are rejected because of them. */
export const devices: readonly Case[] = [
  one('device', { ...asks(LED), env: [{ name: 'SHADOWED', value: 'by the pod' }] }),
  {
    name: 'device-of-init',
    spec: { initContainers: [shell('true', { name: 'i1', ...asks(RELAY) })], containers: [runs(asks(RELAY))] },
  },
  one('device-too-many', asks(VALVE, 2)),
  one('device-plugin-fails', asks(FUSE)),
  one('device-of-nobody', asks('compare.example.com/none')),
];
