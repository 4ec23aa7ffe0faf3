/** How long the pods of one priority, and of those up to the next one, may take to end. */
export interface PriorityGracePeriod {
  /** The lowest priority that it is for. */
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

/** What a kubelet is configured with. */
export interface ShutdownSettings {
  /** For all pods together; 0: the shutdown is not delayed. */
  readonly shutdownGracePeriodMs: number;
  /** The part of it that is left to critical pods: not more than the whole. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** In place of the two others, where it is not empty. */
  readonly shutdownGracePeriodByPodPriority: readonly PriorityGracePeriod[];
  /** Gate GracefulNodeShutdownBasedOnPodPriority: where it is off, the list is not looked at. */
  readonly byPodPriority: boolean;
}

/** `DefaultPriorityWhenNoDefaultClassExists` of `pkg/apis/scheduling`. */
const DEFAULT_PRIORITY = 0;
/** `SystemCriticalPriority` of `pkg/apis/scheduling`. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/**
 * The grace periods by priority that settings mean, from the lowest priority up; none where the shutdown is not delayed
 * (`newPodManager` of `pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`): where the part of critical pods is more than the whole, too, as upstream, whose
 * configuration is checked before.
 */
export function gracePeriodsOf(settings: ShutdownSettings): readonly PriorityGracePeriod[] {
  const { shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs, shutdownGracePeriodByPodPriority } = settings;
  const periods =
    settings.byPodPriority && shutdownGracePeriodByPodPriority.length > 0
      ? shutdownGracePeriodByPodPriority
      : migrateSettings(shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs);
  return periods.toSorted((a, b) => a.priority - b.priority);
}

/** One period for all pods, and the end of it for critical ones, as periods by priority; whole seconds, cut as upstream cuts them. */
export function migrateSettings(totalMs: number, criticalMs: number): readonly PriorityGracePeriod[] {
  const othersMs = totalMs - criticalMs;
  if (totalMs === 0 || othersMs < 0 || criticalMs < 0) return [];
  const seconds = (ms: number): number => Math.trunc(ms / 1000);
  return [
    { priority: DEFAULT_PRIORITY, shutdownGracePeriodSeconds: seconds(othersMs) },
    { priority: SYSTEM_CRITICAL_PRIORITY, shutdownGracePeriodSeconds: seconds(criticalMs) },
  ];
}

/** For how long the shutdown has to be delayed, for each group to have its time. */
export function periodRequestedMs(periods: readonly PriorityGracePeriod[]): number {
  return periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0) * 1000;
}
