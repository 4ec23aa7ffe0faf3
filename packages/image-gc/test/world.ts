import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { CheckpointStore } from '@node-agent/checkpoint';
import { busyboxImage, type FakeImage, FakeRuntime } from '@node-agent/fake-cri';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { ImageGc, type ImageGcComponents, type ImageGcCri, type ImageGcPolicy } from '../src/index.ts';

export const GiB: number = 1024 ** 3;

/** A test environment: a runtime with images on a disk of 100 GiB, of which other files use `otherBytes`. */
export interface World {
  readonly clock: FakeClock;
  readonly fs: MemoryFileSystem;
  readonly cri: FakeRuntime;
  readonly metrics: MetricsRegistry;
  readonly lines: ReturnType<typeof captureLogger>['lines'];
  readonly events: string[];
  otherBytes: number;
  /** The disk space that an image really uses, as a multiple of the size that the runtime reports. */
  truth: number;
  /** Returns the sorted tags of the images that exist. */
  present(): Promise<string[]>;
  /** Creates a collector, as each kubelet process does. */
  gc(policy?: Partial<ImageGcPolicy>, components?: Partial<ImageGcComponents>): ImageGc;
}

export async function makeWorld(images: readonly FakeImage[] = []): Promise<World> {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const cri = new FakeRuntime({ clock, fs, random: seededRandom(1) }, { images: [busyboxImage(), ...images] });
  const metrics = new MetricsRegistry();
  const { logger, lines } = captureLogger();
  const world: World = {
    ...{ clock, fs, cri, metrics, lines },
    events: [],
    otherBytes: 0,
    truth: 1,
    async present() {
      const listed = await cri.listImages({});
      return listed.images
        .flatMap(({ repoTags }) => repoTags.map((tag) => tag.replace('docker.io/library/', '')))
        .sort();
    },
    gc: (policy = {}, components = {}) =>
      new ImageGc(
        {
          ...{ cri, clock, logger, metrics },
          disks: {
            async statfs() {
              const listed = await cri.listImages({});
              const used = listed.images.reduce((sum, { size }) => sum + size * world.truth, world.otherBytes);
              return { totalBytes: 100 * GiB, availableBytes: Math.max(0, 100 * GiB - used) };
            },
          },
          ages: new CheckpointStore({ fs }, { directory: '/root/image_gc' }),
          tell: (type, reason, message) => world.events.push(`${type} ${reason} ${message}`),
          ...components,
        },
        { policy },
      ),
  };
  return world;
}

/** Creates a pod with one running container. */
export async function runPod({ cri }: World, name: string, image: string, volumeImage?: string): Promise<string> {
  const metadata = { name, namespace: 'default', uid: name, attempt: 0 };
  const sandboxConfig = { metadata, hostname: name, logDirectory: `/logs/${name}` };
  const { podSandboxId } = await cri.runPodSandbox({ config: sandboxConfig });
  const mounts =
    volumeImage === undefined ? [] : [{ containerPath: '/data', hostPath: '', image: { image: volumeImage } }];
  const config = { metadata: { name: 'main', attempt: 0 }, image: { image }, command: ['sleep', 'infinity'], mounts };
  const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig });
  return containerId;
}

/** Returns the runtime with some of its calls replaced. */
export function withCalls<K extends keyof ImageGcCri>(cri: FakeRuntime, calls: Pick<ImageGcCri, K>): ImageGcCri {
  return new Proxy(cri, {
    get(target, name) {
      const source = Object.hasOwn(calls, name) ? calls : target;
      const value: unknown = Reflect.get(source, name, source);
      return typeof value === 'function' ? value.bind(source) : value;
    },
  });
}
