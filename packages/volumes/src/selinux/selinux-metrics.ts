import type { Gauge, Metrics } from '@node-agent/telemetry';

/** Kinds of conflicts; the names are part of upstream's metrics. */
export type SelinuxConflict = 'pod_context_mismatch' | 'volume_context_mismatch';

type Count = (plugin: string, accessMode: string) => void;

/** Metrics of SELinux labels of volumes, with upstream's names (`desired_state_of_wold_selinux_metrics.go`). */
export class SelinuxMetrics {
  /** Counts a volume that is mounted with a label, or would be mounted with a label if its access mode allowed it. */
  readonly admitted: Count;
  readonly #conflicts: Readonly<Record<SelinuxConflict, { readonly errors: Count; readonly warnings: Count }>>;

  constructor(metrics: Metrics) {
    const ofPlugins = (name: string, help: string): Count => {
      const labels = ['volume_plugin', 'access_mode'] as const;
      const gauge = metrics.gauge({ name: `volume_manager_selinux_${name}_total`, help, labels });
      return counting(gauge, (plugin, mode) => ({ volume_plugin: plugin, access_mode: mode }));
    };
    const ofModes = (name: string, help: string): Count => {
      const labels = ['access_mode'] as const;
      const gauge = metrics.gauge({ name: `volume_manager_selinux_${name}_total`, help, labels });
      return counting(gauge, (_plugin, mode) => ({ access_mode: mode }));
    };
    const inPod = 'Pods whose containers use a volume with different SELinux labels';
    const inVolume = 'Pods whose SELinux label differs from that of another pod with the same volume';
    const later = '; no error as long as such volumes are mounted without a label.';
    this.admitted = ofPlugins('volumes_admitted', 'Volumes that are mounted with an SELinux label, or could be.');
    this.#conflicts = {
      pod_context_mismatch: {
        errors: ofModes('pod_context_mismatch_errors', `${inPod}.`),
        warnings: ofModes('pod_context_mismatch_warnings', `${inPod}${later}`),
      },
      volume_context_mismatch: {
        errors: ofPlugins('volume_context_mismatch_errors', `${inVolume}.`),
        warnings: ofPlugins('volume_context_mismatch_warnings', `${inVolume}${later}`),
      },
    };
  }

  /** Counts a conflict of labels. @param isError whether the pod cannot run because of the conflict */
  conflict(kind: SelinuxConflict, isError: boolean, plugin: string, accessMode: string): void {
    const { errors, warnings } = this.#conflicts[kind];
    (isError ? errors : warnings)(plugin, accessMode);
  }
}

/** Returns a function that adds 1 to a series of a gauge. */
function counting<Name extends string>(
  gauge: Gauge<Name>,
  labelsOf: (plugin: string, accessMode: string) => Readonly<Record<Name, string>>,
): Count {
  const counts = new Map<string, number>();
  return (plugin, accessMode) => {
    const labels = labelsOf(plugin, accessMode);
    const key = Object.values(labels).join('\n');
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    gauge.set(labels, count);
  };
}
