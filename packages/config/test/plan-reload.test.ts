import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultConfiguration, planReload, resolveFeatureGates } from '../src/index.ts';
import { configurationFields } from '../src/schema/kubelet-configuration.ts';
import { RULES } from '../src/validate/validate.ts';
import { file, load } from './memory-files.ts';

async function plan(before: string, after: string) {
  const [running, loaded] = [await load({ config: file(before) }), await load({ config: file(after) })];
  return planReload(running.configuration, loaded.configuration);
}

describe('planReload', () => {
  it('a reload with an unchanged configuration changes nothing', async () => {
    const { configuration } = await load({ config: file('maxPods: 5\n') });
    expect(await plan('maxPods: 5\n', 'maxPods: 5\n')).toEqual({ configuration, live: [], restart: [] });
  });

  it('a reload applies live fields and keeps the running value of all other fields', async () => {
    const { configuration, live, restart } = await plan(
      'maxPods: 5\nport: 10250\nlogging: {verbosity: 2, format: text}\n',
      'maxPods: 6\nport: 10251\nlogging: {verbosity: 4, format: json}\n',
    );
    expect([live, restart]).toEqual(
      [
        ['maxPods', 'logging.verbosity'],
        ['port', 'logging.format'],
      ].map((l) => expect.arrayContaining(l)),
    );
    expect(configuration).toMatchObject({ maxPods: 6, port: 10_250, logging: { verbosity: 4, format: 'text' } });
  });

  it('a reload compares maps by content, and detects a removed entry', async () => {
    const same = await plan(
      'evictionHard: {memory.available: 1Gi, pid.available: 5%}\n',
      'evictionHard: {pid.available: 5%, memory.available: 1Gi}\n',
    );
    expect(same.live).toEqual([]);
    const removed = await plan(
      'evictionHard: {memory.available: 1Gi, pid.available: 5%}\n',
      'evictionHard: {memory.available: 1Gi}\n',
    );
    expect(removed.live).toEqual(['evictionHard']);
    expect(removed.configuration.evictionHard).toEqual({ 'memory.available': '1Gi' });
  });

  it('a changed feature gate needs a restart', async () => {
    expect((await plan('', 'featureGates: {MemoryQoS: true}\n')).restart).toContain('featureGates');
  });

  it('no validation rule combines a live field with one that needs a restart', () => {
    const reload = new Map(configurationFields.map((field) => [field.property, field.reload]));
    const { gates } = resolveFeatureGates({});
    for (const rule of RULES) {
      const read = new Set<string>();
      const watched = new Proxy(defaultConfiguration(), {
        get(target, property, receiver): unknown {
          read.add(String(property));
          return Reflect.get(target, property, receiver);
        },
      });
      rule(watched, { gates, cgroupVersion: 2 });
      const kinds = new Set([...read].flatMap((property) => reload.get(property) ?? []));
      expect([...kinds].length, [...read].join()).toBeLessThan(2);
    }
  });

  it('a reload plan lists every changed field exactly once; after the live fields are applied, only fields that need a restart are left', () => {
    const leaves = fc.record({
      maxPods: fc.integer({ min: 1, max: 500 }),
      port: fc.integer({ min: 1, max: 65_535 }),
      containerLogMaxFiles: fc.integer({ min: 2, max: 9 }),
      podPidsLimit: fc.integer({ min: 1, max: 900 }),
    });
    return fc.assert(
      fc.asyncProperty(leaves, leaves, async (a, b) => {
        const text = (values: object): string =>
          file(
            `${JSON.stringify(values).slice(1, -1).replaceAll(',"', '\n"').replaceAll('"', '').replaceAll(':', ': ')}\n`,
          );
        const { configuration: running } = await load({ config: text(a) });
        const { configuration: loaded } = await load({ config: text(b) });
        const { configuration, live, restart } = planReload(running, loaded);
        const changed = (Object.keys(a) as (keyof typeof a)[]).filter((name) => a[name] !== b[name]);
        expect([...live, ...restart].sort()).toEqual(changed.sort());
        const again = planReload(configuration, loaded);
        expect([again.live, again.restart]).toEqual([[], restart]);
      }),
      { numRuns: 30 },
    );
  });

  it('every live field of the configuration is a supported field', () => {
    const live = configurationFields.filter(({ reload }) => reload === 'live');
    expect(live.length).toBeGreaterThan(15);
    expect(live.filter(({ support }) => support.state !== 'supported')).toEqual([]);
  });
});
