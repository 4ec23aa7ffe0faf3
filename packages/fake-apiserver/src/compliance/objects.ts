import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../core/json.ts';
import { causesOf, type Examination, has, MERGE_PATCH, versionOf } from './scene.ts';

/** Compliance cases about creating, reading and replacing objects. */
export const objectExaminations: readonly Examination[] = [
  [
    'a created object gets a UID, a creation time, a resource version and its namespace',
    async (scene) => {
      const { object, path } = await scene.configMap();
      assert.match(textAt(object, 'metadata', 'uid'), /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
      assert.match(textAt(object, 'metadata', 'creationTimestamp'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.match(versionOf(object), /^[1-9]\d*$/);
      assert.equal(textAt(object, 'metadata', 'namespace'), scene.namespace);
      assert.deepEqual([object.kind, object.apiVersion], ['ConfigMap', 'v1']);
      assert.deepEqual(await scene.ok('GET', path), object);
    },
  ],
  [
    'creating a second object of the same name is rejected with AlreadyExists',
    async (scene) => {
      const { object } = await scene.configMap();
      const name = textAt(object, 'metadata', 'name');
      const status = await scene.refused(409, 'AlreadyExists', 'POST', scene.path('configmaps'), {
        body: { metadata: { name } },
      });
      assert.equal(status.message, `configmaps "${name}" already exists`);
      assert.deepEqual(status.details, { name, kind: 'configmaps' });
    },
  ],
  [
    'generateName gives distinct names of the prefix and five characters',
    async (scene) => {
      const body = { metadata: { generateName: `${scene.id}-` } };
      const names = new Set<string>();
      for (let i = 0; i < 3; i++) {
        const made = await scene.create(scene.path('configmaps'), body);
        names.add(textAt(made, 'metadata', 'name'));
      }
      assert.equal(names.size, 3);
      for (const name of names) assert.match(name.slice(scene.id.length), /^-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    },
  ],
  [
    'creating an object without a name or with a malformed name is invalid',
    async (scene) => {
      const unnamed = await scene.refused(422, 'Invalid', 'POST', scene.path('configmaps'), { body: { metadata: {} } });
      assert.match(String(unnamed.message), /metadata\.name: Required value: name or generateName is required/);
      assert.ok(causesOf(unnamed).includes('FieldValueRequired metadata.name'));
      const misnamed = await scene.refused(422, 'Invalid', 'POST', scene.path('configmaps'), {
        body: { metadata: { name: 'Not_A_Name' } },
      });
      assert.ok(causesOf(misnamed).includes('FieldValueInvalid metadata.name'));
      assert.deepEqual(
        [textAt(misnamed, 'details', 'kind'), textAt(misnamed, 'details', 'name')],
        ['ConfigMap', 'Not_A_Name'],
      );
    },
  ],
  [
    'creating an object whose namespace differs from the path’s is rejected',
    async (scene) => {
      const body = { metadata: { name: scene.name(), namespace: 'kube-system' } };
      const status = await scene.refused(400, 'BadRequest', 'POST', scene.path('configmaps'), { body });
      assert.equal(
        status.message,
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    },
  ],
  [
    'creating an object in a namespace that does not exist is rejected',
    async (scene) => {
      const path = `/api/v1/namespaces/${scene.name()}/configmaps`;
      const status = await scene.refused(404, 'NotFound', 'POST', path, { body: { metadata: { name: 'a' } } });
      assert.match(String(status.message), /^namespaces ".*" not found$/);
    },
  ],
  [
    'reading an object that does not exist returns NotFound with its kind and name',
    async (scene) => {
      const name = scene.name();
      const status = await scene.refused(404, 'NotFound', 'GET', scene.path('pods', name));
      assert.equal(status.message, `pods "${name}" not found`);
      assert.deepEqual(status.details, { name, kind: 'pods' });
      const lease = `/apis/coordination.k8s.io/v1/namespaces/${scene.namespace}/leases/${name}`;
      const grouped = await scene.refused(404, 'NotFound', 'GET', lease);
      assert.equal(grouped.message, `leases.coordination.k8s.io "${name}" not found`);
      assert.deepEqual(grouped.details, { name, group: 'coordination.k8s.io', kind: 'leases' });
    },
  ],
  [
    'replacing an object gives a new resource version and keeps the UID and the creation time',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const replaced = await scene.ok('PUT', path, { body: { ...object, data: { b: '2' } } });
      assert.deepEqual(replaced.data, { b: '2' });
      assert.notEqual(versionOf(replaced), versionOf(object));
      for (const field of ['uid', 'creationTimestamp']) {
        assert.equal(textAt(replaced, 'metadata', field), textAt(object, 'metadata', field));
      }
    },
  ],
  [
    'replacing an object without a change keeps its resource version',
    async (scene) => {
      const { path, object } = await scene.configMap();
      assert.equal(versionOf(await scene.ok('PUT', path, { body: object })), versionOf(object));
    },
  ],
  [
    'replacing an object with an old resource version is a conflict',
    async (scene) => {
      const { path, object } = await scene.configMap();
      await scene.ok('PUT', path, { body: { ...object, data: { b: '2' } } });
      const status = await scene.refused(409, 'Conflict', 'PUT', path, { body: { ...object, data: { c: '3' } } });
      const name = textAt(object, 'metadata', 'name');
      assert.equal(
        status.message,
        `Operation cannot be fulfilled on configmaps "${name}": the object has been modified; please apply your changes to the latest version and try again`,
      );
      assert.deepEqual(status.details, { name, kind: 'configmaps' });
    },
  ],
  [
    'replacing without a resource version succeeds if the kind allows it and is invalid for a lease',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const name = textAt(object, 'metadata', 'name');
      await scene.ok('PUT', path, { body: { metadata: { name }, data: { c: '3' } } });
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${scene.namespace}/leases`;
      await scene.create(leases, { metadata: { name } });
      const status = await scene.refused(422, 'Invalid', 'PUT', `${leases}/${name}`, { body: { metadata: { name } } });
      assert.ok(causesOf(status).includes('FieldValueInvalid metadata.resourceVersion'));
    },
  ],
  [
    'replacing an object with another UID is a conflict',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const body = { ...object, metadata: { ...objectAt(object, 'metadata'), uid: 'another' } };
      const status = await scene.refused(409, 'Conflict', 'PUT', path, { body });
      assert.match(String(status.message), /Precondition failed: UID in precondition: another, UID in object meta: /);
    },
  ],
  [
    'replacing an object requires the name in the body to equal the name in the path',
    async (scene) => {
      const { path, object } = await scene.configMap();
      const body = { ...object, metadata: { ...objectAt(object, 'metadata'), name: 'other' } };
      const status = await scene.refused(400, 'BadRequest', 'PUT', path, { body });
      const name = textAt(object, 'metadata', 'name');
      assert.equal(status.message, `the name of the object (other) does not match the name on the URL (${name})`);
    },
  ],
  [
    'PUT creates a missing lease but not a missing pod',
    async (scene) => {
      const name = scene.name();
      const lease = `/apis/coordination.k8s.io/v1/namespaces/${scene.namespace}/leases/${name}`;
      const made = await scene.send('PUT', lease, { body: { metadata: { name }, spec: { holderIdentity: 'a' } } });
      scene.remember(lease);
      assert.equal(made.status, 201, made.text);
      await scene.refused(404, 'NotFound', 'PUT', scene.path('pods', name), { body: scene.podBody(name) });
    },
  ],
  [
    'a created pod gets defaults, a phase, a QoS class and generation 1',
    async (scene) => {
      const { object } = await scene.pod({ schedulerName: undefined });
      const spec = objectAt(object, 'spec');
      assert.deepEqual(
        [spec.restartPolicy, spec.dnsPolicy, spec.terminationGracePeriodSeconds, spec.schedulerName],
        ['Always', 'ClusterFirst', 30, 'default-scheduler'],
      );
      assert.deepEqual([spec.serviceAccountName, spec.priority, spec.enableServiceLinks], ['default', 0, true]);
      const [container] = listAt(spec, 'containers');
      assert.deepEqual(
        [textAt(container, 'imagePullPolicy'), textAt(container, 'terminationMessagePath')],
        ['Always', '/dev/termination-log'],
      );
      assert.deepEqual(object.status, { phase: 'Pending', qosClass: 'BestEffort' });
      assert.equal(at(object, 'metadata', 'generation'), 1);
    },
  ],
  [
    'an invalid pod is rejected with every invalid field',
    async (scene) => {
      const body = scene.podBody(scene.name(), { containers: [{ name: 'A_', image: '' }], restartPolicy: 'Sometimes' });
      const status = await scene.refused(422, 'Invalid', 'POST', scene.path('pods'), { body });
      const causes = causesOf(status);
      for (const cause of [
        'FieldValueInvalid spec.containers[0].name',
        'FieldValueRequired spec.containers[0].image',
        'FieldValueNotSupported spec.restartPolicy',
      ]) {
        assert.ok(causes.includes(cause), `${cause} in ${causes.join('; ')}`);
      }
      assert.equal(textAt(status, 'details', 'kind'), 'Pod');
    },
  ],
  [
    'a field of a wrong type is a bad request, and an unknown field is one only with fieldValidation=Strict',
    async (scene) => {
      const wrong = scene.podBody(scene.name(), { containers: 'none' });
      await scene.refused(400, 'BadRequest', 'POST', scene.path('pods'), { body: wrong });
      const name = scene.name();
      const unknown = scene.podBody(name, { surprise: true });
      const strict = await scene.refused(400, 'BadRequest', 'POST', `${scene.path('pods')}?fieldValidation=Strict`, {
        body: unknown,
      });
      assert.match(String(strict.message), /strict decoding error: unknown field "spec\.surprise"/);
      const made = await scene.send('POST', scene.path('pods'), { body: unknown });
      scene.remember(scene.path('pods', name));
      assert.equal(made.status, 201, made.text);
      assert.match(made.headers.warning ?? '', /299 .*unknown field/);
    },
  ],
  [
    'a pod’s spec is immutable except for a few fields, and a new image increments the generation',
    async (scene) => {
      const { path } = await scene.pod();
      const image = { spec: { containers: [{ name: 'main', image: 'busybox:2' }] } };
      const changed = await scene.ok('PATCH', path, { type: 'application/strategic-merge-patch+json', body: image });
      assert.equal(at(changed, 'metadata', 'generation'), 2);
      const status = await scene.refused(422, 'Invalid', 'PATCH', path, {
        type: MERGE_PATCH,
        body: { spec: { hostname: 'other' } },
      });
      assert.deepEqual(causesOf(status), ['FieldValueForbidden spec']);
      assert.match(String(status.message), /pod updates may not change fields other than/);
    },
  ],
  [
    'a change of labels keeps the generation and the spec',
    async (scene) => {
      const { path } = await scene.pod();
      const changed = await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { metadata: { labels: { a: 'b' } } } });
      assert.equal(at(changed, 'metadata', 'generation'), 1);
      assert.equal(textAt(changed, 'metadata', 'labels', 'a'), 'b');
    },
  ],
  [
    'a dry run changes nothing',
    async (scene) => {
      const name = scene.name();
      await scene.ok('POST', `${scene.path('configmaps')}?dryRun=All`, { body: { metadata: { name } } });
      await scene.refused(404, 'NotFound', 'GET', scene.path('configmaps', name));
      const { path } = await scene.configMap();
      await scene.ok('PATCH', `${path}?dryRun=All`, { type: MERGE_PATCH, body: { data: { a: 'other' } } });
      await scene.ok('DELETE', `${path}?dryRun=All`);
      assert.deepEqual((await scene.ok('GET', path)).data, { a: '1' });
    },
  ],
  [
    'the status changes only by its subresource, and the subresource does not change the spec',
    async (scene) => {
      const { path, object } = await scene.pod();
      const both = { ...object, metadata: { name: textAt(object, 'metadata', 'name'), labels: { x: 'y' } } };
      const withStatus = { ...both, status: { phase: 'Running', qosClass: 'BestEffort' } };
      const main = await scene.ok('PUT', path, { body: withStatus });
      assert.equal(textAt(main, 'status', 'phase'), 'Pending');
      const spec = { ...objectAt(object, 'spec'), hostname: 'ignored' };
      const part = await scene.ok('PUT', `${path}/status`, { body: { ...withStatus, spec } });
      assert.equal(textAt(part, 'status', 'phase'), 'Running');
      assert.equal(has(part, 'spec', 'hostname'), false);
      assert.equal(at(part, 'metadata', 'generation'), 1);
    },
  ],
  [
    'an immutable config map cannot be changed',
    async (scene) => {
      const name = scene.name();
      const path = scene.path('configmaps', name);
      await scene.create(scene.path('configmaps'), { metadata: { name }, data: { a: '1' }, immutable: true });
      const status = await scene.refused(422, 'Invalid', 'PATCH', path, {
        type: MERGE_PATCH,
        body: { data: { a: '2' } },
      });
      assert.ok(causesOf(status).includes('FieldValueForbidden data'));
    },
  ],
];
