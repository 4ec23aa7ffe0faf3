import { describe, expect, test } from 'vitest';
import { ClusterTrustBundles } from '../src/cluster-trust-bundles.ts';
import { labelRule } from '../src/label-selector.ts';
import { normalizeTrustAnchors } from '../src/trust-anchors.ts';
import { runToTheEnd, within, world } from './fixtures.ts';

const anchor = (text: string): string => {
  const base64 = Buffer.from(text.repeat(20)).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${(base64.match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;
};
const bundle = (name: string, signerName: string, labels: object, trustBundle: string) => ({
  apiVersion: 'certificates.k8s.io/v1beta1',
  kind: 'ClusterTrustBundle',
  metadata: { name, labels },
  spec: { signerName, trustBundle },
});

function setUp() {
  const given = world();
  const bundles = new ClusterTrustBundles(given.components);
  runToTheEnd((signal) => bundles.start(signal));
  const { clock, signal } = given;
  const byName = (name: string, allowMissing = false) => within(clock, 0, bundles.byName(name, allowMissing, signal));
  const bySigner = (selector: Parameters<typeof bundles.bySigner>[1], allowMissing = false) =>
    within(clock, 0, bundles.bySigner('a.b/c', selector, allowMissing, signal));
  return { ...given, bundles, byName, bySigner };
}

describe('trust anchors', () => {
  test('trust anchors of a ClusterTrustBundle are found by the name of the bundle and follow its changes', async () => {
    const { api, byName, clock } = setUp();
    api.put(bundle('roots', '', {}, anchor('one')));
    expect(await byName('roots')).toEqual({ value: anchor('one') });
    api.put(bundle('roots', '', {}, anchor('two')));
    await clock.settle();
    expect(await byName('roots')).toEqual({ value: anchor('two') });
  });

  test('trust anchors of a signer are those of its ClusterTrustBundles with matching labels', async () => {
    const { api, bySigner } = setUp();
    api.put(bundle('a.b:c:live', 'a.b/c', { live: 'yes' }, anchor('one')));
    api.put(bundle('a.b:c:canary', 'a.b/c', { live: 'no' }, anchor('two')));
    api.put(bundle('d.e:f:live', 'd.e/f', { live: 'yes' }, anchor('three')));
    expect(await bySigner({ matchLabels: { live: 'yes' } })).toEqual({ value: anchor('one') });
    const all = await bySigner({});
    expect(all).toMatchObject({ value: expect.stringContaining(anchor('two')) });
    expect(all).not.toMatchObject({ value: expect.stringContaining(anchor('three')) });
    expect(await bySigner(undefined)).toMatchObject({ error: { code: 'TrustBundleMissing' } });
    expect(await bySigner({ matchLabels: { live: 'x' } }, true)).toEqual({ value: '' });
  });

  test('a missing ClusterTrustBundle is an error, or empty if it is optional', async () => {
    const { byName } = setUp();
    expect(await byName('roots')).toMatchObject({ error: { code: 'TrustBundleMissing' } });
    expect(await byName('roots', true)).toEqual({ value: '' });
  });

  test('K3: trust anchors stay unchanged while the API server is down', async () => {
    const { api, byName, clock } = setUp();
    api.put(bundle('roots', '', {}, anchor('one')));
    await byName('roots');
    api.refuseConnections();
    await clock.advance(3600_000);
    expect(await byName('roots')).toEqual({ value: anchor('one') });
  });

  test('trust anchors are unavailable while the API server does not respond, and available afterwards', async () => {
    const { api, bundles, clock, signal } = setUp();
    api.put(bundle('roots', '', {}, anchor('one')));
    api.refuseConnections();
    expect(await within(clock, 60_000, bundles.byName('roots', true, signal))).toMatchObject({
      error: { code: 'TrustBundleUnavailable' },
    });
    api.acceptConnections();
    expect(await within(clock, 0, bundles.byName('roots', true, signal))).toEqual({ value: anchor('one') });
  });

  test('trust anchors are not requested from an API server without ClusterTrustBundles', async () => {
    const { components, clock, signal } = world();
    const client = { ...components.client, getPath: async () => ({ resources: [] }) };
    const bundles = new ClusterTrustBundles({ ...components, client: Object.assign(components.client, client) });
    runToTheEnd((linked) => bundles.start(linked));
    expect(await within(clock, 0, bundles.byName('roots', true, signal))).toMatchObject({
      error: { message: 'the API server does not serve ClusterTrustBundles' },
    });
  });
});

test('trust anchors are deduplicated, ordered only by the salt, and stripped of surrounding text', () => {
  const [one, two, three] = [anchor('one'), anchor('two'), anchor('three')];
  const text = normalizeTrustAnchors([`# ours\n${one}${two}`, `${two.replaceAll('\n', '\r\n')}${three}`], 'salt');
  expect(text.length).toBe((one + two + three).length);
  for (const each of [one, two, three]) expect(text).toContain(each);
  expect(normalizeTrustAnchors([three, two, one], 'salt')).toBe(text);
  const orders = new Set(Array.from({ length: 20 }, (_, salt) => normalizeTrustAnchors([one, two, three], `${salt}`)));
  expect(orders.size).toBeGreaterThan(1);
  expect(normalizeTrustAnchors(['no PEM'], 'salt')).toBe('');
});

describe('a label selector', () => {
  const expression = (operator: string, ...values: string[]) => ({
    matchExpressions: [{ key: 'tier', operator, values }],
  });
  test.each([
    ['none', undefined, [], false],
    ['{}', {}, [], true],
    ['In', expression('In', 'a', 'b'), ['b'], true],
    ['In', expression('In', 'a', 'b'), ['c'], false],
    ['In without the label', expression('In', 'a'), [], false],
    ['NotIn', expression('NotIn', 'a'), ['a'], false],
    ['NotIn without the label', expression('NotIn', 'a'), [], true],
    ['Exists', expression('Exists'), ['x'], true],
    ['Exists without the label', expression('Exists'), [], false],
    ['DoesNotExist', expression('DoesNotExist'), ['x'], false],
    ['DoesNotExist without the label', expression('DoesNotExist'), [], true],
    [
      'two requirements, one of which is not met',
      { ...expression('Exists'), matchLabels: { tier: 'y' } },
      ['x'],
      false,
    ],
  ])('the label selector "%s" matches the labels: $3', (_what, selector, [tier], expected) => {
    expect(labelRule(selector)(tier === undefined ? {} : { tier })).toBe(expected);
  });

  test.each([
    ['In without values', expression('In'), "values set can't be empty"],
    ['Exists with values', expression('Exists', 'a'), 'values set must be empty'],
    ['an unknown operator', expression('Near'), '"Near" is not a valid label selector operator'],
  ])('a label selector with %s is an error', (_what, selector, message) => {
    expect(() => labelRule(selector)).toThrow(message);
  });
});
