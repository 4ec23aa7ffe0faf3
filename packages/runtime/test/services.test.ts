import { describe, expect, it, vi } from 'vitest';
import type { ServiceData } from '../src/index.ts';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

const kubernetes: ServiceData = {
  metadata: { namespace: 'default', name: 'kubernetes' },
  spec: { clusterIP: '10.0.0.1', ports: [{ port: 443 }] },
};

/**
 * Creates a machine whose services are available once `known` is set. `hosts` returns the API server's address in the
 * environment of each created container.
 */
function machineWithServices(): { machine: Machine; known: { services?: ServiceData[] }; hosts: () => string[] } {
  const known: { services?: ServiceData[] } = {};
  const machine = new Machine({ components: { services: () => known.services } });
  const create = vi.spyOn(machine.cri, 'createContainer');
  const hosts = (): string[] =>
    create.mock.calls.map(([{ config }]) => {
      const host = config?.envs?.find(({ key }) => key === 'KUBERNETES_SERVICE_HOST');
      return new TextDecoder().decode(host?.value ?? new Uint8Array());
    });
  return { machine, known, hosts };
}

describe('services in the environment', () => {
  it('an API pod waits until services have been read once', async () => {
    const { machine, known, hosts } = machineWithServices();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    expect((await machine.sync(kubelet, web)).results.at(-1)).toMatchObject({
      error: {
        reason: 'CreateContainerConfigError',
        message: 'services have not yet been read at least once, cannot construct envvars',
      },
    });
    known.services = [kubernetes];
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/0']);
    expect(hosts()).toEqual(['10.0.0.1']);
  });

  it('F4: a static pod does not wait for services', async () => {
    const { machine, hosts } = machineWithServices();
    const plain = pod({ containers: [sleeper('a')] });
    const annotations = { 'kubernetes.io/config.source': 'file' };
    await machine.sync(machine.kubelet(), { ...plain, metadata: { ...plain.metadata, annotations } });
    expect(machine.live()).toEqual(['a/0']);
    expect(hosts()).toEqual(['']);
  });
});
