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
 * The signal that a container asks to be stopped with (`lifecycle.stopSignal`, KEP-4960); the runtime's default where it
 * asks for none.
 * @throws PodRuntimeError `InvalidSpec` for a name that is no signal
 */
export function stopSignal(container: Container): Signal {
  const name = container.lifecycle?.stopSignal;
  if (name == null) return Signal.RUNTIME_DEFAULT;
  const signal = byName.get(name);
  if (signal !== undefined) return signal;
  throw new PodRuntimeError('InvalidSpec', `unknown stop signal ${JSON.stringify(name)}`);
}

/** A signal as the API words it (`SIGRTMIN+1`); `undefined` for the default or an unknown one. */
export function stopSignalName(signal: Signal): string | undefined {
  return byNumber.get(signal);
}
