/** Settings for the cgroup values of sandboxes and containers: kubelet options and machine properties. */
export interface ResourceSettings {
  readonly cgroupVersion: 1 | 2;
  /** Whether CPU limits are enforced (`cpuCFSQuota`). Upstream default: true. */
  readonly cpuCfsQuota: boolean;
  /** `cpuCFSQuotaPeriod`. Upstream default: 100,000 (100 ms). */
  readonly cpuCfsQuotaPeriodUs: number;
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** Whether the kernel accounts swap per cgroup. */
  readonly swapControllerAvailable: boolean;
  /** `memorySwap.swapBehavior`. Upstream default: `NoSwap`. */
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  /** Sizes of the machine's huge pages, in the kernel's cgroup notation: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Whether an OOM kills one process instead of the whole container; cgroup v2 only (`singleProcessOOMKill`). */
  readonly singleProcessOomKill: boolean;
  /** Feature gate `MemoryQoS` (KEP-2570), cgroup v2 only; absent if disabled. */
  readonly memoryQos?: MemoryQosSettings;
}

export interface MemoryQosSettings {
  /** Position of `memory.high` between request and limit. Upstream default: 0.9. */
  readonly throttlingFactor: number;
  /** Whether requests are reserved (`memory.min`, `memory.low`). Upstream default: `None`. */
  readonly reservationPolicy: 'None' | 'TieredReservation';
  /**
   * Maximum memory of a container without a limit: the node's memory minus reservations, regardless of eviction
   * thresholds (`GetNodeAllocatableAbsolute` in `pkg/kubelet/cm`); 0 if unknown.
   */
  readonly allocatableMemoryBytes: number;
  /** Page size of the kernel. */
  readonly pageSizeBytes: number;
}
