import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient } from '@node-agent/cri-client';
import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import type { Pod } from '@node-agent/pod-spec';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { containerId, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const LED = 'example.com/led';
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
/** Script that prints the devices and variables of the container. */
const SHOW = 'echo "leds=$LEDS own=$OWN name=$(cat /led/name) $(test -c /dev/led && echo device)"';

/**
 * Registers tests of a device plugin with a real kubelet on a real containerd: the devices of containers, and restarts
 * of plugin and kubelet.
 */
export function devicesSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} assigns devices to containers`, (context) => context.skip(found.reason));
    return;
  }
  describe(`devices on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let sockets = '';
    let containerd: Containerd;
    let node: TestNode;
    let plugin: FakeDevicePlugin;
    const leds = (...unwell: readonly string[]) =>
      ['led0', 'led1'].map((ID) => ({ ID, health: unwell.includes(ID) ? 'Unhealthy' : 'Healthy' }));

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      node = new TestNode({ directory, endpoint: containerd.endpoint });
      sockets = join(node.rootDir, 'device-plugins');
      await node.start();
      await writeFile(join(directory, 'name'), 'blinky');
      await plug();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      plugin?.stop();
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    /** Starts a new device plugin. The caller has stopped the previous plugin. */
    async function plug(): Promise<void> {
      plugin = new FakeDevicePlugin(
        {
          ...{ resource: LED, directory: sockets },
          allocate: async (ids) => ({
            envs: { LEDS: ids.toSorted().join(), OWN: 'plugin' },
            mounts: [{ containerPath: '/led/name', hostPath: join(directory, 'name'), readOnly: true }],
            devices: [{ containerPath: '/dev/led', hostPath: '/dev/zero', permissions: 'rw' }],
            annotations: { 'led.example.com/ids': ids.join() },
          }),
        },
        leds(),
      );
      await node.until('the socket', async () => (existsSync(join(sockets, 'kubelet.sock')) ? true : undefined));
      await plugin.start();
      await node.until('the registration', async () => {
        await plugin.register();
        return true;
      });
    }

    const wants = (count: number): object => ({
      resources: { limits: { [LED]: `${count}` }, requests: { [LED]: `${count}` } },
    });
    const pod = (count: number, more: object = {}): object => ({
      containers: [script('c', `${SHOW}; ${FOREVER}`, { ...wants(count), ...more })],
    });
    /** Returns the output of a container's start, by restart attempt. */
    async function said(name: string, attempt = 0): Promise<string> {
      return node.until(`the words of ${name}`, async () => {
        const folder = (await readdir(node.podLogs)).find((entry) => entry.startsWith(`default_${name}-e2e_`));
        const text = await readFile(join(node.podLogs, folder ?? '', 'c', `${attempt}.log`), 'utf8');
        return /leds=.*/.exec(text)?.[0];
      });
    }
    const health = ({ status }: Pod): unknown => status?.containerStatuses?.[0]?.allocatedResourcesStatus;

    test('a container gets variables, a mount and a device node from a plugin; the variables in its spec take precedence', async () => {
      await node.write({ name: 'one', spec: pod(1, { env: [{ name: 'OWN', value: 'pod' }] }) });
      const running = await node.running('one');
      expect(await said('one')).toBe('leds=led0 own=pod name=blinky device');
      expect(health(running)).toEqual([{ name: LED, resources: [{ resourceID: 'led0', health: 'Healthy' }] }]);
    });

    test("N1: rejects a pod that requests more devices than are free, with upstream's message", async () => {
      await node.write({ name: 'greedy', spec: pod(2) });
      const { status } = await node.podUntil('greedy', ({ status }) => status?.phase === 'Failed');
      expect(status?.reason).toBe('UnexpectedAdmissionError');
      expect(status?.message).toBe(
        `Pod was rejected: Allocate failed due to requested number of devices unavailable for ${LED}. Requested: 2, Available: 1, which is unexpected`,
      );
      await node.remove('greedy');
    });

    test('a device that becomes unhealthy is reported in the status of its pod', async () => {
      plugin.setDevices(leds('led0'));
      const ill = [{ name: LED, resources: [{ resourceID: 'led0', health: 'Unhealthy' }] }];
      await node.podUntil('one', (one) => JSON.stringify(health(one)) === JSON.stringify(ill));
      plugin.setDevices(leds());
      await node.podUntil('one', (one) => JSON.stringify(health(one)).includes('"Healthy"'));
    });

    test('K1: after a kill -9, a pod keeps its devices, before and after its plugin registers again', async () => {
      const before = await node.running('one');
      await node.kill('SIGKILL');
      await node.start();
      const after = await node.running('one');
      expect(containerId(after)).toBe(containerId(before));
      // The plugin has not registered with the new kubelet: a new pod waits for it instead of failing.
      await node.write({ name: 'two', spec: pod(1) });
      plugin.stop();
      await plug();
      await node.running('two');
      expect(await said('two')).toBe('leds=led1 own=plugin name=blinky device');
      expect(containerId(await node.running('one'))).toBe(containerId(before));
    });

    test('a restarted container gets the same devices while the plugin is down', async () => {
      plugin.stop();
      const [main] = [...(await node.pods())].filter(({ metadata }) => metadata.name === 'two-e2e');
      const before = containerId(main as Pod);
      await using cri = new CriClient({}, { endpoint: containerd.endpoint });
      await cri.stopContainer({ containerId: before, timeout: 0 });
      await node.podUntil(
        'two',
        ({ status }) => status?.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].ready,
      );
      expect(await said('two', 1)).toBe('leds=led1 own=plugin name=blinky device');
    });

    test('devices of a deleted pod can be assigned to the next pod', async () => {
      await plug();
      await node.remove('two');
      await node.write({ name: 'three', spec: pod(1) });
      await node.running('three');
      expect(await said('three')).toMatch(/^leds=led1 /);
      expect(await node.health()).toMatchObject({ ok: true, text: expect.stringContaining('[+]device-plugin ok') });
      expect(await node.page('/metrics')).toContain(
        `kubelet_device_plugin_alloc_duration_seconds_count{resource_name="${LED}"} 2`,
      );
    });
  });
}
