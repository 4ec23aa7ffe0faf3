import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer, seededFaults } from '@node-agent/fake-apiserver';
import { silentLogger } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { Reflector, RestClient, resources } from '../src/index.ts';

const SEEDS = Number(process.env.SEEDS ?? 60);
const NAMES = ['a', 'b', 'c', 'd', 'e'];

type Seen = readonly [name: string, resourceVersion: string | undefined];

/**
 * Simulates minutes of writes, faults and a consumer that reads at random times. Returns the final differences between
 * reflector and server, and the broken rules.
 */
async function run(seed: number, streamingLists: boolean): Promise<readonly string[]> {
  const clock = new FakeClock();
  const random = seededRandom(seed);
  const api = new FakeApiServer({ clock, random: seededRandom(seed + 1) });
  const client = new RestClient({ transport: api, clock });
  const components = { client, clock, random: seededRandom(seed + 2), logger: silentLogger };
  const reflector = new Reflector(components, { resource: resources.configMaps, namespace: 'default', streamingLists });
  api.faults.useSource(seededFaults(seededRandom(seed + 3), { request: 0.3, watch: 0.7, verbs: ['list', 'watch'] }));
  const stop = new AbortController();
  const done = reflector.start(stop.signal);
  const feed = reflector.changes();
  const mirror = new Map<string, string | undefined>();
  const problems: string[] = [];

  const look = async (): Promise<void> => {
    while (feed.size > 0) {
      const change = await feed.take();
      if (change === undefined || change.type === 'synced') continue;
      const { key, object } = change;
      const known = mirror.has(key);
      if (change.type === 'deleted') {
        if (!known) problems.push(`${key}: told of the end of what was never told of`);
        mirror.delete(key);
        continue;
      }
      if (known !== (change.previous !== undefined)) problems.push(`${key}: previous is wrong`);
      mirror.set(key, object.metadata.resourceVersion);
    }
  };
  const pick = (limit: number): number => Math.floor(random.next() * limit);
  const write = async (): Promise<void> => {
    const name = NAMES[pick(NAMES.length)] ?? '';
    const key = { namespace: 'default', name };
    const there = api.objects('configmaps').some(({ metadata }) => (metadata as { name: string }).name === name);
    if (!there) await client.create(resources.configMaps, { metadata: key });
    else if (pick(3) === 0) await client.delete(resources.configMaps, key);
    else await client.patch(resources.configMaps, { type: 'merge', body: { data: { n: String(clock.now()) } } }, key);
  };

  for (let step = 0; step < 60; step++) {
    await write();
    if (pick(3) === 0) await clock.advance(pick(20_000));
    if (pick(8) === 0) api.endWatches((['cut', 'end', 'expire'] as const)[pick(3)] ?? 'cut');
    if (pick(12) === 0) api.compact();
    if (pick(20) === 0) api.wipe();
    if (pick(4) === 0) await look();
  }
  api.faults.clear();
  await clock.advance(12 * 60_000);
  await look();

  const wanted: Seen[] = (await client.list(resources.configMaps, { namespace: 'default' })).items.map(
    ({ metadata }) => [`default/${metadata.name}`, metadata.resourceVersion],
  );
  const sorted = (seen: Iterable<Seen>): string => JSON.stringify([...seen].sort(([a], [b]) => (a < b ? -1 : 1)));
  const had: Seen[] = [...reflector.objects].map(([key, { metadata }]) => [key, metadata.resourceVersion]);
  if (sorted(had) !== sorted(wanted)) problems.push(`has ${sorted(had)}, the server ${sorted(wanted)}`);
  if (sorted(mirror) !== sorted(wanted)) problems.push(`told ${sorted(mirror)}, the server has ${sorted(wanted)}`);
  if (reflector.lastError !== undefined) problems.push(`still: ${reflector.lastError.message}`);
  stop.abort();
  await clock.settle();
  await done;
  return problems;
}

test.each([true, false])(
  "K3: after random faults the reflector has the server's objects (streaming lists: %s)",
  async (streaming) => {
    const failed: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const problems = await run(seed, streaming);
      if (problems.length > 0) failed.push(`seed ${seed}: ${problems.join('; ')}`);
    }
    expect(failed).toEqual([]);
  },
);
