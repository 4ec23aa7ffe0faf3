import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../core/json.ts';
import { causesOf, type Examination, has, MERGE_PATCH, namesOf, type Scene, STRATEGIC_MERGE } from './scene.ts';

// Certificate request with O=system:nodes and CN=system:node:compliance. The private key of the request was discarded.
const CSR_PEM = `-----BEGIN CERTIFICATE REQUEST-----
MIHzMIGaAgEAMDgxFTATBgNVBAoMDHN5c3RlbTpub2RlczEfMB0GA1UEAwwWc3lz
dGVtOm5vZGU6Y29tcGxpYW5jZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLA9
ZqbxdaECkgFBMKLpxOFk3Tx40OxDxCA679XWM/gM7/0eV4K9JQtLASRuSSinttqe
Tt4v8lDv0IqjYZf0ngKgADAKBggqhkjOPQQDAgNIADBFAiBzfg9B8TV2mXSRG2Fz
H2tTC8kTstR47UiNB2CaVDlDFQIhAIUhJHOt9n0WMM8iBcDt/+3JfM/zLNtdqh7c
Wmev2L2z
-----END CERTIFICATE REQUEST-----
`;

function involved(scene: Scene): Record<string, string> {
  return { kind: 'Pod', name: scene.name(), namespace: scene.namespace, apiVersion: 'v1', uid: 'some-uid' };
}

/** Compliance cases about the kinds other than pods that a node uses. */
export const kindExaminations: readonly Examination[] = [
  [
    'a lease can be renewed only with its latest resource version',
    async (scene) => {
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${scene.namespace}/leases`;
      const name = scene.name();
      const spec = { holderIdentity: 'n', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.123456Z' };
      const lease = await scene.create(leases, { metadata: { name }, spec });
      assert.deepEqual(lease.spec, spec);
      const renewed = { ...lease, spec: { ...spec, renewTime: '2026-01-01T00:00:10.000001Z' } };
      const after = await scene.ok('PUT', `${leases}/${name}`, { body: renewed });
      assert.equal(textAt(after, 'spec', 'renewTime'), '2026-01-01T00:00:10.000001Z');
      await scene.refused(409, 'Conflict', 'PUT', `${leases}/${name}`, { body: renewed });
      const wrong = await scene.refused(422, 'Invalid', 'PUT', `${leases}/${name}`, {
        body: { ...after, spec: { ...spec, leaseDurationSeconds: 0 } },
      });
      assert.ok(causesOf(wrong).includes('FieldValueInvalid spec.leaseDurationSeconds'));
    },
  ],
  [
    'an event of v1 can be counted up by a patch and appears in events.k8s.io with that group’s field names',
    async (scene) => {
      const name = scene.name();
      const involvedObject = involved(scene);
      const event = {
        reason: 'Started',
        message: 'It began',
        type: 'Normal',
        count: 1,
        source: { component: 'kubelet' },
      };
      const times = { firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z' };
      await scene.create(scene.path('events'), { metadata: { name }, involvedObject, ...event, ...times });
      const body = { count: 2, lastTimestamp: '2026-01-01T00:00:05Z' };
      const counted = await scene.ok('PATCH', scene.path('events', name), { type: STRATEGIC_MERGE, body });
      assert.equal(counted.count, 2);
      const other = await scene.ok('GET', `/apis/events.k8s.io/v1/namespaces/${scene.namespace}/events/${name}`);
      assert.equal(other.apiVersion, 'events.k8s.io/v1');
      assert.deepEqual([other.note, other.deprecatedCount], ['It began', 2]);
      assert.deepEqual(other.regarding, involvedObject);
    },
  ],
  [
    'events can be selected by the object they are about',
    async (scene) => {
      const name = scene.name();
      const involvedObject = involved(scene);
      await scene.create(scene.path('events'), { metadata: { name }, involvedObject, reason: 'A', type: 'Warning' });
      const find = async (selector: string): Promise<string[]> =>
        namesOf(await scene.ok('GET', `${scene.path('events')}?fieldSelector=${encodeURIComponent(selector)}`));
      const about = `involvedObject.name=${involvedObject.name}`;
      assert.deepEqual(await find(`${about},reason=A,type=Warning`), [name]);
      assert.deepEqual(await find(`${about},reason!=A`), []);
    },
  ],
  [
    'an event of events.k8s.io requires a time, an action and a reporting controller',
    async (scene) => {
      const events = `/apis/events.k8s.io/v1/namespaces/${scene.namespace}/events`;
      const name = scene.name();
      const regarding = involved(scene);
      const bad = await scene.refused(422, 'Invalid', 'POST', events, { body: { metadata: { name }, regarding } });
      assert.ok(causesOf(bad).includes('FieldValueRequired eventTime'), causesOf(bad).join('; '));
      const whole = {
        eventTime: '2026-01-01T00:00:00.000001Z',
        reportingController: 'example.com/kubelet',
        reportingInstance: 'n',
        action: 'Starting',
        reason: 'Started',
        note: 'It began',
        type: 'Normal',
      };
      await scene.create(events, { metadata: { name }, regarding, ...whole });
      const stored = await scene.ok('GET', scene.path('events', name));
      assert.deepEqual([stored.message, stored.reportingComponent], ['It began', 'example.com/kubelet']);
    },
  ],
  [
    'an event about a pod in another namespace is invalid',
    async (scene) => {
      const involvedObject = { ...involved(scene), namespace: 'elsewhere' };
      const status = await scene.refused(422, 'Invalid', 'POST', scene.path('events'), {
        body: { metadata: { name: scene.name() }, involvedObject },
      });
      assert.deepEqual(causesOf(status), ['FieldValueInvalid involvedObject.namespace']);
    },
  ],
  [
    'a node’s status subresource changes status and labels but not the spec',
    async (scene) => {
      const { path } = await scene.node();
      const body = {
        metadata: { annotations: { 'example.com/a': 'b' } },
        spec: { unschedulable: true },
        status: { capacity: { cpu: '4', memory: '8Gi' } },
      };
      const changed = await scene.ok('PATCH', `${path}/status`, { type: STRATEGIC_MERGE, body });
      assert.equal(has(changed, 'spec', 'unschedulable'), false);
      assert.deepEqual(at(changed, 'status', 'allocatable'), { cpu: '4', memory: '8Gi' });
      assert.equal(textAt(changed, 'metadata', 'annotations', 'example.com/a'), 'b');
      const cordoned = await scene.ok('PATCH', path, { type: MERGE_PATCH, body: { spec: { unschedulable: true } } });
      assert.deepEqual(cordoned.status, changed.status);
      const query = `?labelSelector=case%3D${scene.id}&fieldSelector=spec.unschedulable%3Dtrue`;
      assert.equal(namesOf(await scene.ok('GET', `/api/v1/nodes${query}`)).length, 1);
    },
  ],
  [
    'a pod can be bound once, and only with its UID',
    async (scene) => {
      const { path, name, object } = await scene.pod();
      const bind = (node: string, uid: string): { body: object } => ({
        body: { metadata: { name, uid }, target: { kind: 'Node', name: node } },
      });
      await scene.refused(409, 'Conflict', 'POST', `${path}/binding`, bind('n', 'another'));
      const uid = textAt(object, 'metadata', 'uid');
      const done = await scene.ok('POST', `${path}/binding`, bind('n', uid));
      assert.deepEqual([done.kind, done.status], ['Status', 'Success']);
      const bound = await scene.ok('GET', path);
      assert.equal(textAt(bound, 'spec', 'nodeName'), 'n');
      const [condition] = listAt(bound, 'status', 'conditions');
      assert.deepEqual([textAt(condition, 'type'), textAt(condition, 'status')], ['PodScheduled', 'True']);
      const again = await scene.refused(409, 'Conflict', 'POST', `${path}/binding`, bind('m', uid));
      assert.match(String(again.message), /pod .* is already assigned to node "n"/);
    },
  ],
  [
    'a pod with scheduling gates has the condition PodScheduled=False',
    async (scene) => {
      const { object } = await scene.pod({ schedulingGates: [{ name: 'example.com/gate' }] });
      const [condition] = listAt(object, 'status', 'conditions');
      assert.deepEqual([textAt(condition, 'type'), textAt(condition, 'reason')], ['PodScheduled', 'SchedulingGated']);
    },
  ],
  [
    'an ephemeral container can be added only by its subresource',
    async (scene) => {
      const { path, object } = await scene.pod();
      const spec = { ...objectAt(object, 'spec'), ephemeralContainers: [{ name: 'debug', image: 'busybox' }] };
      const main = await scene.send('PUT', path, { body: { ...object, spec } });
      assert.ok(main.status === 422 || !has(main.body, 'spec', 'ephemeralContainers'), main.text);
      const changed = await scene.ok('PATCH', `${path}/ephemeralcontainers`, {
        type: STRATEGIC_MERGE,
        body: { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } },
      });
      assert.equal(listAt(changed, 'spec', 'ephemeralContainers').length, 1);
      assert.equal(at(changed, 'metadata', 'generation'), 2);
    },
  ],
  [
    'the resize subresource changes the resources of a container',
    async (scene) => {
      const resources = { requests: { cpu: '100m' } };
      const { path } = await scene.pod({ containers: [{ name: 'main', image: 'busybox', resources }] });
      const containers = [{ name: 'main', resources: { requests: { cpu: '200m' } } }];
      await scene.refused(422, 'Invalid', 'PATCH', path, { type: STRATEGIC_MERGE, body: { spec: { containers } } });
      const changed = await scene.ok('PATCH', `${path}/resize`, {
        type: STRATEGIC_MERGE,
        body: { spec: { containers } },
      });
      const [container] = listAt(changed, 'spec', 'containers');
      assert.equal(textAt(container, 'resources', 'requests', 'cpu'), '200m');
      assert.equal(at(changed, 'metadata', 'generation'), 2);
    },
  ],
  [
    'an eviction deletes a pod and records the reason in a condition',
    async (scene) => {
      const { path, name } = await scene.pod({ nodeName: 'some-node' });
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } };
      await scene.ok('POST', `${path}/eviction`, { body });
      const going = await scene.ok('GET', path);
      assert.ok(has(going, 'metadata', 'deletionTimestamp'));
      const types = listAt(going, 'status', 'conditions').map((one) => textAt(one, 'type'));
      assert.ok(types.includes('DisruptionTarget'), types.join());
    },
  ],
  [
    'a secret stores stringData as data and keeps its type',
    async (scene) => {
      const name = scene.name();
      const secret = await scene.create(scene.path('secrets'), { metadata: { name }, stringData: { a: 'text' } });
      assert.deepEqual([secret.data, secret.type, has(secret, 'stringData')], [{ a: 'dGV4dA==' }, 'Opaque', false]);
      const status = await scene.refused(422, 'Invalid', 'PATCH', scene.path('secrets', name), {
        type: MERGE_PATCH,
        body: { type: 'example.com/other' },
      });
      assert.ok(causesOf(status).includes('FieldValueInvalid type'));
    },
  ],
  [
    'a certificate signing request records its requester, and has approval and status subresources',
    async (scene) => {
      const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
      const name = scene.name();
      const bad = {
        request: Buffer.from('no').toString('base64'),
        signerName: 'example.com/s',
        usages: ['client auth'],
      };
      await scene.refused(422, 'Invalid', 'POST', csrs, { body: { metadata: { name }, spec: bad } });
      const spec = { ...bad, request: Buffer.from(CSR_PEM).toString('base64'), username: 'somebody-else' };
      const answer = await scene.send('POST', csrs, { body: { metadata: { name }, spec } });
      assert.equal(answer.status, 201, answer.text);
      scene.remember(`${csrs}/${name}`);
      assert.notEqual(textAt(answer.body, 'spec', 'username'), 'somebody-else');
      const approved = { type: 'Approved', status: 'True', reason: 'Test', message: 'yes' };
      const done = await scene.ok('PUT', `${csrs}/${name}/approval`, {
        body: { ...answer.body, status: { conditions: [approved], certificate: 'bm8=' } },
      });
      const [condition] = listAt(done, 'status', 'conditions');
      assert.equal(textAt(condition, 'type'), 'Approved');
      assert.ok(has(condition, 'lastTransitionTime'));
      assert.equal(has(done, 'status', 'certificate'), false);
    },
  ],
  [
    'a cluster-scoped object has no namespace',
    async (scene) => {
      const classes = '/apis/node.k8s.io/v1/runtimeclasses';
      const made = await scene.create(classes, { metadata: { name: scene.name() }, handler: 'runc' });
      assert.equal(has(made, 'metadata', 'namespace'), false);
      await scene.refused(404, 'NotFound', 'GET', `/apis/node.k8s.io/v1/namespaces/${scene.namespace}/runtimeclasses`);
      const drivers = '/apis/storage.k8s.io/v1/csidrivers';
      const driver = await scene.create(drivers, { metadata: { name: scene.name() }, spec: {} });
      assert.deepEqual(
        [at(driver, 'spec', 'attachRequired'), at(driver, 'spec', 'volumeLifecycleModes')],
        [true, ['Persistent']],
      );
    },
  ],
  [
    'an empty list of CSINode is null',
    async (scene) => {
      const drivers = [{ name: 'a.example.com', nodeID: 'id', topologyKeys: [] }];
      const nodes = '/apis/storage.k8s.io/v1/csinodes';
      const empty = await scene.create(nodes, { metadata: { name: scene.name() }, spec: { drivers: [] } });
      assert.equal(at(empty, 'spec', 'drivers'), null);
      const one = await scene.create(nodes, { metadata: { name: scene.name() }, spec: { drivers } });
      assert.deepEqual(at(one, 'spec', 'drivers'), [{ ...drivers[0], topologyKeys: null }]);
    },
  ],
];
