/** Grace period of the pods whose priority is at least `priority`, and below the priority of the next entry. */
export interface PriorityGracePeriod {
  /** Lowest priority to which the grace period applies. */
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/** Settings of the kubelet configuration. */
export interface ShutdownSettings {
  /** Total shutdown grace period. With 0, the shutdown is not delayed. */
  readonly shutdownGracePeriodMs: number;
  /** Part of the total grace period that is reserved for critical pods. Must not exceed the total. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** Grace periods by pod priority. If not empty, the list replaces the two other settings. */
  readonly shutdownGracePeriodByPodPriority: readonly PriorityGracePeriod[];
  /**
   * State of the feature gate GracefulNodeShutdownBasedOnPodPriority. If disabled, the list of grace periods by
   * priority is ignored.
   */
  readonly byPodPriority: boolean;
}

/** Priority of pods without a priority class (`DefaultPriorityWhenNoDefaultClassExists` of `pkg/apis/scheduling`). */
const DEFAULT_PRIORITY = 0;
/** Priority of critical pods (`SystemCriticalPriority` of `pkg/apis/scheduling`). */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Returns the grace periods by priority, lowest first. The result is empty if the shutdown is not delayed
 * (`newPodManager` of `pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`). As in upstream, the result is also empty if
 * the critical part exceeds the total, which the configuration's validation rejects earlier.
 */
export function gracePeriodsOf(settings: ShutdownSettings): readonly PriorityGracePeriod[] {
  const { shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs, shutdownGracePeriodByPodPriority } = settings;
  const periods =
    settings.byPodPriority && shutdownGracePeriodByPodPriority.length > 0
      ? shutdownGracePeriodByPodPriority
      : migrateSettings(shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs);
  return periods.toSorted((a, b) => a.priority - b.priority);
}

/**
 * Converts the total and the critical part to grace periods by priority, in whole seconds, truncated as in upstream.
 */
export function migrateSettings(totalMs: number, criticalMs: number): readonly PriorityGracePeriod[] {
  const othersMs = totalMs - criticalMs;
  if (totalMs === 0 || othersMs < 0 || criticalMs < 0) return [];
  const seconds = (ms: number): number => Math.trunc(ms / 1000);
  return [
    { priority: DEFAULT_PRIORITY, shutdownGracePeriodSeconds: seconds(othersMs) },
    { priority: SYSTEM_CRITICAL_PRIORITY, shutdownGracePeriodSeconds: seconds(criticalMs) },
  ];
}

/** Returns the total shutdown delay that all groups of pods need, in milliseconds. */
export function periodRequestedMs(periods: readonly PriorityGracePeriod[]): number {
  return periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0) * 1000;
}
