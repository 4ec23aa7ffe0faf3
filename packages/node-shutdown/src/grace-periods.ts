/** Grace period of the pods of one priority, and of those up to the next entry's priority. */
export interface PriorityGracePeriod {
  /** Lowest priority that the period applies to. */
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/** Settings of the kubelet configuration. */
export interface ShutdownSettings {
  /** Total shutdown grace period; with 0, the shutdown is not delayed. */
  readonly shutdownGracePeriodMs: number;
  /** Part of the total that is reserved for critical pods; at most the total. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** Replaces the two other settings if it is not empty. */
  readonly shutdownGracePeriodByPodPriority: readonly PriorityGracePeriod[];
  /** Feature gate GracefulNodeShutdownBasedOnPodPriority; if off, the list is ignored. */
  readonly byPodPriority: boolean;
}

/** Priority of pods without a priority class (`DefaultPriorityWhenNoDefaultClassExists` of `pkg/apis/scheduling`). */
const DEFAULT_PRIORITY = 0;
/** Priority of critical pods (`SystemCriticalPriority` of `pkg/apis/scheduling`). */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Returns the grace periods by priority, lowest first; empty if the shutdown is not delayed (`newPodManager` of
 * `pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`). As in upstream, the result is also empty if the critical part
 * exceeds the total; the configuration's validation rejects that earlier.
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

/** Returns the total shutdown delay that all groups need. */
export function periodRequestedMs(periods: readonly PriorityGracePeriod[]): number {
  return periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0) * 1000;
}
