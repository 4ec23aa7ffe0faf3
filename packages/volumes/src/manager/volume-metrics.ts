import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';

/** As upstream calls them. */
export type VolumeOperation = 'volume_mount' | 'volume_unmount' | 'unmount_device';

const STATES = ['desired_state_of_world', 'actual_state_of_world'] as const;

/** How a volume counts. */
export interface CountedVolume {
  readonly plugin: string;
  /** By its pod. */
  readonly isWanted: boolean;
  /** Whether anything of it is there, or may be. */
  readonly isThere: boolean;
}

/** Metrics of volumes, by upstream's names (`pkg/volume/util/metrics.go`, `pkg/kubelet/volumemanager/metrics`). */
export class VolumeMetrics {
  readonly #durations: Histogram<'volume_plugin' | 'operation_name' | 'status' | 'migrated'>;
  readonly #volumes: Gauge<'plugin_name' | 'state'>;
  /** By plugin. */
  readonly #counts = new Map<string, readonly [desired: number, actual: number]>();
  readonly #reconstructions: Counter;
  readonly #reconstructionErrors: Counter;

  constructor(metrics: Metrics) {
    this.#durations = metrics.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'How long operations of volumes took, by how they ended.',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    });
    this.#volumes = metrics.gauge({
      name: 'volume_manager_total_volumes',
      help: 'The number of volumes that pods want, and that there are.',
      labels: ['plugin_name', 'state'],
    });
    this.#reconstructions = metrics.counter({
      name: 'reconstruct_volume_operations_total',
      help: 'Volumes that were found on the disk at the start and looked at, those that could not be taken in included.',
    });
    this.#reconstructionErrors = metrics.counter({
      name: 'reconstruct_volume_operations_errors_total',
      help: 'Volumes that were found on the disk at the start and could not be taken in.',
    });
  }

  /** A volume that a former process left was taken in from the disk, or could not be. */
  reconstructed(succeeded: boolean): void {
    this.#reconstructions.inc({});
    if (!succeeded) this.#reconstructionErrors.inc({});
  }

  operation(plugin: string, name: VolumeOperation, succeeded: boolean, durationMs: number): void {
    const status = succeeded ? 'success' : 'fail-unknown';
    const labels = { volume_plugin: plugin, operation_name: name, status, migrated: 'false' };
    this.#durations.observe(labels, durationMs / 1000);
  }

  /** A volume counts otherwise than before. A plugin that had some and has none is shown with 0. */
  recount(before: CountedVolume | undefined, after: CountedVolume): void {
    if (before !== undefined) this.#add(before, -1);
    this.#add(after, 1);
  }

  #add({ plugin, isWanted, isThere }: CountedVolume, by: 1 | -1): void {
    const [desired, actual] = this.#counts.get(plugin) ?? [0, 0];
    const counts = [desired + by * Number(isWanted), actual + by * Number(isThere)] as const;
    this.#counts.set(plugin, counts);
    for (const [index, state] of STATES.entries())
      this.#volumes.set({ plugin_name: plugin, state }, counts[index] ?? 0);
  }
}
