import type { Metrics } from '@node-agent/telemetry';

/** The instants of a node's start, by the monotonic clock, and the gauges made of them. */
export class StartupMetrics {
  readonly #gauge: (phase: string, help: string, fromMs: number, toMs: number) => void;
  readonly #startMs: number;
  readonly #bootMs: number | undefined;
  #attemptMs: number | undefined;
  #createdMs: number | undefined;
  #readyMs: number | undefined;

  /** @param uptimeMs for how long the machine was up by then: without it no more is told than of the kubelet itself */
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

  /** A node that was not there before: of one that was, its start says nothing. */
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
