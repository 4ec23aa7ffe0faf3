/** A wait of a container for its devices. */
export interface DeviceWait {
  readonly podUid: string;
  readonly container: string;
  /**
   * Description that names the plugin: `example.com/gpu: Allocate of the device plugin at
   * /var/lib/kubelet/device-plugins/gpu.sock`.
   */
  readonly what: string;
}

/** Runs the work that is waited for, and records the wait while it is in progress. */
export type NotedWait = <T>(wait: DeviceWait, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const unnoted: NotedWait = (_wait, work) => work();
