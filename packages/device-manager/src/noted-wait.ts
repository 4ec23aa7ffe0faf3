/** What a container waits for that has to do with its devices. */
export interface DeviceWait {
  readonly podUid: string;
  readonly container: string;
  /** In words, with the plugin: `example.com/gpu: Allocate of the device plugin at /var/lib/kubelet/device-plugins/gpu.sock`. */
  readonly what: string;
}

/** Does the work that is waited for, and notes what that is while it goes on. */
export type NotedWait = <T>(wait: DeviceWait, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const unnoted: NotedWait = (_wait, work) => work();
