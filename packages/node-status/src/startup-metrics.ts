import type { Metrics } from '@node-agent/telemetry';

/** The instants of a node's start, by the monotonic clock, and the gauges made of them. */
export class StartupMetrics {
  readonly #gauge: (phase: string, help: string, fromMs: number, toMs: number) => void;
  readonly #startMs: number;
  #attemptMs: number | undefined;
  #createdMs: number | undefined;
  #readyMs: number | undefined;

  constructor(metrics: Metrics, nodeName: string, startMs: number) {
    const name = {
      name: 'kubelet_node_name',
      help: "The node's name. The count is always 1.",
      labels: ['node'],
    } as const;
    metrics.gauge<'node'>(name).set({ node: nodeName }, 1);
    this.#startMs = startMs;
    this.#gauge = (phase, when, fromMs, toMs) =>
      metrics
        .gauge({
          name: `kubelet_node_startup_${phase}_duration_seconds`,
          help: `Duration in seconds of node startup ${when}.`,
        })
        .set({}, (toMs - fromMs) / 1000);
  }

  registrationAttempted(nowMs: number): void {
    this.#attemptMs ??= nowMs;
  }

  /** A node that was not there before: of one that was, its start says nothing. */
  nodeCreated(nowMs: number): void {
    if (this.#attemptMs === undefined || this.#createdMs !== undefined) return;
    this.#createdMs = nowMs;
    this.#gauge('pre_registration', 'before registration', this.#startMs, this.#attemptMs);
    this.#gauge('registration', 'during registration', this.#attemptMs, nowMs);
  }

  nodeReady(nowMs: number): void {
    if (this.#createdMs === undefined || this.#readyMs !== undefined) return;
    this.#readyMs = nowMs;
    this.#gauge('post_registration', 'after registration', this.#createdMs, nowMs);
  }
}
