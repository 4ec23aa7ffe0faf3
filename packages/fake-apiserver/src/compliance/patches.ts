import assert from 'node:assert/strict';
import { at, isObject, type JsonObject, listAt, objectAt, textAt } from '../core/json.ts';
import {
  APPLY,
  causesOf,
  type Examination,
  has,
  JSON_PATCH,
  MERGE_PATCH,
  type Scene,
  STRATEGIC_MERGE,
  versionOf,
} from './scene.ts';

const PATCHED_CONDITIONS = [
  { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' },
  { type: 'Initialized', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' },
];

function conditionTypes(pod: JsonObject): string[] {
  return listAt(pod, 'status', 'conditions').map((one) => `${textAt(one, 'type')}=${textAt(one, 'status')}`);
}

async function patchStatus(scene: Scene, path: string, status: JsonObject): Promise<JsonObject> {
  return scene.ok('PATCH', `${path}/status`, { type: STRATEGIC_MERGE, body: { status } });
}

function applied(scene: Scene, name: string, data: JsonObject, labels: JsonObject = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { case: scene.id, ...labels } },
    data,
  });
}

/** Compliance cases about all kinds of patches. */
export const patchExaminations: readonly Examination[] = [
  [
    'JSON patch: operations apply in order, and escapes in paths are decoded',
    async (scene) => {
      const { path } = await scene.configMap({ a: '1', b: '2' }, { annotations: { 'x/y': 'z' } });
      const body = [
        { op: 'test', path: '/data/a', value: '1' },
        { op: 'replace', path: '/data/a', value: '3' },
        { op: 'remove', path: '/data/b' },
        { op: 'add', path: '/data/c', value: '4' },
        { op: 'copy', from: '/data/c', path: '/data/d' },
        { op: 'move', from: '/data/a', path: '/data/e' },
        { op: 'replace', path: '/metadata/annotations/x~1y', value: 'w' },
      ];
      const patched = await scene.ok('PATCH', path, { type: JSON_PATCH, body });
      assert.deepEqual(patched.data, { c: '4', d: '4', e: '3' });
      assert.deepEqual(at(patched, 'metadata', 'annotations'), { 'x/y': 'w' });
    },
  ],
  [
    'JSON patch: a failed test changes nothing and returns 422, and a body that is not a list returns 400',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const body = [
        { op: 'replace', path: '/data/a', value: '3' },
        { op: 'test', path: '/data/a', value: 'x' },
      ];
      await scene.refused(422, 'Invalid', 'PATCH', path, { type: JSON_PATCH, body });
      await scene.refused(422, 'Invalid', 'PATCH', path, {
        type: JSON_PATCH,
        body: [{ op: 'remove', path: '/data/no' }],
      });
      await scene.refused(400, 'BadRequest', 'PATCH', path, { type: JSON_PATCH, body: { op: 'remove' } });
      assert.equal(versionOf(await scene.ok('GET', path)), versionOf(object));
    },
  ],
  [
    'merge patch: null deletes a field, objects are merged and lists are replaced',
    async (scene) => {
      const { path } = await scene.configMap({ a: '1', b: '2' }, { finalizers: ['example.com/a'] });
      const body = { data: { a: null, c: '3' }, metadata: { finalizers: ['example.com/b'] } };
      const patched = await scene.ok('PATCH', path, { type: MERGE_PATCH, body });
      assert.deepEqual(patched.data, { b: '2', c: '3' });
      assert.deepEqual(at(patched, 'metadata', 'finalizers'), ['example.com/b']);
    },
  ],
  [
    'a patch without changes keeps the resource version',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const patched = await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { a: '1' } } });
      assert.equal(versionOf(patched), versionOf(object));
    },
  ],
  [
    'a patch with an old resource version is a conflict, and one without resource version is not',
    async (scene) => {
      const { path, object } = await scene.configMap();
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { a: '2' } } });
      const metadata = { resourceVersion: versionOf(object) };
      await scene.refused(409, 'Conflict', 'PATCH', path, { type: MERGE_PATCH, body: { metadata, data: { a: '3' } } });
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { a: '3' } } });
    },
  ],
  [
    'a patch with another UID is rejected and changes nothing',
    async (scene) => {
      const { path } = await scene.pod();
      const body = { metadata: { uid: 'another' }, status: { phase: 'Running' } };
      const status = await scene.refused(422, 'Invalid', 'PATCH', `${path}/status`, { type: STRATEGIC_MERGE, body });
      assert.ok(causesOf(status).includes('FieldValueInvalid metadata.uid'), causesOf(status).join('; '));
      assert.equal(textAt(await scene.ok('GET', path), 'status', 'phase'), 'Pending');
    },
  ],
  [
    'a patch of an unknown media type returns 415, and a patch of a missing object returns 404',
    async (scene) => {
      const { path } = await scene.configMap();
      await scene.refused(415, 'UnsupportedMediaType', 'PATCH', path, { body: { data: {} } });
      await scene.refused(404, 'NotFound', 'PATCH', scene.path('configmaps', scene.name()), {
        type: MERGE_PATCH,
        body: {},
      });
    },
  ],
  [
    'strategic merge: conditions merge by type, and conditions that the patch does not name stay',
    async (scene) => {
      const { path } = await scene.pod();
      await patchStatus(scene, path, { conditions: PATCHED_CONDITIONS });
      const changed = await patchStatus(scene, path, { conditions: [{ type: 'Ready', status: 'False' }] });
      assert.deepEqual(conditionTypes(changed).sort(), ['Initialized=True', 'Ready=False']);
      assert.equal(textAt(listAt(changed, 'status', 'conditions')[0], 'lastTransitionTime'), '2026-01-01T00:00:00Z');
    },
  ],
  [
    'strategic merge: $patch delete removes an item by its key',
    async (scene) => {
      const { path } = await scene.pod();
      await patchStatus(scene, path, { conditions: PATCHED_CONDITIONS });
      const changed = await patchStatus(scene, path, { conditions: [{ $patch: 'delete', type: 'Ready' }] });
      assert.deepEqual(conditionTypes(changed), ['Initialized=True']);
    },
  ],
  [
    'strategic merge: $patch replace replaces a list or a map',
    async (scene) => {
      const { path } = await scene.pod({}, { labels: { a: '1', b: '2' } });
      await patchStatus(scene, path, { conditions: PATCHED_CONDITIONS });
      const conditions = [{ $patch: 'replace' }, { type: 'Other', status: 'True' }];
      assert.deepEqual(conditionTypes(await patchStatus(scene, path, { conditions })), ['Other=True']);
      const labels = { $patch: 'replace', case: scene.id, c: '3' };
      const changed = await scene.ok('PATCH', path, { type: STRATEGIC_MERGE, body: { metadata: { labels } } });
      assert.deepEqual(at(changed, 'metadata', 'labels'), { case: scene.id, c: '3' });
    },
  ],
  [
    'strategic merge: $setElementOrder orders the items that it names',
    async (scene) => {
      const { path } = await scene.pod();
      await patchStatus(scene, path, { conditions: PATCHED_CONDITIONS });
      const changed = await patchStatus(scene, path, {
        '$setElementOrder/conditions': [{ type: 'Scheduled' }, { type: 'Initialized' }, { type: 'Ready' }],
        conditions: [{ type: 'Scheduled', status: 'True' }],
      });
      assert.deepEqual(conditionTypes(changed), ['Scheduled=True', 'Initialized=True', 'Ready=True']);
    },
  ],
  [
    'strategic merge: finalizers merge as a set, and $deleteFromPrimitiveList removes from it',
    async (scene) => {
      const { path } = await scene.configMap({}, { finalizers: ['example.com/a', 'example.com/b'] });
      const body = {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'], finalizers: ['example.com/c'] },
      };
      const changed = await scene.ok('PATCH', path, { type: STRATEGIC_MERGE, body });
      assert.deepEqual([...listAt(changed, 'metadata', 'finalizers')].sort(), ['example.com/b', 'example.com/c']);
    },
  ],
  [
    'strategic merge: addresses of a node merge by type, and taints are replaced',
    async (scene) => {
      const { path } = await scene.node({ taints: [{ key: 'a', effect: 'NoSchedule' }] });
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'a' },
      ];
      await scene.ok('PATCH', `${path}/status`, { type: STRATEGIC_MERGE, body: { status: { addresses } } });
      const changed = await scene.ok('PATCH', `${path}/status`, {
        type: STRATEGIC_MERGE,
        body: { status: { addresses: [{ type: 'Hostname', address: 'b' }] } },
      });
      const shown = listAt(changed, 'status', 'addresses').map(
        (one) => `${textAt(one, 'type')} ${textAt(one, 'address')}`,
      );
      assert.deepEqual(shown.sort(), ['Hostname b', 'InternalIP 10.0.0.1']);
      const taints = [{ key: 'b', effect: 'NoExecute' }];
      const tainted = await scene.ok('PATCH', path, { type: STRATEGIC_MERGE, body: { spec: { taints } } });
      assert.deepEqual(
        listAt(tainted, 'spec', 'taints').map((taint) => textAt(taint, 'key')),
        ['b'],
      );
    },
  ],
  [
    'strategic merge: an item without its key is rejected',
    async (scene) => {
      const { path } = await scene.pod();
      await patchStatus(scene, path, { conditions: PATCHED_CONDITIONS });
      const answer = await scene.send('PATCH', `${path}/status`, {
        type: STRATEGIC_MERGE,
        body: { status: { conditions: [{ status: 'True' }] } },
      });
      assert.ok(answer.status >= 400, answer.text);
    },
  ],
  [
    'apply creates the object, and a second apply changes nothing',
    async (scene) => {
      const name = scene.name();
      const path = `${scene.path('configmaps', name)}?fieldManager=one`;
      scene.remember(scene.path('configmaps', name));
      const first = await scene.send('PATCH', path, { type: APPLY, body: applied(scene, name, { a: '1' }) });
      assert.equal(first.status, 201, first.text);
      const [entry] = listAt(first.body, 'metadata', 'managedFields');
      assert.deepEqual([textAt(entry, 'manager'), textAt(entry, 'operation')], ['one', 'Apply']);
      assert.deepEqual(at(entry, 'fieldsV1', 'f:data'), { 'f:a': {} });
      const again = await scene.ok('PATCH', path, { type: APPLY, body: applied(scene, name, { a: '1' }) });
      assert.equal(versionOf(again), versionOf(first.body));
    },
  ],
  [
    'apply removes fields that its manager applied before and no longer applies, and keeps those of other managers',
    async (scene) => {
      const name = scene.name();
      const path = scene.path('configmaps', name);
      scene.remember(path);
      await scene.ok('PATCH', `${path}?fieldManager=one`, {
        type: APPLY,
        body: applied(scene, name, { a: '1', b: '2' }),
      });
      await scene.ok('PATCH', `${path}?fieldManager=two`, { type: APPLY, body: applied(scene, name, { c: '3' }) });
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { d: '4' } } });
      const changed = await scene.ok('PATCH', `${path}?fieldManager=one`, {
        type: APPLY,
        body: applied(scene, name, { a: '1' }),
      });
      assert.deepEqual(changed.data, { a: '1', c: '3', d: '4' });
    },
  ],
  [
    'apply of another manager’s field with a different value is a conflict, and succeeds with force',
    async (scene) => {
      const name = scene.name();
      const path = scene.path('configmaps', name);
      scene.remember(path);
      await scene.ok('PATCH', `${path}?fieldManager=one`, { type: APPLY, body: applied(scene, name, { a: '1' }) });
      const body = applied(scene, name, { a: '2' });
      const status = await scene.refused(409, 'Conflict', 'PATCH', `${path}?fieldManager=two`, { type: APPLY, body });
      assert.deepEqual(causesOf(status), ['FieldManagerConflict .data.a']);
      assert.match(String(status.message), /^Apply failed with 1 conflict: conflict with "one"/);
      const forced = await scene.ok('PATCH', `${path}?fieldManager=two&force=true`, { type: APPLY, body });
      assert.deepEqual(forced.data, { a: '2' });
      const owners = listAt(forced, 'metadata', 'managedFields').filter((entry) =>
        has(entry, 'fieldsV1', 'f:data', 'f:a'),
      );
      assert.deepEqual(
        owners.map((entry) => textAt(entry, 'manager')),
        ['two'],
      );
    },
  ],
  [
    'apply without a field manager is invalid',
    async (scene) => {
      const name = scene.name();
      await scene.refused(422, 'Invalid', 'PATCH', scene.path('configmaps', name), {
        type: APPLY,
        body: applied(scene, name, {}),
      });
    },
  ],
  [
    'every write records its manager and subresource in managedFields',
    async (scene) => {
      const { path } = await scene.pod();
      const changed = await scene.ok('PATCH', `${path}/status?fieldManager=kubelet`, {
        type: STRATEGIC_MERGE,
        body: { status: { phase: 'Running' } },
      });
      const entries = listAt(changed, 'metadata', 'managedFields').filter(isObject);
      const shown = entries.map((entry) => [entry.manager, entry.operation, entry.subresource ?? '']);
      assert.deepEqual(shown.sort(), [
        ['compliance', 'Update', ''],
        ['kubelet', 'Update', 'status'],
      ]);
      const creator = entries.find((entry) => entry.manager === 'compliance');
      assert.equal(has(creator, 'fieldsV1', 'f:status'), false);
      const own = entries.find((entry) => entry.manager === 'kubelet');
      assert.deepEqual(objectAt(own, 'fieldsV1', 'f:status'), { 'f:phase': {} });
    },
  ],
];
