import { describe, expect, it, vi } from 'vitest';
import type { ContainerGrants, GrantedOptions } from '../src/index.ts';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

const granted: GrantedOptions = {
  envs: [
    { name: 'LEDS', value: 'led0' },
    { name: 'OWN', value: 'plugin' },
  ],
  mounts: [
    {
      ...{ containerPath: '/led', hostPath: '/run/led', readOnly: true },
      ...{ recursiveReadOnly: false, selinuxRelabel: false, propagation: 'None' },
    },
  ],
  devices: [{ containerPath: '/dev/led', hostPath: '/dev/led7', permissions: 'rw' }],
  annotations: { 'led.example.com/ids': 'led0', 'io.kubernetes.container.hash': 'not this' },
  cdiDevices: ['example.com/led=led0'],
};

/** Creates a machine with resource grants, and the configurations of the containers that it created. */
function machineWith(options: ContainerGrants['options']) {
  const machine = new Machine({ components: { grants: { options } } });
  const create = vi.spyOn(machine.cri, 'createContainer');
  return { machine, configs: () => create.mock.calls.map(([{ config }]) => config) };
}

describe('devices granted to a container', () => {
  it('the container config has the allocated devices; variables of the container and the kubelet’s annotations take precedence', async () => {
    const { machine, configs } = machineWith(async () => granted);
    const container = { ...sleeper('a'), env: [{ name: 'OWN', value: 'pod' }] };
    await machine.sync(machine.kubelet(), pod({ containers: [container] }));
    const [config] = configs();
    const envs = config?.envs?.map(({ key, value }) => `${key}=${new TextDecoder().decode(value ?? new Uint8Array())}`);
    expect(envs?.slice(0, 3)).toEqual(['LEDS=led0', 'OWN=plugin', 'OWN=pod']);
    expect(config?.mounts?.[0]).toMatchObject({ containerPath: '/led', hostPath: '/run/led', readonly: true });
    expect(config?.devices).toEqual(granted.devices);
    expect(config?.CDIDevices).toEqual([{ name: 'example.com/led=led0' }]);
    expect(config?.annotations?.['led.example.com/ids']).toBe('led0');
    expect(config?.annotations?.['io.kubernetes.container.hash']).not.toBe('not this');
  });

  it('devices are requested before each attempt, and the container waits if they are not available', async () => {
    let fails = true;
    const { machine } = machineWith(async () => {
      if (fails) throw new Error('no led today');
      return granted;
    });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    expect((await machine.sync(kubelet, web)).results.at(-1)).toMatchObject({
      error: { reason: 'CreateContainerConfigError', message: 'no led today' },
    });
    fails = false;
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/0']);
  });
});
