import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';

/** Upstream's operation names. */
export type VolumeOperation =
  | 'volume_mount'
  | 'volume_unmount'
  | 'unmount_device'
  | 'map_volume'
  | 'unmap_volume'
  | 'unmap_device'
  | 'volume_fs_resize'
  | 'verify_controller_attached_volume'
  | 'volume_apply_access_control';

/** Result of an operation for the metrics. */
export interface OperationResult {
  readonly succeeded: boolean;
  readonly durationMs: number;
  /** Whether the volume is the CSI form of a volume of an in-tree type. Default: false. */
  readonly isMigrated?: boolean | undefined;
}

const STATES = ['desired_state_of_world', 'actual_state_of_world'] as const;

/** State of a volume for the metrics. */
export interface CountedVolume {
  readonly plugin: string;
  /** Whether the pod wants the volume. */
  readonly isWanted: boolean;
  /** Whether the volume is mounted for the pod. A volume that may be mounted only in part does not count. */
  readonly isMounted: boolean;
}

/** Metrics of volumes, with upstream's names (`pkg/volume/util/metrics.go`, `pkg/kubelet/volumemanager/metrics`). */
export class VolumeMetrics {
  readonly #durations: Histogram<'volume_plugin' | 'operation_name' | 'status' | 'migrated'>;
  readonly #volumes: Gauge<'plugin_name' | 'state'>;
  /** Number of desired and of existing volumes, by plugin. */
  readonly #counts = new Map<string, readonly [desired: number, actual: number]>();
  readonly #reconstructions: Counter;
  readonly #reconstructionErrors: Counter;

  constructor(metrics: Metrics) {
    this.#durations = metrics.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'Duration of volume operations in seconds, by result.',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    });
    this.#volumes = metrics.gauge({
      name: 'volume_manager_total_volumes',
      help: 'Number of volumes in the desired and in the actual state of world.',
      labels: ['plugin_name', 'state'],
    });
    this.#reconstructions = metrics.counter({
      name: 'reconstruct_volume_operations_total',
      help: 'Volumes found on disk at start-up, including those that could not be registered.',
    });
    this.#reconstructionErrors = metrics.counter({
      name: 'reconstruct_volume_operations_errors_total',
      help: 'Volumes found on disk at start-up that could not be registered.',
    });
  }

  /** Counts a volume on disk that a former process left. @param succeeded whether the volume could be registered */
  reconstructed(succeeded: boolean): void {
    this.#reconstructions.inc({});
    if (!succeeded) this.#reconstructionErrors.inc({});
  }

  operation(
    plugin: string,
    name: VolumeOperation,
    { succeeded, durationMs, isMigrated = false }: OperationResult,
  ): void {
    const status = succeeded ? 'success' : 'fail-unknown';
    const labels = { volume_plugin: plugin, operation_name: name, status, migrated: `${isMigrated}` };
    this.#durations.observe(labels, durationMs / 1000);
  }

  /**
   * Records that a volume is attached to this node, or need not be. The duration is 0, because the Node object and the
   * PVC are already known; upstream reads them for this step (`GenerateVerifyControllerAttachedVolumeFunc`).
   */
  attached(plugin: string, isMigrated: boolean | undefined): void {
    this.operation(plugin, 'verify_controller_attached_volume', { succeeded: true, durationMs: 0, isMigrated });
  }

  /** Updates the counts for a changed volume. A plugin without volumes keeps its series, with value 0. */
  recount(before: CountedVolume | undefined, after: CountedVolume): void {
    if (before !== undefined) this.#add(before, -1);
    this.#add(after, 1);
  }

  #add({ plugin, isWanted, isMounted }: CountedVolume, by: 1 | -1): void {
    const [desired, actual] = this.#counts.get(plugin) ?? [0, 0];
    const counts = [desired + by * Number(isWanted), actual + by * Number(isMounted)] as const;
    this.#counts.set(plugin, counts);
    for (const [index, state] of STATES.entries())
      this.#volumes.set({ plugin_name: plugin, state }, counts[index] ?? 0);
  }
}
