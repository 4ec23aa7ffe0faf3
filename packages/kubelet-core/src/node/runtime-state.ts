import type { Clock } from '@node-agent/async';
import type { RuntimeReadiness } from '../ports.ts';

/** A health check. While it returns a problem, no pods are synced. Returns `undefined` if healthy. */
export type HealthCheck = () => string | undefined;

/**
 * Known health of the container runtime. Pods are synced only while {@link errors} is empty (K2). The messages are
 * upstream's (`pkg/kubelet/runtime.go`), because the node's Ready condition shows them.
 */
export class RuntimeState {
  readonly #clock: Clock;
  readonly #thresholdMs: number;
  readonly #checks = new Map<string, HealthCheck>();
  #lastSeenUpMs: number | undefined;
  #runtimeError: string | undefined;
  #silence: string | undefined;
  #networkError: string | undefined = 'network state unknown';

  /**
   * @param thresholdMs time after the last successful status response until the runtime counts as down; upstream: 30 s
   */
  constructor(clock: Clock, thresholdMs: number) {
    this.#clock = clock;
    this.#thresholdMs = thresholdMs;
  }

  addHealthCheck(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  /** Records a response to the runtime's Status call. */
  update(readiness: RuntimeReadiness): void {
    const { runtimeReady, networkReady } = readiness;
    this.#networkError = networkReady.ok
      ? undefined
      : `container runtime network not ready: ${conditionText('NetworkReady', networkReady)}`;
    this.#runtimeError = runtimeReady.ok
      ? undefined
      : `container runtime not ready: ${conditionText('RuntimeReady', runtimeReady)}`;
    if (runtimeReady.ok) this.#lastSeenUpMs = this.#clock.monotonic();
    this.#silence = undefined;
  }

  /** Records that the runtime did not respond, with the reason. */
  silent(reason: string): void {
    this.#silence = reason;
  }

  /** Reason why the runtime did not respond to the last status request; `undefined` if it did. */
  get silence(): string | undefined {
    return this.#silence;
  }

  /** Whether the runtime has reported ready at least once. */
  get everUp(): boolean {
    return this.#lastSeenUpMs !== undefined;
  }

  /** Returns the problems that prevent pods from being synced; empty if there are none. */
  errors(): readonly string[] {
    const errors: string[] = [];
    if (this.#lastSeenUpMs === undefined) {
      errors.push('container runtime status check may not have completed yet');
    } else if (this.#clock.monotonic() - this.#lastSeenUpMs >= this.#thresholdMs) {
      errors.push('container runtime is down');
    }
    for (const [name, check] of this.#checks) {
      const fault = check();
      if (fault !== undefined) errors.push(`${name} is not healthy: ${fault}`);
    }
    if (this.#runtimeError !== undefined) errors.push(this.#runtimeError);
    return errors;
  }

  /** Returns the problem that prevents pods without host network from being started; `undefined` if there is none. */
  networkError(): string | undefined {
    return this.#networkError;
  }
}

function conditionText(type: string, condition: RuntimeReadiness['runtimeReady']): string {
  return `${type}=${condition.ok} reason:${condition.reason} message:${condition.message}`;
}
