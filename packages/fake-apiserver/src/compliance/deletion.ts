import assert from 'node:assert/strict';
import { at, textAt } from '../core/json.ts';
import { type Examination, has, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE } from './scene.ts';

/** Compliance cases about the deletion of objects. */
export const deletionExaminations: readonly Examination[] = [
  [
    'an object without finalizers is deleted immediately, and the response names it',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const answer = await scene.ok('DELETE', path);
      const { name, uid } = { name: textAt(object, 'metadata', 'name'), uid: textAt(object, 'metadata', 'uid') };
      assert.deepEqual([answer.kind, answer.status], ['Status', 'Success']);
      assert.deepEqual(answer.details, { name, kind: 'configmaps', uid });
      await scene.refused(404, 'NotFound', 'DELETE', path);
    },
  ],
  [
    'an object with a finalizer stays until the finalizer is removed, and no finalizer can be added during deletion',
    async (scene) => {
      const { path } = await scene.configMap({}, { finalizers: ['example.com/hold'] });
      const held = await scene.ok('DELETE', path);
      assert.ok(has(held, 'metadata', 'deletionTimestamp'));
      assert.equal(at(held, 'metadata', 'deletionGracePeriodSeconds'), 0);
      await scene.refused(422, 'Invalid', 'PATCH', path, {
        type: JSON_PATCH,
        body: [{ op: 'add', path: '/metadata/finalizers/-', value: 'example.com/more' }],
      });
      const body = { metadata: { name: textAt(held, 'metadata', 'name') } };
      const again = await scene.refused(409, 'AlreadyExists', 'POST', scene.path('configmaps'), { body });
      assert.match(String(again.message), /^object is being deleted: configmaps ".*" already exists$/);
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { metadata: { finalizers: null } } });
      await scene.refused(404, 'NotFound', 'GET', path);
    },
  ],
  [
    'a pod without a node is deleted immediately',
    async (scene) => {
      const { path } = await scene.pod();
      const answer = await scene.ok('DELETE', path);
      assert.equal(answer.kind, 'Pod');
      await scene.refused(404, 'NotFound', 'GET', path);
    },
  ],
  [
    'a pod on a node stays, with a new generation, until it is deleted with a grace period of 0',
    async (scene) => {
      const { path } = await scene.pod({ nodeName: 'some-node', terminationGracePeriodSeconds: 40 });
      const going = await scene.ok('DELETE', path);
      assert.equal(at(going, 'metadata', 'deletionGracePeriodSeconds'), 40);
      assert.equal(at(going, 'metadata', 'generation'), 2);
      const ends = Date.parse(textAt(going, 'metadata', 'deletionTimestamp'));
      assert.ok(ends >= Date.parse(textAt(going, 'metadata', 'creationTimestamp')) + 40_000, String(ends));
      assert.ok(has(await scene.ok('GET', path), 'metadata', 'deletionTimestamp'));
      await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 0 } });
      await scene.refused(404, 'NotFound', 'GET', path);
    },
  ],
  [
    'the grace period of a pod can be shortened but not extended',
    async (scene) => {
      const { path } = await scene.pod({ nodeName: 'some-node' });
      await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 20 } });
      const longer = await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 30 } });
      assert.equal(at(longer, 'metadata', 'deletionGracePeriodSeconds'), 20);
      const unsaid = await scene.ok('DELETE', path);
      assert.equal(at(unsaid, 'metadata', 'deletionGracePeriodSeconds'), 20);
      const shorter = await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 5 } });
      assert.equal(at(shorter, 'metadata', 'deletionGracePeriodSeconds'), 5);
      assert.ok(textAt(shorter, 'metadata', 'deletionTimestamp') < textAt(longer, 'metadata', 'deletionTimestamp'));
    },
  ],
  [
    'a terminated pod is deleted immediately',
    async (scene) => {
      const { path } = await scene.pod({ nodeName: 'some-node' });
      await scene.ok('PATCH', `${path}/status`, { type: STRATEGIC_MERGE, body: { status: { phase: 'Succeeded' } } });
      await scene.ok('DELETE', path);
      await scene.refused(404, 'NotFound', 'GET', path);
    },
  ],
  [
    'a pod with a finalizer stays after a deletion with a grace period of 0',
    async (scene) => {
      const { path } = await scene.pod({ nodeName: 'some-node' }, { finalizers: ['example.com/hold'] });
      await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 0 } });
      const held = await scene.ok('GET', path);
      assert.equal(at(held, 'metadata', 'deletionGracePeriodSeconds'), 0);
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { metadata: { finalizers: null } } });
      await scene.refused(404, 'NotFound', 'GET', path);
    },
  ],
  [
    'removing a finalizer during the grace period does not delete the pod',
    async (scene) => {
      const { path } = await scene.pod({ nodeName: 'some-node' }, { finalizers: ['example.com/hold'] });
      await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 30 } });
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { metadata: { finalizers: null } } });
      assert.equal(at(await scene.ok('GET', path), 'metadata', 'deletionGracePeriodSeconds'), 30);
    },
  ],
  [
    'a deletion with another UID or resource version as precondition is a conflict',
    async (scene) => {
      const { path, name, object } = await scene.pod();
      const uid = textAt(object, 'metadata', 'uid');
      const status = await scene.refused(409, 'Conflict', 'DELETE', path, {
        body: { preconditions: { uid: 'another' } },
      });
      assert.match(String(status.message), /the UID in the precondition \(another\) does not match the UID in record/);
      assert.equal(textAt(status, 'details', 'name'), name);
      await scene.refused(409, 'Conflict', 'DELETE', path, { body: { preconditions: { resourceVersion: '1' } } });
      await scene.ok('DELETE', path, { body: { preconditions: { uid } } });
    },
  ],
  [
    'a collection delete with a selector deletes the selected objects only',
    async (scene) => {
      await scene.configMap({}, { labels: { group: 'a' } });
      await scene.configMap({}, { labels: { group: 'a' } });
      const { path } = await scene.configMap({}, { labels: { group: 'b' } });
      const selected = `${scene.path('configmaps')}?labelSelector=case%3D${scene.id}`;
      await scene.ok('DELETE', `${selected},group%3Da`);
      const { items } = await scene.ok('GET', selected);
      assert.equal(Array.isArray(items) && items.length, 1);
      await scene.ok('GET', path);
    },
  ],
];
