import { Signal } from '@node-agent/cri-client';
import type { Container } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';

const byName: ReadonlyMap<string, Signal> = new Map(
  Object.entries(Signal)
    .filter(([, value]) => value !== Signal.RUNTIME_DEFAULT)
    .map(([key, value]) => [key.replace('PLUS', '+').replace('MINUS', '-'), value]),
);
const byNumber: ReadonlyMap<number, string> = new Map([...byName].map(([name, value]) => [value, name]));

/**
 * Returns a container's stop signal (`lifecycle.stopSignal`, KEP-4960); the runtime's default if unset.
 * @throws PodRuntimeError `InvalidSpec` for an unknown signal name
 */
export function stopSignal(container: Container): Signal {
  const name = container.lifecycle?.stopSignal;
  if (name == null) return Signal.RUNTIME_DEFAULT;
  const signal = byName.get(name);
  if (signal !== undefined) return signal;
  throw new PodRuntimeError('InvalidSpec', `unknown stop signal ${JSON.stringify(name)}`);
}

/** Returns a signal's name in the API (`SIGRTMIN+1`); `undefined` for the default or an unknown signal. */
export function stopSignalName(signal: Signal): string | undefined {
  return byNumber.get(signal);
}
