import { FakeClock } from '@node-agent/async/testing';
import type { GrpcTransport } from '@node-agent/grpc';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Plugins } from '../src/registration.ts';
import { GPU } from './builders.ts';

/** Connections of plugins by socket path. The test decides when each plugin answers. */
class ScriptedTransport implements GrpcTransport {
  readonly #answers = new Map<string, PromiseWithResolvers<void>>();
  readonly closed: string[] = [];

  client(_components: unknown, { socketPath }: { readonly socketPath: string }): ReturnType<GrpcTransport['client']> {
    return {
      connect: () => this.#answerOf(socketPath).promise,
      unary: async () => ({}) as never,
      async *stream(_method, _request, { signal } = {}) {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
      },
      close: async () => {
        this.closed.push(socketPath);
      },
    };
  }

  server(): never {
    throw new Error('the test starts no server');
  }

  answer(socketPath: string): void {
    this.#answerOf(socketPath).resolve();
  }

  #answerOf(socketPath: string): PromiseWithResolvers<void> {
    const answer = this.#answers.get(socketPath) ?? Promise.withResolvers<void>();
    this.#answers.set(socketPath, answer);
    return answer;
  }
}

let transport: ScriptedTransport;
let plugged: string[];
let plugins: Plugins;
let ending: AbortController;
const { signal } = new AbortController();

beforeEach(() => {
  transport = new ScriptedTransport();
  plugged = [];
  plugins = new Plugins(
    { clock: new FakeClock(), logger: silentLogger, transport, known: new Set<string>() },
    {
      asked() {},
      plugged: () => plugged.push(plugins.get(GPU)?.socketPath ?? ''),
      told() {},
      unplugged() {},
      forgotten() {},
    },
  );
  ending = new AbortController();
  plugins.begin(ending.signal);
});

afterEach(() => ending.abort());

describe('Plugins.connect', () => {
  test('of two plugins of one resource, the plugin that registered last is used if the first answers last', async () => {
    const first = plugins.connect(GPU, '/first.sock', signal);
    const second = plugins.connect(GPU, '/second.sock', signal);
    transport.answer('/second.sock');
    await second;
    transport.answer('/first.sock');
    await expect(first).rejects.toThrow(`another device plugin has registered for ${GPU} in the meantime`);
    expect(plugged).toEqual(['/second.sock']);
    expect(plugins.get(GPU)?.socketPath).toBe('/second.sock');
    expect(transport.closed).toEqual(['/first.sock']);
  });

  test('a plugin that answers while the kubelet stops is rejected because of the stop', async () => {
    const registration = plugins.connect(GPU, '/first.sock', signal);
    ending.abort();
    transport.answer('/first.sock');
    await expect(registration).rejects.toThrow(
      `the device plugin of ${GPU} was not connected: the kubelet is stopping`,
    );
    expect(plugged).toEqual([]);
    expect(transport.closed).toEqual(['/first.sock']);
  });
});
