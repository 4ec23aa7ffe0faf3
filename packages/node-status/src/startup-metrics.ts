import type { Metrics } from '@node-agent/telemetry';

/** Records the durations of the phases of a node's start as gauges. Times are by the monotonic clock. */
export class StartupMetrics {
  readonly #gauge: (phase: string, help: string, fromMs: number, toMs: number) => void;
  readonly #startMs: number;
  readonly #bootMs: number | undefined;
  #attemptMs: number | undefined;
  #createdMs: number | undefined;
  #readyMs: number | undefined;

  /**
   * @param uptimeMs how long the machine had been up at `startMs`; if undefined, only phases of the kubelet are
   * reported
   */
  constructor(metrics: Metrics, nodeName: string, startMs: number, uptimeMs: number | undefined) {
    const name = {
      name: 'kubelet_node_name',
      help: "The node's name. The count is always 1.",
      labels: ['node'],
    } as const;
    metrics.gauge<'node'>(name).set({ node: nodeName }, 1);
    this.#startMs = startMs;
    this.#bootMs = uptimeMs === undefined ? undefined : startMs - uptimeMs;
    this.#gauge = (phase, when, fromMs, toMs) =>
      metrics
        .gauge({
          name: `kubelet_node_startup_${phase}duration_seconds`,
          help: `Duration in seconds of node startup ${when}.`,
        })
        .set({}, (toMs - fromMs) / 1000);
  }

  registrationAttempted(nowMs: number): void {
    this.#attemptMs ??= nowMs;
  }

  /** Records that a new node was created. For an existing node, no phases are reported. */
  nodeCreated(nowMs: number): void {
    if (this.#attemptMs === undefined || this.#createdMs !== undefined) return;
    this.#createdMs = nowMs;
    if (this.#bootMs !== undefined) {
      this.#gauge('pre_kubelet_', 'before kubelet starts', this.#bootMs, this.#startMs);
    }
    this.#gauge('pre_registration_', 'before registration', this.#startMs, this.#attemptMs);
    this.#gauge('registration_', 'during registration', this.#attemptMs, nowMs);
  }

  nodeReady(nowMs: number): void {
    if (this.#createdMs === undefined || this.#readyMs !== undefined) return;
    this.#readyMs = nowMs;
    this.#gauge('post_registration_', 'after registration', this.#createdMs, nowMs);
    if (this.#bootMs !== undefined) this.#gauge('', 'in total', this.#bootMs, nowMs);
  }
}
