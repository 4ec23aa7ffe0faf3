import type { FaultRule, RequestAttributes, RequestFault } from './fault.ts';

/** A fault that was injected, for a trace. */
export interface InjectedFault {
  readonly request: RequestAttributes;
  readonly fault: RequestFault;
}

/** Chooses the fault of a request that no rule matches. See {@link seededFaults}. */
export interface FaultSource {
  nextFault(request: RequestAttributes): RequestFault | undefined;
}

interface Armed {
  readonly rule: FaultRule;
  skip: number;
  left: number;
}

/**
 * Injects faults into a fake API server. Rules are checked in the order of their addition, and the first match applies.
 */
export class FaultInjector implements FaultSource {
  readonly #rules = new Set<Armed>();
  #source: FaultSource | undefined;
  #onFault: (injected: InjectedFault) => void = () => {};

  /**
   * Adds a rule.
   * @returns a function that removes the rule
   * @throws TypeError if `times` or `skip` of the rule is negative
   */
  add(rule: FaultRule): () => void {
    const { skip = 0, times = Number.POSITIVE_INFINITY } = rule;
    if (skip < 0 || times < 0) throw new TypeError('fault rule: times and skip must not be negative');
    const armed = { rule, skip, left: times };
    this.#rules.add(armed);
    return () => void this.#rules.delete(armed);
  }

  /** Removes all rules and the source. */
  clear(): void {
    this.#rules.clear();
    this.#source = undefined;
  }

  /** Sets the source that decides when no rule applies. `undefined` removes the source. */
  useSource(source: FaultSource | undefined): void {
    this.#source = source;
  }

  /** Calls `listener` for each injected fault. Replaces the previous listener. */
  onFault(listener: (injected: InjectedFault) => void): void {
    this.#onFault = listener;
  }

  nextFault(request: RequestAttributes): RequestFault | undefined {
    const fault = this.#strike(request)?.fault ?? this.#source?.nextFault(request);
    if (fault !== undefined) this.#onFault({ request, fault });
    return fault;
  }

  #strike(request: RequestAttributes): FaultRule | undefined {
    for (const armed of this.#rules) {
      if (armed.left <= 0 || !fits(armed.rule, request)) continue;
      if (armed.skip > 0) {
        armed.skip--;
        continue;
      }
      armed.left--;
      if (armed.left <= 0) this.#rules.delete(armed);
      return armed.rule;
    }
    return undefined;
  }
}

function fits(rule: FaultRule, request: RequestAttributes): boolean {
  return (
    among(rule.verb, request.verb) &&
    among(rule.resource, request.resource) &&
    (rule.namespace === undefined || rule.namespace === request.namespace) &&
    (rule.name === undefined || rule.name === request.name) &&
    (rule.fault.kind !== 'watch' || request.verb === 'watch') &&
    (rule.when?.(request) ?? true)
  );
}

function among(wanted: string | readonly string[] | undefined, found: string): boolean {
  if (wanted === undefined || wanted === '*') return true;
  return typeof wanted === 'string' ? wanted === found : wanted.includes(found);
}
