import type { Clock } from '@node-agent/async';
import type { RuntimeReadiness } from '../ports.ts';

/** A check that keeps pods from being synced while it fails; returns what is wrong. */
export type HealthCheck = () => string | undefined;

/**
 * What is known of the runtime's health. Pods are synced only while {@link errors} is empty (K2). The messages are
 * upstream's (`pkg/kubelet/runtime.go`), as the node's Ready condition shows them.
 */
export class RuntimeState {
  readonly #clock: Clock;
  readonly #thresholdMs: number;
  readonly #checks = new Map<string, HealthCheck>();
  #lastSeenUpMs: number | undefined;
  #runtimeError: string | undefined;
  #silence: string | undefined;
  #networkError: string | undefined = 'network state unknown';

  /** @param thresholdMs how long the runtime may be silent before it counts as down; 30 s upstream */
  constructor(clock: Clock, thresholdMs: number) {
    this.#clock = clock;
    this.#thresholdMs = thresholdMs;
  }

  addHealthCheck(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  /** Takes in an answer of the runtime's Status call. */
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

  /** Takes in that the runtime did not answer, and why. */
  silent(reason: string): void {
    this.#silence = reason;
  }

  /** Why the runtime did not answer when it was last asked; `undefined` where it did. */
  get silence(): string | undefined {
    return this.#silence;
  }

  /** Whether the runtime has answered that it is ready at least once. */
  get everUp(): boolean {
    return this.#lastSeenUpMs !== undefined;
  }

  /** What keeps pods from being synced; empty where nothing does. */
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

  /** What keeps pods with a network of their own from being started. */
  networkError(): string | undefined {
    return this.#networkError;
  }
}

function conditionText(type: string, condition: RuntimeReadiness['runtimeReady']): string {
  return `${type}=${condition.ok} reason:${condition.reason} message:${condition.message}`;
}
