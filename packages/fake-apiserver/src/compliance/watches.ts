import assert from 'node:assert/strict';
import { at, textAt } from '../core/json.ts';
import { type Examination, has, MERGE_PATCH, type Scene, STRATEGIC_MERGE, versionOf } from './scene.ts';

function own(scene: Scene, query: string = '', plural: string = 'configmaps'): string {
  return `${scene.path(plural)}?labelSelector=case%3D${scene.id}${query}`;
}

async function now(scene: Scene): Promise<string> {
  return versionOf(await scene.ok('GET', own(scene)));
}

/** Compliance cases about watches: their events and the order of events. */
export const watchExaminations: readonly Examination[] = [
  [
    'a watch sends every change after its version in order, with increasing versions',
    async (scene) => {
      const watch = await scene.watch(own(scene, `&resourceVersion=${await now(scene)}`));
      const { path, object } = await scene.configMap();
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { a: '2' } } });
      await scene.ok('DELETE', path);
      const heard = await watch.until(3);
      const name = textAt(object, 'metadata', 'name');
      assert.deepEqual(watch.summary(), [`ADDED ${name}`, `MODIFIED ${name}`, `DELETED ${name}`]);
      assert.deepEqual([heard[0]?.object.kind, heard[0]?.object.apiVersion], ['ConfigMap', 'v1']);
      const versions = heard.map((event) => Number(versionOf(event.object)));
      assert.deepEqual(
        versions,
        [...new Set(versions)].sort((a, b) => a - b),
      );
      assert.deepEqual(heard[2]?.object.data, { a: '2' });
    },
  ],
  [
    'a watch from a past version sends the changes since then',
    async (scene) => {
      const version = await now(scene);
      const { path, object } = await scene.configMap();
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { a: '2' } } });
      const watch = await scene.watch(own(scene, `&resourceVersion=${version}`));
      await watch.until(2);
      const name = textAt(object, 'metadata', 'name');
      assert.deepEqual(watch.summary(), [`ADDED ${name}`, `MODIFIED ${name}`]);
    },
  ],
  [
    'a watch from 0 or without a version first sends the existing objects',
    async (scene) => {
      const { object } = await scene.configMap();
      for (const version of ['&resourceVersion=0', '']) {
        const watch = await scene.watch(own(scene, version));
        await watch.until(1);
        assert.deepEqual(watch.summary(), [`ADDED ${textAt(object, 'metadata', 'name')}`]);
      }
    },
  ],
  [
    'with a selector, an object that starts to match is ADDED, and one that stops matching is DELETED with its last matching state',
    async (scene) => {
      const { path, object } = await scene.configMap({}, { labels: { tier: 'a' } });
      const version = await now(scene);
      const a = await scene.watch(own(scene, `,tier%3Da&resourceVersion=${version}`));
      const b = await scene.watch(own(scene, `,tier%3Db&resourceVersion=${version}`));
      const moved = await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { metadata: { labels: { tier: 'b' } } } });
      const [gone] = await a.until(1);
      const [come] = await b.until(1);
      const name = textAt(object, 'metadata', 'name');
      assert.deepEqual([a.summary(), b.summary()], [[`DELETED ${name}`], [`ADDED ${name}`]]);
      assert.equal(textAt(gone?.object, 'metadata', 'labels', 'tier'), 'a');
      assert.deepEqual([versionOf(gone?.object), versionOf(come?.object)], [versionOf(moved), versionOf(moved)]);
    },
  ],
  [
    'a watch of a node’s pods reports a pod when it is bound to the node',
    async (scene) => {
      const node = scene.name();
      const { path, name, object } = await scene.pod();
      const query = `?fieldSelector=spec.nodeName%3D${node}&resourceVersion=${versionOf(object)}`;
      const watch = await scene.watch(`/api/v1/pods${query}`);
      const target = { kind: 'Node', name: node };
      await scene.ok('POST', `${path}/binding`, { body: { metadata: { name }, target } });
      const [heard] = await watch.until(1);
      assert.deepEqual(watch.summary(), [`ADDED ${name}`]);
      assert.equal(textAt(heard?.object, 'spec', 'nodeName'), node);
    },
  ],
  [
    'a pod on a node is MODIFIED when its deletion starts and DELETED when it is removed',
    async (scene) => {
      const { path, name, object } = await scene.pod({ nodeName: 'some-node' });
      const watch = await scene.watch(own(scene, `&resourceVersion=${versionOf(object)}`, 'pods'));
      await scene.ok('DELETE', path);
      await scene.ok('PATCH', `${path}/status`, { type: STRATEGIC_MERGE, body: { status: { phase: 'Failed' } } });
      await scene.ok('DELETE', path, { body: { gracePeriodSeconds: 0 } });
      const deleted = await watch.until(1, (event) => event.type === 'DELETED');
      assert.equal(at(deleted[0]?.object, 'metadata', 'deletionGracePeriodSeconds'), 0);
      const told = watch.heard.map((event) => event.type);
      assert.deepEqual([told[0], told.at(-1)], ['MODIFIED', 'DELETED']);
      assert.equal(at(watch.heard[0]?.object, 'metadata', 'deletionGracePeriodSeconds'), 30);
      assert.equal(textAt(watch.heard[0]?.object, 'metadata', 'name'), name);
    },
  ],
  [
    'a watch of a single name reports this object only',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const name = textAt(object, 'metadata', 'name');
      const selected = `${scene.path('configmaps')}?fieldSelector=metadata.name%3D${name}`;
      const watch = await scene.watch(`${selected}&resourceVersion=${versionOf(object)}`);
      await scene.configMap();
      await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { data: { a: '2' } } });
      await watch.until(1);
      assert.deepEqual(watch.summary(), [`MODIFIED ${name}`]);
    },
  ],
  [
    'a watch request for the path of a single object only reads the object',
    async (scene) => {
      const { path, object } = await scene.configMap();
      assert.deepEqual(await scene.ok('GET', `${path}?watch=true`), object);
    },
  ],
  [
    'a streamed list sends the existing objects, then a bookmark that marks their end, then changes',
    async (scene) => {
      const { object } = await scene.configMap();
      const query = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const watch = await scene.watch(own(scene, query));
      const [bookmark] = await watch.until(1, ({ type }) => type === 'BOOKMARK' || type === 'ERROR');
      const problem = textAt(bookmark?.object, 'message');
      if (problem.includes('required storage feature')) return scene.skip(problem);
      assert.equal(textAt(bookmark?.object, 'metadata', 'annotations', 'k8s.io/initial-events-end'), 'true');
      assert.deepEqual([bookmark?.object.kind, has(bookmark?.object, 'data')], ['ConfigMap', false]);
      assert.ok(Number(versionOf(bookmark?.object)) >= Number(versionOf(object)));
      const name = textAt(object, 'metadata', 'name');
      assert.deepEqual(watch.summary(), [`ADDED ${name}`, 'BOOKMARK']);
      const { path } = await scene.configMap();
      await watch.until(3);
      assert.equal(watch.summary()[2], `ADDED ${path.split('/').at(-1)}`);
    },
  ],
  [
    'a watch from 0 that allows bookmarks is a streamed list',
    async (scene) => {
      const { object } = await scene.configMap();
      const watch = await scene.watch(own(scene, '&resourceVersion=0&allowWatchBookmarks=true'));
      const [bookmark] = await watch.until(1, ({ type }) => type === 'BOOKMARK' || type === 'ERROR');
      const problem = textAt(bookmark?.object, 'message');
      if (problem.includes('required storage feature')) return scene.skip(problem);
      assert.equal(textAt(bookmark?.object, 'metadata', 'annotations', 'k8s.io/initial-events-end'), 'true');
      assert.deepEqual(watch.summary(), [`ADDED ${textAt(object, 'metadata', 'name')}`, 'BOOKMARK']);
    },
  ],
  [
    'a watch that does not allow bookmarks gets none, and one with initial events ends at its timeout',
    async (scene) => {
      await scene.configMap();
      const watch = await scene.watch(own(scene, '&resourceVersion=0&timeoutSeconds=1'));
      await watch.untilEnd();
      assert.deepEqual(
        watch.heard.map((event) => event.type),
        ['ADDED'],
      );
    },
  ],
  [
    'a watch that allows bookmarks gets one before its timeout, with a version from which to resume',
    async (scene) => {
      const version = await now(scene);
      const watch = await scene.watch(
        own(scene, `&resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=4`),
      );
      await scene.configMap();
      const [bookmark] = await watch.until(1, (event) => event.type === 'BOOKMARK');
      assert.equal(has(bookmark?.object, 'metadata', 'annotations'), false);
      assert.ok(Number(versionOf(bookmark?.object)) >= Number(version));
      await watch.untilEnd();
    },
  ],
  [
    'a watch from an expired version gets an ERROR with 410 and ends',
    async (scene) => {
      if (scene.options.compact === undefined) return scene.skip('this server cannot be compacted');
      await scene.configMap();
      await scene.options.compact();
      const watch = await scene.watch(own(scene, '&resourceVersion=1'));
      const [event] = await watch.until(1);
      assert.equal(event?.type, 'ERROR');
      assert.deepEqual([event.object.kind, event.object.code, event.object.reason], ['Status', 410, 'Expired']);
      assert.match(String(event.object.message), /too old/);
      await watch.untilEnd();
    },
  ],
];
