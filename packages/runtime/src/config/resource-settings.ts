/** What decides about cgroup values of sandboxes and containers: options of the kubelet and facts of the machine. */
export interface ResourceSettings {
  readonly cgroupVersion: 1 | 2;
  /** Whether CPU limits are enforced (`cpuCFSQuota`); upstream's default is true. */
  readonly cpuCfsQuota: boolean;
  /** `cpuCFSQuotaPeriod`; upstream's default is 100,000 (100 ms). */
  readonly cpuCfsQuotaPeriodUs: number;
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** Whether the kernel accounts swap per cgroup. */
  readonly swapControllerAvailable: boolean;
  /** `memorySwap.swapBehavior`; upstream's default is `NoSwap`. */
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  /** Sizes that the machine has huge pages of, in the kernel's cgroup words: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Whether an OOM kills one process instead of the whole container; cgroup v2 only (`singleProcessOOMKill`). */
  readonly singleProcessOomKill: boolean;
  /** Feature gate `MemoryQoS` (KEP-2570), cgroup v2 only; absent where it is off. */
  readonly memoryQos?: MemoryQosSettings;
}

export interface MemoryQosSettings {
  /** Where between request and limit `memory.high` lies; upstream's default is 0.9. */
  readonly throttlingFactor: number;
  /** Whether requests are reserved (`memory.min`, `memory.low`); upstream's default is `None`. */
  readonly reservationPolicy: 'None' | 'TieredReservation';
  /**
   * What a container without a limit may take at most: the node's memory less what is reserved, whatever eviction keeps back
   * (`GetNodeAllocatableAbsolute` in `pkg/kubelet/cm`); 0 where unknown.
   */
  readonly allocatableMemoryBytes: number;
  /** The kernel's page size. */
  readonly pageSizeBytes: number;
}
