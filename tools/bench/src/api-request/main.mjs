// Compares the CPU cost of a request to the API server: kube-client with TLS, credentials, deadline, rate limit and
// metrics, and a client of plain node:http2 with the same headers and bodies. Both clients convert the bodies to and
// from JSON. The server runs in a separate process, so its CPU time is not counted. Usage: node
// --conditions=@node-agent/source [V8 flags] tools/bench/src/api-request/main.mjs [ROUNDS [PARALLEL]] ROUNDS rounds of
// each client, in turn. Default: 5 PARALLEL requests in progress at a time. Default: 4 The kubelet's flags are
// --max-semi-space-size=4 --no-maglev --no-turbofan.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { KubeClients, resources } from '../../../../packages/kube-client/src/index.ts';
import { Pki } from '../../../../packages/kube-client/test/pki.ts';
import { MetricsRegistry } from '../../../../packages/telemetry/src/index.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const PARALLEL = Number(process.argv[3] ?? 4);
const REQUESTS = 400;
/**
 * Number of requests of each kind before the first round. The requests warm up the code that all kinds share, which V8
 * compiles step by step.
 */
const WARM_UP = 1_000;

const pod = podWithStatus();
const answer = JSON.stringify(pod);
const patch = { metadata: { uid: pod.metadata.uid }, status: pod.status };
const event = podEvent();
await using pki = await Pki.create();
const { server, port } = await startServer();
try {
  const url = `https://127.0.0.1:${port}`;
  await using clients = new KubeClients(
    { environment: {}, metrics: new MetricsRegistry() },
    { connection: await connectionTo(url), requests: { qps: 1e9, burst: 1e6 }, userAgent: 'kubelet/v1.36.3' },
  );
  const { requests: client } = clients;
  await using raw = await rawClient(url);
  const path = '/api/v1/namespaces/default';
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node';
  await measure({
    'PATCH of a pod status': [
      () =>
        client.patch(
          resources.pods,
          { type: 'strategic', body: patch },
          { name: 'web', namespace: 'default', subresource: 'status' },
        ),
      () => raw.send('PATCH', `${path}/pods/web/status`, 'application/strategic-merge-patch+json', patch),
    ],
    'POST of an event': [
      () => client.create(resources.coreEvents, event),
      () => raw.send('POST', `${path}/events`, 'application/json', event),
    ],
    'GET of a lease': [
      () => client.get(resources.leases, { name: 'node', namespace: 'kube-node-lease' }),
      () => raw.send('GET', lease),
    ],
  });
} finally {
  server.kill();
}

async function measure(kinds) {
  console.log(`request (${answer.length} bytes of response)     kube-client  node:http2   [µs of CPU, medians]`);
  for (const request of Object.values(kinds).flat()) await run(request, WARM_UP);
  for (const [name, [own, bare]] of Object.entries(kinds)) {
    const costs = { own: [], bare: [] };
    for (let round = 0; round < ROUNDS; round++) {
      costs.own.push(await cost(own));
      costs.bare.push(await cost(bare));
    }
    const numbers = [costs.own, costs.bare].map((each) => median(each).toFixed(0).padStart(12)).join('');
    const ratio = median(costs.own.map((each, round) => each / costs.bare[round]));
    console.log(`${name.padEnd(38)}${numbers}   ratio ${ratio.toFixed(2)}`);
  }
}

async function cost(request) {
  const before = process.cpuUsage();
  await run(request, REQUESTS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / REQUESTS;
}

async function run(request, count) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await request();
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/**
 * Returns the minimal client for comparison: it sends only the headers that a request needs, without deadline, rate
 * limit or metrics.
 */
async function rawClient(url) {
  const { cert, key } = await pki.issue('raw');
  const session = connect(url, { ca: pki.ca, cert, key });
  await once(session, 'connect');
  return {
    send: (method, path, type, body) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const stream = session.request({
          ':method': method,
          ':path': path,
          accept: 'application/json',
          'user-agent': 'kubelet/v1.36.3',
          ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
        });
        const chunks = [];
        stream.on('data', (chunk) => chunks.push(chunk));
        stream.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
        stream.on('error', reject);
        stream.end(text);
      }),
    [Symbol.asyncDispose]: async () => session.destroy(),
  };
}

async function startServer() {
  const { cert, key } = await pki.issue('server');
  // The server does not inherit this process's V8 flags, so that it responds as fast as possible.
  const server = fork(fileURLToPath(new URL('server.mjs', import.meta.url)), { execArgv: [] });
  server.send({ cert, key, answer });
  const [port] = await once(server, 'message');
  return { server, port };
}

async function connectionTo(url) {
  const { cert, key } = await pki.issue('system:node:node');
  return {
    cluster: { server: url, ca: { data: pki.ca } },
    user: { clientCertificate: { cert: { data: cert }, key: { data: key } } },
    namespace: 'default',
  };
}

/** Returns a running pod with two containers, as the API server returns it. */
function podWithStatus() {
  const names = ['web', 'proxy'];
  const time = '2026-11-23T10:00:00Z';
  const container = (name) => ({
    name,
    image: `registry.example/${name}:1.0`,
    args: ['--port=8080'],
    env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } }],
    resources: { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '100m', memory: '64Mi' } },
    volumeMounts: [{ name: 'token', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
  });
  const status = (name) => ({
    name,
    state: { running: { startedAt: time } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image: `registry.example/${name}:1.0`,
    imageID: `registry.example/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
    containerID: `containerd://${'fedcba9876543210'.repeat(4)}`,
    started: true,
  });
  const types = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: '0b0a7f0e-3c0f-4a57-9d6c-0d3a9f1f2c11',
      resourceVersion: '4711',
      creationTimestamp: time,
      labels: { app: 'web', 'pod-template-hash': '5d5f7c9b8' },
    },
    spec: {
      containers: names.map(container),
      nodeName: 'node',
      serviceAccountName: 'default',
      restartPolicy: 'Always',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
    },
    status: {
      phase: 'Running',
      conditions: types.map((type) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: time })),
      hostIP: '192.0.2.1',
      podIP: '10.0.0.7',
      podIPs: [{ ip: '10.0.0.7' }],
      startTime: time,
      containerStatuses: names.map(status),
      qosClass: 'Burstable',
    },
  };
}

function podEvent() {
  const { name, namespace, uid, resourceVersion } = pod.metadata;
  return {
    metadata: { name: `${name}.187f6a0b1c2d3e4f`, namespace },
    involvedObject: {
      kind: 'Pod',
      namespace,
      name,
      uid,
      apiVersion: 'v1',
      resourceVersion,
      fieldPath: 'spec.containers{web}',
    },
    reason: 'Started',
    message: 'Container started',
    source: { component: 'kubelet', host: 'node' },
    firstTimestamp: '2026-11-23T10:00:00Z',
    lastTimestamp: '2026-11-23T10:00:00Z',
    count: 1,
    type: 'Normal',
    reportingComponent: 'kubelet',
    reportingInstance: 'node',
  };
}
