import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import { describe, test } from 'vitest';
import { type ComplianceOptions, runtimeCompliance } from '../src/compliance/index.ts';

/** Registers the suite with vitest. */
export function examine(name: string, options: ComplianceOptions, concurrent: boolean): void {
  describe(`${name} complies`, { concurrent, timeout: 60_000 }, () => {
    for (const item of runtimeCompliance(name, options)) {
      test(item.name, async (context) => item.run({ skip: (reason) => context.skip(reason) }));
    }
  });
}

/** Wraps both services so that time passes while a call is in progress. */
export function driven<T extends RuntimeService & ImageService>(cri: T, advance: () => Promise<void>): T {
  return new Proxy(cri, {
    get(target, property, receiver) {
      const method: unknown = Reflect.get(target, property, receiver);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        const result: unknown = method.apply(target, args);
        return result instanceof Promise ? settled(result, advance) : result;
      };
    },
  });
}

async function settled(promise: Promise<unknown>, advance: () => Promise<void>): Promise<unknown> {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  for (let turn = 0; !done && turn < 100_000; turn++) await advance();
  return promise;
}
