import type { CgroupManager } from '@node-agent/cm-cgroups';
import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { HttpTransport } from '@node-agent/fake-apiserver';
import type { FileHandle, FileSystem, ForeignFiles } from '@node-agent/host';
import type { Fetch } from '@node-agent/pod-config';
import type { LocalDevices, LoopDevices, Mounter } from '@node-agent/volumes';
import type { Lease, PortKind } from './lease.ts';

type Method = (...args: unknown[]) => unknown;

/** RPCs with streaming responses. */
const STREAMS = new Set([
  'getContainerEvents',
  'streamContainers',
  'streamPodSandboxes',
  'streamContainerStats',
  'streamPodSandboxStats',
  'streamPodSandboxMetrics',
  'streamImages',
]);

/** Returns a proxy of `target` whose methods `guard` has wrapped. */
function guarded<T extends object>(target: T, guard: (name: string, method: Method) => Method): T {
  const methods = new Map<string | symbol, Method>();
  return new Proxy(target, {
    get(inner, name) {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(inner, name, inner);
      if (typeof value !== 'function' || typeof name === 'symbol') return value;
      const method = guard(name, (...args) => Reflect.apply(value, inner, args));
      methods.set(name, method);
      return method;
    },
  });
}

/** Wraps the runtime services for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedCri<T extends RuntimeService & ImageService>(lease: Lease, cri: T): T {
  return guarded(cri, (name, method) => (request, signal) => {
    const call = { port: 'cri', name, args: [request] } as const;
    if (STREAMS.has(name)) {
      return lease.stream(call, asSignal(signal), (linked) => method(request, linked) as AsyncIterable<unknown>);
    }
    return lease.call(call, asSignal(signal), (linked) => method(request, linked) as Promise<unknown>);
  });
}

/** Wraps the file system for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedFiles(lease: Lease, fs: FileSystem): FileSystem {
  return guarded(fs, (name, method) => async (...args) => {
    const call = { port: 'fs', name, args } as const;
    if (name === 'watch') {
      const [path, onChange, signal] = args as Parameters<FileSystem['watch']>;
      const unlessDead: typeof onChange = (changed, what) => {
        if (!lease.dead) onChange(changed, what);
      };
      return lease.call(call, signal, () => fs.watch(path, unlessDead, lease.untilDeath(signal)));
    }
    const result = await lease.call(call, undefined, () => method(...args) as Promise<unknown>);
    return name === 'open' || name === 'openBeneath'
      ? guardedPort<FileHandle>(lease, 'fs', result as FileHandle)
      : result;
  });
}

/** Wraps access to foreign files for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedForeignFiles(lease: Lease, files: ForeignFiles): ForeignFiles {
  return guardedPort(lease, 'fs', files);
}

/** Wraps the mounter for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedMounter(lease: Lease, mounter: Mounter): Mounter {
  return guardedPort(lease, 'mount', mounter);
}

/** Wraps mounts of local disks for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedDevices(lease: Lease, devices: LocalDevices): LocalDevices {
  return {
    formatAndMount: (device, target, fsType, options, signal) =>
      lease.call({ port: 'mount', name: 'formatAndMount', args: [device, target] }, signal, (linked) =>
        devices.formatAndMount(device, target, fsType, options, linked),
      ),
  };
}

/** Wraps loop devices for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedLoops(lease: Lease, loops: LoopDevices): LoopDevices {
  return guardedPort(lease, 'mount', loops);
}

/** Wraps the cgroup manager for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedCgroups(lease: Lease, cgroups: CgroupManager): CgroupManager {
  return guarded(cgroups, (name, method) =>
    // `path` is synchronous and needs no wrapper.
    name === 'path'
      ? method
      : (...args) => lease.call({ port: 'cgroup', name, args }, undefined, () => method(...args) as Promise<unknown>),
  );
}

/** Wraps HTTP requests for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedFetch(lease: Lease, fetch: Fetch): Fetch {
  return (url, init) =>
    lease.call({ port: 'http', name: 'fetch', args: [url] }, init.signal, (signal) => fetch(url, { ...init, signal }));
}

/** Wraps API requests for a kubelet process: after its lease has ended, calls have no effect and never return. */
export function guardedTransport(lease: Lease, transport: HttpTransport): HttpTransport {
  return {
    async request(request, signal) {
      const call = { port: 'api', name: request.method, args: [request.path] } as const;
      // The response body is read after the call has returned, until the caller aborts or the process dies. A call's
      // own signal ends with the response, so the body needs another signal.
      const untilThen = lease.untilDeath(signal ?? new AbortController().signal);
      const response = await lease.call(call, signal, () => transport.request(request, untilThen));
      return { ...response, body: lease.stream(call, signal, () => response.body) };
    },
  };
}

function guardedPort<T extends object>(lease: Lease, port: PortKind, target: T): T {
  return guarded(
    target,
    (name, method) =>
      (...args) =>
        lease.call({ port, name, args }, undefined, () => method(...args) as Promise<unknown>),
  );
}

function asSignal(value: unknown): AbortSignal | undefined {
  return value instanceof AbortSignal ? value : undefined;
}
