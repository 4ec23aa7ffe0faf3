import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { ManifestReader, type ReadApart, readInWorker } from '../src/manifest-reader.ts';
import { podSchema } from '../src/pod-schema.ts';
import type { ManifestOrigin } from '../src/static-pod.ts';
import { bytesOf, manifestOf } from './helpers.ts';

const origin: ManifestOrigin = { kind: 'file', location: '/manifests/a.yaml', nodeName: 'n1' };
const small = bytesOf(manifestOf('a'));
/** Returns a manifest with comments that make it too large to be parsed in the main thread. */
const largeOf = (name: string): Uint8Array => bytesOf(`# ${'-'.repeat(40_000)}\n${JSON.stringify(manifestOf(name))}`);

/** Creates a reader with fake workers, which end when the test ends them. */
function readerWith(schema?: typeof podSchema) {
  const calls: { readonly location: string; readonly signal: AbortSignal; end(): void; fail(error: Error): void }[] =
    [];
  const clock = new FakeClock();
  const readApart: ReadApart = (_bytes, { location }, signal) =>
    new Promise((resolve, reject) => {
      calls.push({ location, signal, end: () => resolve({ pods: [], problems: [] }), fail: reject });
    });
  return { calls, clock, reader: new ManifestReader({ clock }, schema, readApart) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('ManifestReader', () => {
  it('reads a small manifest in the calling thread', async () => {
    const { reader, calls } = readerWith();
    expect((await reader.read(small, origin)).pods).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it('reads a manifest in the calling thread if the caller passes its own schema', async () => {
    const { reader, calls } = readerWith(podSchema);
    expect((await reader.read(largeOf('a'), origin)).pods).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it('W6: reads large manifests in a worker thread, one after the other', async () => {
    const { reader, calls } = readerWith();
    const first = reader.read(largeOf('a'), origin);
    const second = reader.read(largeOf('b'), { ...origin, location: '/manifests/b.yaml' });
    await turn();
    expect(calls.map(({ location }) => location)).toEqual(['/manifests/a.yaml']);
    calls[0]?.end();
    expect(await first).toEqual({ pods: [], problems: [] });
    await turn();
    expect(calls.map(({ location }) => location)).toEqual(['/manifests/a.yaml', '/manifests/b.yaml']);
    calls[1]?.end();
    await second;
  });

  it('W6: a manifest that takes longer than 120 s to read is reported as a problem, and the next one is read', async () => {
    const { reader, calls, clock } = readerWith();
    const first = reader.read(largeOf('a'), origin);
    const second = reader.read(largeOf('b'), { ...origin, location: '/manifests/b.yaml' });
    await turn();
    await clock.advance(119_999);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    const message = 'cannot be read: timed out after 120000 ms';
    expect(await first).toEqual({ pods: [], problems: [{ source: '/manifests/a.yaml', message }] });
    await turn();
    expect(calls.map(({ location, signal }) => [location, signal.aborted])).toEqual([
      ['/manifests/a.yaml', true],
      ['/manifests/b.yaml', false],
    ]);
    calls[1]?.end();
    await second;
  });

  it('concurrent reads of the same content share one worker call', async () => {
    const { reader, calls } = readerWith();
    void reader.read(largeOf('a'), origin);
    const again = reader.read(largeOf('a'), origin);
    await turn();
    calls[0]?.end();
    await again;
    expect(calls).toHaveLength(1);
    void reader.read(largeOf('changed'), origin);
    await turn();
    expect(calls).toHaveLength(2);
    reader.retain([]);
    calls[1]?.end();
    void reader.read(largeOf('changed'), origin);
    await turn();
    expect(calls).toHaveLength(3);
  });

  it('reports a crashed worker as a problem of the manifest', async () => {
    const { reader, calls } = readerWith();
    const reading = reader.read(largeOf('a'), origin);
    await turn();
    calls[0]?.fail(new Error('Worker terminated due to reaching memory limit: JS heap out of memory'));
    expect(await reading).toEqual({
      pods: [],
      problems: [
        {
          source: '/manifests/a.yaml',
          message: 'cannot be read: Worker terminated due to reaching memory limit: JS heap out of memory',
        },
      ],
    });
  });
});

it('a worker thread reads a large manifest with the same result as the calling thread', async () => {
  const expected = await new ManifestReader({ clock: new FakeClock() }, podSchema).read(largeOf('a'), origin);
  const { signal } = new AbortController();
  expect(await readInWorker(largeOf('a'), origin, signal)).toEqual(expected);
  expect(await readInWorker(bytesOf('a: ['), origin, signal)).toMatchObject({ pods: [], problems: [{ line: 1 }] });
});

it('W6: aborting the read of a manifest ends its worker thread', async () => {
  const controller = new AbortController();
  const deep = bytesOf(`a: ${'['.repeat(1_000_000)}`);
  const reading = readInWorker(deep, origin, controller.signal);
  setImmediate(() => controller.abort(new Error('given up')));
  await expect(reading).rejects.toThrow('given up');
  await expect(readInWorker(deep, origin, controller.signal)).rejects.toThrow('given up');
});
