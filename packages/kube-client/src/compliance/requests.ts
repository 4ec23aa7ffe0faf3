import assert from 'node:assert/strict';
import { Discovery } from '../discovery.ts';
import { fieldSelector } from '../query.ts';
import { resources } from '../resources.ts';
import type { Harness } from './harness.ts';

const { configMaps } = resources;

/** Cases of requests and their errors. */
export const requestCases: readonly (readonly [name: string, run: (harness: Harness) => Promise<void>])[] = [
  [
    'an object is created, read, replaced and deleted; a replacement of an outdated version is a conflict',
    readAndWrite,
  ],
  ['JSON, merge and strategic merge patches change the fields that they name', patches],
  ['server-side apply makes an object, and a field of another manager is a conflict until it is forced', apply],
  ['a deletion names the object that it means by its UID', deletion],
  ['a rejected request names the reason and each invalid field', refusals],
  ['a list is selected by fields and labels, and comes page by page', lists],
  ['a dry run changes nothing', dryRun],
  ['the server says its version, and which of several API versions it serves', discovery],
];

async function readAndWrite(harness: Harness): Promise<void> {
  const { client } = harness;
  const made = await harness.configMap({ a: '1' });
  assert.equal(made.kind, 'ConfigMap');
  assert.ok(made.metadata.uid);
  const key = { namespace: harness.namespace, name: made.metadata.name ?? '' };
  const updated = await client.update(configMaps, { ...made, data: { a: '2' } });
  assert.notEqual(updated.metadata.resourceVersion, made.metadata.resourceVersion);
  assert.deepEqual((await client.get(configMaps, key)).data, { a: '2' });
  await harness.refused('Conflict', client.update(configMaps, { ...made, data: { a: '3' } }));
  await client.delete(configMaps, key);
  await harness.refused('NotFound', client.get(configMaps, key));
}

async function patches(harness: Harness): Promise<void> {
  const { client } = harness;
  const { metadata } = await harness.configMap({ a: '1', b: '2' });
  const key = { namespace: harness.namespace, name: metadata.name ?? '' };
  const data = async (): Promise<unknown> => (await client.get(configMaps, key)).data;
  await client.patch(configMaps, { type: 'strategic', body: { data: { a: 's' } } }, key);
  assert.deepEqual(await data(), { a: 's', b: '2' });
  await client.patch(configMaps, { type: 'merge', body: { data: { a: null, c: 'm' } } }, key);
  assert.deepEqual(await data(), { b: '2', c: 'm' });
  await client.patch(configMaps, { type: 'json', body: [{ op: 'replace', path: '/data/b', value: 'j' }] }, key);
  assert.deepEqual(await data(), { b: 'j', c: 'm' });
  const test = [{ op: 'test', path: '/data/b', value: 'other' }] as const;
  await harness.refused('Invalid', client.patch(configMaps, { type: 'json', body: test }, key));
  const stale = { metadata: { uid: 'another' } };
  await harness.refused('Invalid', client.patch(configMaps, { type: 'merge', body: stale }, key));
}

async function apply(harness: Harness): Promise<void> {
  const { client } = harness;
  const key = { namespace: harness.namespace, name: harness.name() };
  const body = (value: string): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: key.name, labels: harness.labels },
    data: { a: value },
  });
  const one = await client.patch(configMaps, { type: 'apply', body: body('1'), fieldManager: 'one' }, key);
  assert.deepEqual(one.data, { a: '1' });
  const other = { type: 'apply', body: body('2'), fieldManager: 'two' } as const;
  const conflict = await harness.refused('Conflict', client.patch(configMaps, other, key));
  assert.deepEqual(
    conflict.details?.causes?.map(({ reason, field }) => [reason, field]),
    [['FieldManagerConflict', '.data.a']],
  );
  const forced = await client.patch(configMaps, { ...other, force: true }, key);
  assert.deepEqual(forced.data, { a: '2' });
}

async function deletion(harness: Harness): Promise<void> {
  const { client } = harness;
  const { metadata } = await harness.configMap();
  const key = { namespace: harness.namespace, name: metadata.name ?? '' };
  await harness.refused('Conflict', client.delete(configMaps, { ...key, preconditions: { uid: 'another' } }));
  await client.delete(configMaps, {
    ...key,
    preconditions: { uid: metadata.uid ?? '' },
    propagationPolicy: 'Background',
  });
  await harness.refused('NotFound', client.delete(configMaps, key));
}

async function refusals(harness: Harness): Promise<void> {
  const { client, namespace } = harness;
  const made = await harness.configMap();
  const { name = '' } = made.metadata;
  const exists = await harness.refused('AlreadyExists', client.create(configMaps, { metadata: { name, namespace } }));
  assert.equal(exists.httpStatus, 409);
  assert.equal(exists.details?.name, name);
  const invalid = await harness.refused(
    'Invalid',
    client.create(configMaps, { metadata: { name: 'Not A Name', namespace } }),
  );
  assert.equal(invalid.httpStatus, 422);
  assert.deepEqual(
    invalid.details?.causes?.map(({ field }) => field),
    ['metadata.name'],
  );
  const unknown = { ...configMaps, plural: 'nosuchthings' };
  assert.equal((await harness.refused('NotFound', client.list(unknown))).httpStatus, 404);
}

async function lists(harness: Harness): Promise<void> {
  const { client, namespace } = harness;
  const made = [await harness.configMap(), await harness.configMap(), await harness.configMap()];
  const names = made.map(({ metadata }) => metadata.name ?? '');
  const [first = ''] = names;
  const selected = await client.list(configMaps, {
    namespace,
    fieldSelector: fieldSelector({ 'metadata.name': first }),
  });
  assert.deepEqual(
    selected.items.map(({ metadata, kind }) => [metadata.name, kind]),
    [[first, 'ConfigMap']],
  );
  const labelSelector = Object.entries(harness.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join();
  const got: (string | undefined)[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(configMaps, { namespace, labelSelector, limit: 2, continue: next });
    assert.ok(page.items.length <= 2);
    got.push(...page.items.map(({ metadata }) => metadata.name));
    next = page.continue;
  } while (next !== undefined);
  assert.deepEqual(got.sort(), names.sort());
}

async function dryRun(harness: Harness): Promise<void> {
  const metadata = { name: harness.name(), namespace: harness.namespace };
  await harness.client.create(configMaps, { metadata }, { dryRun: true });
  await harness.refused('NotFound', harness.client.get(configMaps, metadata));
}

async function discovery({ client }: Harness): Promise<void> {
  const served = new Discovery({ client });
  const { major, minor, gitVersion } = await served.serverVersion();
  assert.match(gitVersion, /^v1\./);
  assert.ok(major === 1 && minor >= 30, gitVersion);
  const none = { ...configMaps, version: 'v7' };
  assert.equal(await served.choose([none, configMaps]), configMaps);
  assert.equal(await served.choose([none]), undefined);
}
