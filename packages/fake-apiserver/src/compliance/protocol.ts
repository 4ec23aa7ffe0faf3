import assert from 'node:assert/strict';
import { listAt, textAt } from '../core/json.ts';
import { type Examination, MERGE_PATCH } from './scene.ts';

/** Compliance cases about the HTTP protocol and about paths that are not resources. */
export const protocolExaminations: readonly Examination[] = [
  [
    'the health checks succeed, and /version reports a version',
    async (scene) => {
      for (const path of ['/healthz', '/readyz', '/livez']) {
        const { status, text } = await scene.send('GET', path);
        assert.deepEqual([status, text], [200, 'ok']);
      }
      const version = await scene.ok('GET', '/version');
      assert.match(textAt(version, 'gitVersion'), /^v\d+\.\d+\.\d+/);
    },
  ],
  [
    'discovery lists the served groups and resources',
    async (scene) => {
      assert.deepEqual(listAt(await scene.ok('GET', '/api'), 'versions'), ['v1']);
      const groups = listAt(await scene.ok('GET', '/apis'), 'groups').map((group) => textAt(group, 'name'));
      for (const group of ['coordination.k8s.io', 'events.k8s.io', 'certificates.k8s.io', 'storage.k8s.io']) {
        assert.ok(groups.includes(group), group);
      }
      const resources = listAt(await scene.ok('GET', '/api/v1'), 'resources');
      const pods = resources.find((one) => textAt(one, 'name') === 'pods');
      assert.equal(textAt(pods, 'kind'), 'Pod');
      const names = resources.map((one) => textAt(one, 'name'));
      for (const name of ['pods/status', 'pods/binding', 'serviceaccounts/token', 'nodes/status']) {
        assert.ok(names.includes(name), name);
      }
    },
  ],
  [
    'an unknown resource returns 404 and an unsupported method 405',
    async (scene) => {
      assert.equal((await scene.send('GET', '/api/v1/unicorns')).status, 404);
      assert.equal((await scene.send('GET', '/apis/example.com/v1/unicorns')).status, 404);
      assert.equal((await scene.send('PUT', scene.path('configmaps'), { body: {} })).status, 405);
      assert.equal((await scene.send('PATCH', scene.path('configmaps'), { type: MERGE_PATCH, body: {} })).status, 405);
    },
  ],
  [
    'an unsupported Accept returns 406 and an unsupported Content-Type 415',
    async (scene) => {
      await scene.refused(406, 'NotAcceptable', 'GET', scene.path('configmaps'), { accept: 'text/html' });
      const body = { metadata: { name: scene.name() } };
      await scene.refused(415, 'UnsupportedMediaType', 'POST', scene.path('configmaps'), { type: 'text/plain', body });
    },
  ],
  [
    'a body that is not JSON, and a body of another kind or version, are bad requests',
    async (scene) => {
      const path = scene.path('configmaps');
      await scene.refused(400, 'BadRequest', 'POST', path, { body: '{"metadata":' });
      await scene.refused(400, 'BadRequest', 'POST', path, {
        body: { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } },
      });
      await scene.refused(400, 'BadRequest', 'POST', path, {
        body: { kind: 'ConfigMap', apiVersion: 'v9', metadata: { name: 'a' } },
      });
    },
  ],
  [
    'a body can be YAML',
    async (scene) => {
      const name = scene.name();
      const body = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n`;
      const made = await scene.ok('POST', scene.path('configmaps'), { type: 'application/yaml', body });
      scene.remember(scene.path('configmaps', name));
      assert.deepEqual(made.data, { a: '1' });
    },
  ],
  [
    'objects can be requested as a Table or as PartialObjectMetadata',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const name = textAt(object, 'metadata', 'name');
      const table = await scene.ok('GET', path, {
        accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
      });
      assert.deepEqual([table.kind, table.apiVersion], ['Table', 'meta.k8s.io/v1']);
      assert.equal(listAt(listAt(table, 'rows')[0], 'cells')[0], name);
      assert.equal(textAt(listAt(table, 'columnDefinitions')[0], 'name'), 'Name');
      const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
      const partial = await scene.ok('GET', path, { accept });
      assert.deepEqual(
        [partial.kind, partial.data, textAt(partial, 'metadata', 'name')],
        ['PartialObjectMetadata', undefined, name],
      );
    },
  ],
];
