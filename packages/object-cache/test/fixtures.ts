import { type Random, seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, silentLogger } from '@node-agent/telemetry';
import { afterEach } from 'vitest';

const running: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

export interface World {
  readonly clock: FakeClock;
  readonly api: FakeApiServer;
  readonly client: RestClient;
  readonly components: {
    readonly client: RestClient;
    readonly clock: FakeClock;
    readonly random: Random;
    readonly logger: Logger;
  };
  /** The requests in the order of their responses, for example `get secrets a`. */
  readonly requests: string[];
  readonly signal: AbortSignal;
}

/** A fake clock, a fake API server, a client of it, and counters. */
export function world(): World {
  const clock = new FakeClock();
  const api = new FakeApiServer({ clock, random: seededRandom(1) });
  const requests: string[] = [];
  api.onRequest(({ verb, resource, name }) => requests.push([verb, resource, name].filter(Boolean).join(' ')));
  const client = new RestClient({ transport: api, clock });
  const components = { client, clock, random: seededRandom(2), logger: silentLogger };
  const { signal } = new AbortController();
  return { clock, api, client, components, requests, signal };
}

/** Runs a task until the test ends. @returns a function that stops the task earlier */
export function runToTheEnd(start: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
  const abort = new AbortController();
  const ended = start(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  running.push(stop);
  return stop;
}

/** Advances the clock by `ms` and returns the outcome of the promise, or `undefined` if it is still pending. */
export async function within<T>(
  clock: FakeClock,
  ms: number,
  promise: Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown } | undefined> {
  let result: { readonly value: T } | { readonly error: unknown } | undefined;
  promise.then(
    (value) => {
      result = { value };
    },
    (error: unknown) => {
      result = { error };
    },
  );
  await clock.advance(ms);
  await clock.settle();
  return result;
}

export function pod(name: string, spec: Partial<Pod['spec']> = {}, namespace = 'default'): Pod {
  return { metadata: { namespace, name, uid: `${name}-uid` }, spec: { containers: [{ name: 'main' }], ...spec } };
}

/** A pod with a secret in its environment. */
export function podWithSecret(name: string, secretName: string): Pod {
  return pod(name, { containers: [{ name: 'main', envFrom: [{ secretRef: { name: secretName } }] }] });
}

export function secret(name: string, text: string, more: object = {}): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name, uid: `${name}-uid` },
    data: { key: Buffer.from(text).toString('base64') },
    ...more,
  };
}
