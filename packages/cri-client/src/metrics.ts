import type { Clock } from '@node-agent/async';
import type { Counter, Histogram, Metrics } from '@node-agent/telemetry';
import { operationType } from './operations.ts';

/**
 * Upper bounds of the 14 buckets for durations in seconds, from 5 ms to 745 s. Each bound is 2.5 times the previous
 * one.
 */
const OPERATION_BUCKETS = Array.from({ length: 14 }, (_, i) => 0.005 * 2.5 ** i);

/** Counts and times calls as the Go kubelet does (`pkg/kubelet/kuberuntime/instrumented_services.go`). */
export class CallMetrics {
  readonly #clock: Clock;
  readonly #operations: Counter<'operation_type'>;
  readonly #durations: Histogram<'operation_type'>;
  readonly #errors: Counter<'operation_type'>;
  readonly #sandboxDurations: Histogram<'runtime_handler'>;
  readonly #sandboxErrors: Counter<'runtime_handler'>;

  constructor(clock: Clock, metrics: Metrics) {
    this.#clock = clock;
    this.#operations = metrics.counter({
      name: 'kubelet_runtime_operations_total',
      help: 'Calls of the container runtime that have ended, by operation.',
      labels: ['operation_type'],
    });
    this.#durations = metrics.histogram({
      name: 'kubelet_runtime_operations_duration_seconds',
      help: 'How long calls of the container runtime took, by operation.',
      labels: ['operation_type'],
      buckets: OPERATION_BUCKETS,
    });
    this.#errors = metrics.counter({
      name: 'kubelet_runtime_operations_errors_total',
      help: 'Calls of the container runtime that failed, by operation. ExecSync also counts commands that failed.',
      labels: ['operation_type'],
    });
    this.#sandboxDurations = metrics.histogram({
      name: 'kubelet_run_podsandbox_duration_seconds',
      help: 'How long RunPodSandbox took, by runtime handler.',
      labels: ['runtime_handler'],
    });
    this.#sandboxErrors = metrics.counter({
      name: 'kubelet_run_podsandbox_errors_total',
      help: 'Calls of RunPodSandbox that failed, by runtime handler.',
      labels: ['runtime_handler'],
    });
  }

  /** Starts to measure a call. The returned function must be called once, when the call has settled. */
  begin(rpc: string, request: unknown): (failed: boolean) => void {
    const startMs = this.#clock.monotonic();
    return (failed) => {
      const seconds = (this.#clock.monotonic() - startMs) / 1000;
      const operation = { operation_type: operationType(rpc) };
      this.#operations.inc(operation);
      this.#durations.observe(operation, seconds);
      if (failed) this.#errors.inc(operation);
      if (rpc !== 'RunPodSandbox') return;
      const sandbox = { runtime_handler: runtimeHandler(request) };
      this.#sandboxDurations.observe(sandbox, seconds);
      if (failed) this.#sandboxErrors.inc(sandbox);
    };
  }
}

/**
 * Returns whether a successful response counts as a failure. An ExecSync whose command exits with a code other than 0
 * counts as failed, because upstream's client turns it into an error.
 */
export function isFailure(rpc: string, response: unknown): boolean {
  if (rpc !== 'ExecSync' || typeof response !== 'object' || response === null || !('exitCode' in response))
    return false;
  return response.exitCode !== 0;
}

function runtimeHandler(request: unknown): string {
  if (typeof request !== 'object' || request === null || !('runtimeHandler' in request)) return '';
  return typeof request.runtimeHandler === 'string' ? request.runtimeHandler : '';
}
