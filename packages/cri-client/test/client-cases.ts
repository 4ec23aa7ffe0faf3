import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { type EndedSpan, RecordingTracer } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ContainerState,
  CriClient,
  type CriClientComponents,
  type CriClientOptions,
  CriError,
  messages,
} from '../src/index.ts';
import { Failure, type Handlers, serve, socketDirectory, someVersion, untilAborted } from './fake-server.ts';

/** Defines the cases of the client over one transport. */
export function clientCases(transport: 'grpc-js' | 'lean'): void {
  let directory: ReturnType<typeof socketDirectory>;
  let socket: string;
  const toStop: { stop(): void }[] = [];
  const toClose: CriClient[] = [];

  beforeEach(() => {
    directory = socketDirectory();
    socket = `${directory.path}/cri.sock`;
  });

  afterEach(async () => {
    for (const client of toClose.splice(0)) await client.close();
    for (const server of toStop.splice(0)) server.stop();
    directory.remove();
  });

  async function start(handlers: Handlers, rename?: (path: string) => string): Promise<{ stop(): void }> {
    const server = await serve(`unix:${socket}`, handlers, rename);
    toStop.push(server);
    return server;
  }

  function client(components: CriClientComponents = {}, options: Partial<CriClientOptions> = {}): CriClient {
    const made = new CriClient(components, { endpoint: `unix://${socket}`, transport, ...options });
    toClose.push(made);
    return made;
  }

  const failure = (call: Promise<unknown>): Promise<CriError> =>
    call.then(
      () => expect.unreachable('the call succeeded'),
      (error: unknown) => (error instanceof CriError ? error : expect.unreachable(`no CriError: ${error}`)),
    );

  describe('calls to a runtime', () => {
    it('a call sends the request and returns the whole response, defaults included', async () => {
      const seen: unknown[] = [];
      await start({
        containerStatus: (request) => {
          seen.push(request);
          return {
            status: {
              id: 'c1',
              metadata: { name: 'app' },
              createdAt: 1.7e18,
              image: { image: 'busybox' },
              imageRef: 'sha',
              state: ContainerState.CONTAINER_RUNNING,
            },
          };
        },
      });
      const { status } = await client().containerStatus({ containerId: 'c1' });
      expect(seen).toEqual([{ containerId: 'c1', verbose: false }]);
      expect(status).toMatchObject({ id: 'c1', state: 1, createdAt: 1.7e18, labels: {}, mounts: [], resources: null });
    });

    it('calls work over TCP', async () => {
      const server = await serve('127.0.0.1:0', { version: () => someVersion });
      toStop.push(server);
      const runtime = client({}, { endpoint: `tcp://127.0.0.1:${server.port}` });
      expect(await runtime.connect()).toMatchObject({ runtimeName: 'fake' });
    });

    it("a failed call throws an error with the code, the RPC and the runtime's message", async () => {
      await start({ startContainer: () => Promise.reject(new Failure('NOT_FOUND', 'container "x" not found')) });
      const error = await failure(client().startContainer({ containerId: 'x' }));
      expect(error).toMatchObject({ code: 'NOT_FOUND', rpc: 'StartContainer', details: 'container "x" not found' });
      expect(error.message).toBe('StartContainer: NOT_FOUND: container "x" not found');
      expect(error.statusMessage).toBe('rpc error: code = NotFound desc = container "x" not found');
    });

    it('refuses to send a request with a field of the wrong type', async () => {
      await start({ stopContainer: () => ({}) });
      const error = await failure(client().stopContainer({ containerId: 'x', timeout: 1.5 }));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', rpc: 'StopContainer' });
      expect(error.details).toBe('StopContainerRequest.timeout: expected a 64-bit integer, got 1.5');
    });

    it('refuses a response without fields that every caller needs', async () => {
      await start({
        runPodSandbox: () => ({}),
        pullImage: () => ({}),
        exec: () => ({}),
        status: () => ({ status: { conditions: [{}] } }),
      });
      const runtime = client();
      for (const call of [runtime.runPodSandbox({}), runtime.pullImage({}), runtime.exec({}), runtime.status({})]) {
        expect(await failure(call)).toMatchObject({
          code: 'INTERNAL',
          details: expect.stringMatching(/incomplete response: .*set$/),
        });
      }
    });

    it('a call carries the trace context in its metadata', async () => {
      const seen: unknown[] = [];
      await start({
        version: (_, { metadata }) => {
          seen.push([metadata.get('traceparent'), metadata.get('baggage')]);
          return someVersion;
        },
      });
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const contexts = [{ traceparent, baggage: 'pod=a' }, undefined, { traceparent: 'not one\n' }];
      const runtime = client({ traceContext: () => contexts.shift() });
      for (let i = 0; i < 3; i++) await runtime.version({});
      expect(seen).toEqual([
        [[traceparent], ['pod=a']],
        [[], []],
        [[], []],
      ]);
    });

    it('each call is recorded as a client span below the current span, and the runtime gets that span', async () => {
      const ended: EndedSpan[] = [];
      const exporter = { add: (span: EndedSpan) => void ended.push(span) };
      const tracer = new RecordingTracer({ exporter }, { samplingRatePerMillion: 1_000_000 });
      const seen: unknown[] = [];
      await start({
        version: (_, { metadata }) => {
          seen.push(metadata.get('traceparent')[0]);
          return someVersion;
        },
        listContainers: () => {
          throw new Failure('NOT_FOUND', 'no such thing');
        },
      });
      const runtime = client({ tracer });
      await tracer.span({ name: 'syncPod' }, () => runtime.version({}));
      await failure(runtime.listContainers({ filter: { podSandboxId: 'a' } }));
      const [version, root, list] = ended;
      expect(seen).toEqual([`00-${root?.context.traceId}-${version?.context.spanId}-01`]);
      expect(version).toMatchObject({
        ...{ name: 'runtime.v1.RuntimeService/Version', kind: 'client', parentSpanId: root?.context.spanId },
        attributes: {
          'rpc.system.name': 'grpc',
          'rpc.method': 'runtime.v1.RuntimeService/Version',
          'rpc.response.status_code': 'OK',
          'server.address': socket,
        },
      });
      expect(list).toMatchObject({ error: 'no such thing', attributes: { 'rpc.response.status_code': 'NotFound' } });
    });

    it('accepts a response of 15 MiB and refuses one of 17 MiB', async () => {
      const big = (mebibytes: number) => ({ containers: [{ id: 'x'.repeat(mebibytes * 1024 * 1024) }] });
      await start({ listContainers: (request) => big(request.filter?.id === 'small' ? 15 : 17) });
      const runtime = client({}, { streamLists: false });
      const { containers } = await runtime.listContainers({ filter: { id: 'small' } });
      expect(containers[0]?.id.length).toBe(15 * 1024 * 1024);
      expect(await failure(runtime.listContainers({}))).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    });
  });

  describe('deadlines of calls', () => {
    it('cancels a call at its deadline, also in the runtime', async () => {
      const cancelled = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      await start({
        startContainer: async (_, { aborted }) => {
          started.resolve();
          await untilAborted(aborted);
          cancelled.resolve();
          return {};
        },
      });
      const clock = new FakeClock();
      const call = failure(client({ clock }).startContainer({ containerId: 'x' }));
      await started.promise;
      await clock.advance(119_999);
      expect(clock.pendingTimers).toBe(1);
      await clock.advance(1);
      expect(await call).toMatchObject({
        code: 'DEADLINE_EXCEEDED',
        rpc: 'StartContainer',
        details: 'context deadline exceeded',
      });
      await cancelled.promise;
      expect(clock.pendingTimers).toBe(0);
    });

    it('clears the deadline timer after the response', async () => {
      await start({ version: () => someVersion });
      const clock = new FakeClock();
      await client({ clock }).version({});
      expect(clock.pendingTimers).toBe(0);
    });

    it('the deadline of StopContainer is extended by its grace period', async () => {
      const started = Promise.withResolvers<void>();
      await start({
        stopContainer: async (_, { aborted }) => {
          started.resolve();
          await untilAborted(aborted);
          return {};
        },
      });
      const clock = new FakeClock();
      const call = failure(client({ clock }).stopContainer({ containerId: 'x', timeout: 30 }));
      await started.promise;
      await clock.settle();
      expect(clock.nextTimerInMs).toBe(150_000);
      await clock.advance(150_000);
      expect(await call).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    });

    it('sets no deadline for an image pull', async () => {
      const started = Promise.withResolvers<void>();
      const finish = Promise.withResolvers<object>();
      await start({
        pullImage: () => {
          started.resolve();
          return finish.promise;
        },
      });
      const clock = new FakeClock();
      const call = client({ clock }).pullImage({ image: { image: 'busybox' } });
      await started.promise;
      expect(clock.pendingTimers).toBe(0);
      finish.resolve({ imageRef: 'sha256:1' });
      expect(await call).toEqual({ imageRef: 'sha256:1' });
    });

    it('reports that no runtime answers if the deadline passes before the first connection', async () => {
      const error = await failure(client({}, { timeoutMs: 50 }).version({}));
      expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
      expect(error.details).toContain(`no runtime answers at unix://${socket}`);
    });
  });

  describe('aborted signals of calls', () => {
    it("aborting the signal cancels a call here and in the runtime, with the signal's reason as cause", async () => {
      const started = Promise.withResolvers<AbortSignal>();
      await start({
        pullImage: async (_, { aborted }) => {
          started.resolve(aborted);
          await untilAborted(aborted);
          return { imageRef: 'x' };
        },
      });
      const controller = new AbortController();
      const call = failure(client().pullImage({}, controller.signal));
      const aborted = await started.promise;
      controller.abort(new Error('the pod is gone'));
      expect(await call).toMatchObject({ code: 'CANCELLED', rpc: 'PullImage', cause: controller.signal.reason });
      await untilAborted(aborted);
    });

    it('an aborted signal prevents a call from starting', async () => {
      let calls = 0;
      await start({
        version: () => {
          calls++;
          return someVersion;
        },
      });
      const runtime = client();
      expect(await failure(runtime.version({}, AbortSignal.abort()))).toMatchObject({ code: 'CANCELLED' });
      await runtime.version({});
      expect(calls).toBe(1);
    });

    it("a finished call leaves no listener on the caller's signal", async () => {
      await start({ version: () => someVersion });
      const { signal } = new AbortController();
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      };
      const runtime = client();
      for (let i = 0; i < 5; i++) await runtime.version({}, signal);
      expect(listeners).toBe(0);
    });
  });

  describe('runtimes that do not run', () => {
    it('K2: the first calls wait for a runtime that is not running yet, and succeed when it starts', async () => {
      const runtime = client();
      const call = runtime.connect();
      const early = await Promise.race([
        call,
        new Promise((resolve) => systemClock.setTimer(150, () => resolve('waits'))),
      ]);
      expect(early).toBe('waits');
      await start({ version: () => someVersion });
      expect(await call).toEqual(someVersion);
    });

    it('a call fails immediately if the caller does not want to wait for the runtime', async () => {
      const error = await failure(client({}, { waitForRuntime: 'never' }).version({}));
      expect(error).toMatchObject({ code: 'UNAVAILABLE', rpc: 'Version' });
      expect(error.details.endsWith(socket)).toBe(true);
    });

    it('K2: calls fail immediately after the runtime stopped, and succeed after its restart with the same client', async () => {
      const server = await start({ version: () => someVersion });
      const runtime = client();
      await runtime.version({});
      server.stop();
      expect(await failure(runtime.version({}))).toMatchObject({ code: 'UNAVAILABLE' });
      await start({ version: () => ({ ...someVersion, runtimeVersion: '10' }) });
      let found: string | undefined;
      for (let i = 0; i < 100 && found === undefined; i++) {
        found = await runtime.version({}).then(
          (answer) => answer.runtimeVersion,
          () => undefined,
        );
        if (found === undefined) await new Promise<void>((resolve) => systemClock.setTimer(50, resolve));
      }
      expect(found).toBe('10');
    });
  });

  describe('CriClient.connect', () => {
    it('connect refuses a runtime that only has CRI v1alpha2, and names the runtime', async () => {
      await start(
        {
          version: () => ({
            ...someVersion,
            runtimeName: 'dockershim',
            runtimeVersion: '1.23',
            runtimeApiVersion: 'v1alpha2',
          }),
        },
        (path) => path.replace('runtime.v1.', 'runtime.v1alpha2.'),
      );
      const error = await failure(client().connect());
      expect(error).toMatchObject({ code: 'UNIMPLEMENTED', rpc: 'Version' });
      expect(error.details).toMatch(/^dockershim 1\.23 at unix:.* serves only CRI v1alpha2/);
    });

    it('connect refuses a server without the CRI services', async () => {
      await start({ imageFsInfo: () => ({}) });
      const error = await failure(client().connect());
      expect(error).toMatchObject({ code: 'UNIMPLEMENTED' });
      expect(error.details).toContain('does not serve CRI v1');
    });

    it('connect refuses a Version response without a runtime name', async () => {
      await start({ version: () => ({ version: '0.1.0', runtimeName: 'x' }) });
      expect((await failure(client().connect())).details).toMatch(/runtimeApiVersion, runtimeVersion missing/);
    });
  });

  // The lean transport prefers plain lists: see `client-lean.test.ts`.
  if (transport === 'grpc-js') {
    describe('lists of sandboxes, containers and images', () => {
      it('lists use the streaming RPC if the runtime has it, and return one list', async () => {
        let plainCalls = 0;
        await start({
          async *streamContainers(request) {
            yield { containers: [{ id: 'a' }, { id: 'b' }] };
            yield { containers: [{ id: request.filter?.labelSelector?.of ?? '' }] };
          },
          listContainers: () => {
            plainCalls++;
            return {};
          },
        });
        const { containers } = await client().listContainers({ filter: { labelSelector: { of: 'me' } } });
        expect(containers.map((container) => container.id)).toEqual(['a', 'b', 'me']);
        expect(plainCalls).toBe(0);
      });

      it.each([{ id: 'c' }, { podSandboxId: 's' }, { labelSelector: { 'io.kubernetes.pod.uid': 'u' } }])(
        'a list of one pod uses the plain RPC, and the streaming RPC if it exceeds the message limit: %j',
        async (filter) => {
          let sizeMebibytes = 1;
          let streams = 0;
          await start({
            async *streamContainers() {
              streams++;
              yield { containers: [{ id: 'streamed' }] };
            },
            listContainers: () => ({ containers: [{ id: 'p'.repeat(sizeMebibytes * 1024 * 1024) }] }),
          });
          const runtime = client();
          expect((await runtime.listContainers({ filter })).containers[0]?.id[0]).toBe('p');
          expect(streams).toBe(0);
          sizeMebibytes = 17;
          expect((await runtime.listContainers({ filter })).containers[0]?.id).toBe('streamed');
        },
      );

      it('a list may be larger than one gRPC message', async () => {
        await start({
          async *streamImages() {
            for (let i = 0; i < 3; i++) yield { images: [{ id: `${i}${'x'.repeat(8 * 1024 * 1024)}` }] };
          },
        });
        const { images } = await client().listImages({});
        expect(images.map((image) => image.id[0])).toEqual(['0', '1', '2']);
      });

      it('lists use the plain RPC if the runtime has no streaming RPC, which is tried once per connection', async () => {
        const asked: string[] = [];
        const handlers: Handlers = {
          listPodSandbox: () => ({ items: [{ id: 'p' }] }),
          streamPodSandboxes: () => {
            asked.push('stream');
            return Promise.reject(new Failure('UNIMPLEMENTED', 'unknown method StreamPodSandboxes'));
          },
        };
        const server = await start(handlers);
        const runtime = client({}, { waitForRuntime: 'always' });
        for (let i = 0; i < 3; i++) expect((await runtime.listPodSandbox({})).items[0]?.id).toBe('p');
        expect(asked).toEqual(['stream']);
        server.stop();
        await start(handlers);
        await runtime.version({}).catch(() => {});
        for (let i = 0; i < 2; i++) await runtime.listPodSandbox({});
        expect(asked).toEqual(['stream', 'stream']);
      });

      it('lists of IDs and states use the same RPCs as full lists', async () => {
        const containers = ['a', 'b'].map((id, state) => ({ id, state, labels: { of: 'me' } }));
        await start({
          async *streamContainers({ filter }) {
            yield { containers: containers.filter(({ id }) => filter?.id !== id) };
            yield { containers: [{ id: 'last', state: 2 }] };
          },
          listContainers: () => ({ containers }),
        });
        const runtime = client();
        const ids = async (filter: object) =>
          (await runtime.listContainerStates({ filter })).containers.map(({ id, state }) => `${id}${state}`);
        expect(await ids({ state: { state: 1 } })).toEqual(['a0', 'b1', 'last2']);
        expect(await ids({ id: 'a' })).toEqual(['a0', 'b1']);
      });

      it('a list fails if its stream breaks off, instead of returning a partial list', async () => {
        await start({
          async *streamContainers() {
            yield { containers: [{ id: 'a' }] };
            throw new Failure('INTERNAL', 'broken');
          },
          listContainers: () => ({ containers: [{ id: 'a' }, { id: 'b' }] }),
        });
        expect(await failure(client().listContainers({}))).toMatchObject({ code: 'INTERNAL', rpc: 'StreamContainers' });
      });
    });
  }

  describe('CriClient.close', () => {
    it('close ends calls in progress and refuses later calls', async () => {
      const started = Promise.withResolvers<void>();
      await start({
        pullImage: async (_, { aborted }) => {
          started.resolve();
          await untilAborted(aborted);
          return {};
        },
      });
      const runtime = client();
      const call = failure(runtime.pullImage({}));
      await started.promise;
      await runtime.close();
      expect(await call).toMatchObject({ code: 'CANCELLED', details: 'grpc: the client connection is closing' });
      expect(await failure(runtime.version({}))).toMatchObject({
        code: 'CANCELLED',
        details: 'grpc: the client connection is closing',
      });
    });
  });

  describe('streams of a runtime', () => {
    it('a stream ends in the runtime when the reader stops', async () => {
      const stopped = Promise.withResolvers<void>();
      await start({
        async *getContainerEvents(_, { aborted }) {
          yield { containerId: 'a' };
          await untilAborted(aborted);
          stopped.resolve();
        },
      });
      for await (const event of client().getContainerEvents({})) {
        expect(event).toEqual(messages.ContainerEventResponse.create({ containerId: 'a' }));
        break;
      }
      await stopped.promise;
    });
  });
}
