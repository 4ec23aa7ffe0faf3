import { CriError } from '@node-agent/cri-client';
import { expect, test } from 'vitest';
import type { ImagePuller } from '../src/index.ts';
import { ImageVolumePulls } from '../src/reconcile/image-volumes.ts';
import { pod } from './builders.ts';
import { Machine, type MachineOptions, sleeper } from './machine.ts';

const volumes = [
  { name: 'data', image: { reference: 'data:1', pullPolicy: 'Always' as const } },
  { name: 'other', image: { reference: 'other:1' } },
];
const volumeMounts = [{ name: 'data', mountPath: '/data', subPath: 'etc' }];

/** Creates a machine that mounts image volumes, and records the image pulls that its kubelet requests. */
function machineOf(
  puller: Partial<ImagePuller> = {},
  more: MachineOptions = {},
): { machine: Machine; asked: object[] } {
  const asked: object[] = [];
  const machine = new Machine({
    ...more,
    images: {
      async ensureImageExists(_pod, container) {
        asked.push(container);
        return { imageRef: container.image ?? '' };
      },
      ...puller,
    },
    components: {
      runtimeHandler: more.components?.runtimeHandler ?? (async () => ''),
      mounts: {
        containerMounts: async (_pod, container) =>
          (container.volumeMounts ?? []).map(({ name, mountPath: containerPath, subPath = '' }) => ({
            ...{ containerPath, hostPath: '', imageVolume: { name, subPath }, readOnly: true },
            ...{ recursiveReadOnly: false, selinuxRelabel: false, propagation: 'None' as const },
          })),
      },
    },
  });
  return { machine, asked };
}

test('pulls the image of a volume once for all containers that mount it', async () => {
  const { machine, asked } = machineOf();
  const web = pod({
    containers: [sleeper('a', { volumeMounts }), sleeper('b', { volumeMounts }), sleeper('c')],
    volumes,
  });
  const { error } = await machine.sync(machine.kubelet(), web);
  expect(error).toBeUndefined();
  expect(asked.filter((each) => !('name' in each))).toEqual([{ image: 'data:1', imagePullPolicy: 'Always' }]);
  const { containers } = await machine.cri.listContainers({});
  const mounts = await Promise.all(
    containers.map(async ({ id }) => (await machine.cri.containerStatus({ containerId: id })).status?.mounts ?? []),
  );
  const image = { image: 'data:1', userSpecifiedImage: 'data:1', runtimeHandler: '' };
  expect(mounts.flat()).toMatchObject([
    { containerPath: '/data', image, imageSubPath: 'etc' },
    { containerPath: '/data', image, imageSubPath: 'etc' },
  ]);
  expect(machine.counts.get('kubelet_image_volume_requested_total{}')).toBe(2);
  expect(machine.counts.get('kubelet_image_volume_mounted_succeed_total{}')).toBe(2);
});

test('C7: a container waits whose image volume cannot be pulled, and other containers start', async () => {
  const failure = Object.assign(new Error('pull access denied'), { code: 'ErrImagePull' });
  const { machine } = machineOf({
    async ensureImageExists(_pod, { name, image = '' }) {
      if (name === undefined) throw failure;
      return { imageRef: image };
    },
  });
  const web = pod({ containers: [sleeper('a', { volumeMounts }), sleeper('b')], volumes });
  const { results } = await machine.sync(machine.kubelet(), web);
  const error = { reason: 'ErrImagePull', message: 'pull access denied' };
  const starts = results.filter(({ action }) => action === 'StartContainer');
  expect(starts).toHaveLength(2);
  expect(starts).toContainEqual({ action: 'StartContainer', target: 'b' });
  expect(starts).toContainEqual({ action: 'StartContainer', target: 'a', error });
  expect(machine.events).toContain('Warning Failed containers{a}: Error: ErrImagePull');
});

test('a container waits with the reason of the last of several failed image volumes, and each failure is reported', async () => {
  const codes: Record<string, string> = { 'data:1': 'ErrImageNeverPull', 'other:1': 'ErrImagePull' };
  const { machine } = machineOf({
    async ensureImageExists(_pod, { name, image = '' }) {
      if (name === undefined) throw Object.assign(new Error(`no ${image}`), { code: codes[image] });
      return { imageRef: image };
    },
  });
  const both = [...volumeMounts, { name: 'other', mountPath: '/other' }];
  const { results } = await machine.sync(
    machine.kubelet(),
    pod({ containers: [sleeper('a', { volumeMounts: both })], volumes }),
  );
  const error = { reason: 'ErrImagePull', message: 'no other:1' };
  expect(results).toContainEqual({ action: 'StartContainer', target: 'a', error });
  expect(machine.events.filter((event) => event.startsWith('Warning'))).toEqual([
    'Warning Failed containers{a}: Error: ErrImageNeverPull',
    'Warning Failed containers{a}: Error: ErrImagePull',
  ]);
});

test('does not look up a deleted RuntimeClass for image volumes', async () => {
  let isGone = false;
  const runtimeHandler = async (): Promise<string> => {
    if (isGone) throw new Error('runtimeclass.node.k8s.io "special" not found');
    isGone = true;
    return '';
  };
  const { machine } = machineOf({}, { components: { runtimeHandler } });
  const { error, results } = await machine.sync(
    machine.kubelet(),
    pod({ containers: [sleeper('a', { volumeMounts })], volumes }),
  );
  expect([error, isGone]).toEqual([undefined, true]);
  expect(results).toContainEqual({ action: 'StartContainer', target: 'a' });
});

test('counts an image volume that the runtime cannot mount', async () => {
  const { machine } = machineOf();
  const failure = new CriError({
    rpc: 'CreateContainer',
    code: 'UNKNOWN',
    details: 'ImageVolumeMountFailed: no such directory',
  });
  const cri = new Proxy(machine.cri, {
    get(target, name) {
      if (name === 'createContainer') return () => Promise.reject(failure);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const kubelet = machine.kubelet(cri);
  const web = pod({ containers: [sleeper('a', { volumeMounts })], volumes });
  await machine.sync(kubelet, web);
  expect(machine.counts.get('kubelet_image_volume_mounted_errors_total{}')).toBe(1);
  expect(machine.counts.has('kubelet_image_volume_mounted_succeed_total{}')).toBe(false);
});

// If the volumes were searched for each container, the test would exceed its timeout.
test('K5: finds the image volumes of very many containers in linear time', async () => {
  const many = Array.from({ length: 20_000 }, (_, index) => ({ name: `v${index}`, emptyDir: {} }));
  const images = { ensureImageExists: async () => ({ imageRef: '' }) };
  const web = pod({ containers: [], volumes: [...many, ...volumes] });
  const pulls = new ImageVolumePulls({ images }, web, {}, new AbortController().signal);
  const containers = Array.from({ length: 10_000 }, () => pulls.of(sleeper('a', { volumeMounts })));
  for (const found of await Promise.all(containers)) expect(found.images.size).toBe(1);
});
