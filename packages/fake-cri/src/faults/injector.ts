import { type ContainerEventResponse, ContainerEventType } from '@node-agent/cri-client';
import type { RpcName } from '../core/rpcs.ts';
import { ArmedRules } from './armed-rules.ts';
import type { EventFault, EventFaultRule, RpcFault, RpcFaultRule } from './fault.ts';

/** A fault that was injected, for a trace. */
export interface InjectedFault {
  /** The RPC, or `event`. */
  readonly target: RpcName | 'event';
  readonly fault: RpcFault | EventFault;
}

/** Decides about faults when no rule applies. See {@link seededFaults}. */
export interface FaultSource {
  nextRpcFault(rpc: RpcName, request: object): RpcFault | undefined;
  nextEventFault(event: ContainerEventResponse): EventFault | undefined;
}

const EVENT_TYPES = {
  created: ContainerEventType.CONTAINER_CREATED_EVENT,
  started: ContainerEventType.CONTAINER_STARTED_EVENT,
  stopped: ContainerEventType.CONTAINER_STOPPED_EVENT,
  deleted: ContainerEventType.CONTAINER_DELETED_EVENT,
};

/**
 * Injects faults into a fake runtime. Rules are checked in the order in which they were added, and the first match
 * applies.
 */
export class FaultInjector implements FaultSource {
  readonly #rpcRules = new ArmedRules<RpcFaultRule>();
  readonly #eventRules = new ArmedRules<EventFaultRule>();
  #source: FaultSource | undefined;
  #onFault: (injected: InjectedFault) => void = () => {};

  /**
   * Adds a rule.
   * @returns a function that removes the rule
   * @throws TypeError if `times` or `skip` of the rule is negative
   */
  add(rule: RpcFaultRule | EventFaultRule): () => void {
    return 'rpc' in rule ? this.#rpcRules.add(rule) : this.#eventRules.add(rule);
  }

  /** Removes all rules and the source. */
  clear(): void {
    this.#rpcRules.clear();
    this.#eventRules.clear();
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

  nextRpcFault(rpc: RpcName, request: object): RpcFault | undefined {
    const fits = (rule: RpcFaultRule): boolean =>
      (rule.rpc === '*' || rule.rpc === rpc || (Array.isArray(rule.rpc) && rule.rpc.includes(rpc))) &&
      (rule.when?.(request, rpc) ?? true);
    const fault = this.#rpcRules.strike(fits)?.fault ?? this.#source?.nextRpcFault(rpc, request);
    if (fault !== undefined) this.#onFault({ target: rpc, fault });
    return fault;
  }

  nextEventFault(event: ContainerEventResponse): EventFault | undefined {
    const fits = (rule: EventFaultRule): boolean =>
      (rule.event === '*' || EVENT_TYPES[rule.event] === event.containerEventType) && (rule.when?.(event) ?? true);
    const fault = this.#eventRules.strike(fits)?.fault ?? this.#source?.nextEventFault(event);
    if (fault !== undefined) this.#onFault({ target: 'event', fault });
    return fault;
  }
}
