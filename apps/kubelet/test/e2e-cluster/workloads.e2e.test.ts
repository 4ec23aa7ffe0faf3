import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { script } from '../e2e/test-node.ts';
import { PODS, withCluster } from './clusters.ts';
import { PodRecorder } from './pod-recorder.ts';
import { allGone, allReady, createDeployment, expectOneContainerEach, FOREVER, scale } from './workloads.ts';

// The signer dates certificates back by 5 minutes: a certificate of 140 s is replaced between 8 and 96 s after it was
// signed.
const extraArguments = { 'kube-controller-manager': ['--cluster-signing-duration=140s'] };

await withCluster('a cluster of one node', { subnet: '10.199.64.0/24', extraArguments }, (cluster) => {
  let first: X509Certificate;

  test('a joined node is Ready in kubectl, with its version and its lease', async () => {
    const { plane } = cluster();
    expect(await plane.kubectl(['get', 'nodes', '--no-headers'])).toMatch(
      /^e2e +Ready +<none> +\S+ +v1\.36\.3\+node-agent/,
    );
    const lease = await cluster().until('the lease', () =>
      cluster().get<{ spec: { holderIdentity: string; leaseDurationSeconds: number } }>(
        '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/e2e',
      ),
    );
    expect(lease.spec).toMatchObject({ holderIdentity: 'e2e', leaseDurationSeconds: 40 });
  });

  test('a node that joined with a bootstrap token has its own certificate and acts as the node', async () => {
    const it = cluster();
    const file = join(it.certificates, 'kubelet-client-current.pem');
    first = new X509Certificate(await readFile(file));
    expect(first.subject.split('\n').sort()).toEqual(['CN=system:node:e2e', 'O=system:nodes']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await it.plane.kubectl(['get', 'csr', '--no-headers'])).toMatch(
      /kubernetes\.io\/kube-apiserver-client-kubelet +system:bootstrap:\w+ +\S+ +Approved,Issued/,
    );
    const as = `--kubeconfig=${join(it.directory, 'kubelet.kubeconfig')}`;
    expect(await it.plane.kubectl([as, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe(
      'system:node:e2e',
    );
  });

  test(`the real scheduler and controllers scale a deployment from 0 to ${PODS} and back`, async () => {
    const it = cluster();
    await createDeployment(it, 'web');
    const upMs = await it.timed(async () => {
      await scale(it, 'web', PODS);
      await expectOneContainerEach(it, 'web', await allReady(it, 'web', PODS));
    });
    const downMs = await it.timed(async () => {
      await scale(it, 'web', 0);
      await allGone(it, 'web');
    });
    console.log(`0 to ${PODS} pods ready in ${upMs} ms, and back to nothing in ${downMs} ms`);
  });

  test('a pod reaches the API server with its service account token', async () => {
    const it = cluster();
    const { kubectl } = it.programs;
    const spec = {
      restartPolicy: 'Never',
      volumes: [{ name: 'kubectl', hostPath: { path: kubectl, type: 'File' } }],
      containers: [
        script('c', '/kubectl auth whoami -o jsonpath={.status.userInfo}; echo; /kubectl get secrets; true', {
          volumeMounts: [{ name: 'kubectl', mountPath: '/kubectl' }],
        }),
      ],
    };
    await it.createPod('asks', spec);
    const pod = await it.podUntil('asks', ({ status }) => status?.phase === 'Succeeded');
    const log = await readFile(join(it.node.podLogs, `default_asks_${pod.metadata.uid}`, 'c', '0.log'), 'utf8');
    const who = JSON.parse(log.split('\n')[0]?.replace(/^\S+ \S+ \S+ /, '') ?? '');
    expect(who.username).toBe('system:serviceaccount:default:default');
    // The token is bound to this pod.
    expect(who.extra['authentication.kubernetes.io/pod-uid']).toEqual([pod.metadata.uid]);
    expect(who.extra['authentication.kubernetes.io/node-name']).toEqual(['e2e']);
    expect(log).toMatch(/Error from server \(Forbidden\): secrets is forbidden/);
    await it.deletePod('asks');
  });

  test('a failing pod reports the reason in its events, as kubectl describe prints them', async () => {
    const it = cluster();
    const image = '127.0.0.1:1/none/such:1';
    await it.createPod('no-image', { containers: [{ name: 'c', image }] });
    await it.createPod('no-command', { containers: [{ ...script('c', ''), command: ['/no/such/command'] }] });
    await it.eventUntil('no-image', 'Failed', /^Failed to pull image "127\.0\.0\.1:1\/none\/such:1": /);
    await it.eventUntil('no-image', 'BackOff', /^Back-off pulling image /);
    await it.eventUntil('no-command', 'Failed', /no such file or directory/);
    const described = await it.plane.kubectl(['describe', 'pod', 'no-image']);
    expect(described).toMatch(/Warning +Failed .* kubelet +.*Failed to pull image/);
    expect(described).toMatch(/Reason: +ImagePullBackOff/);
    expect(await it.plane.kubectl(['describe', 'pod', 'no-command'])).toMatch(
      /Warning +Failed .* kubelet +.*\/no\/such\/command: no such file or directory/,
    );
    for (const name of ['no-image', 'no-command']) await it.deletePod(name);
  });

  test('a pod with a missing secret waits with an event, and starts when the secret is created', async () => {
    const it = cluster();
    const key = { secretKeyRef: { name: 'late', key: 'word' } };
    const spec = {
      volumes: [{ name: 'secret', secret: { secretName: 'late' } }],
      containers: [
        script('c', `echo "$WORD $(cat /secret/word)"; ${FOREVER}`, {
          env: [{ name: 'WORD', valueFrom: key }],
          volumeMounts: [{ name: 'secret', mountPath: '/secret' }],
        }),
      ],
    };
    await it.createPod('waits', spec);
    await it.eventUntil('waits', 'FailedMount', /secret "late" not found/);
    expect((await it.pod('waits'))?.status?.phase).toBe('Pending');
    await it.create('/api/v1/namespaces/default/secrets', {
      metadata: { name: 'late' },
      stringData: { word: 'hello' },
    });
    const tookMs = await it.timed(() => it.readyPod('waits'));
    const { metadata } = await it.readyPod('waits');
    const log = join(it.node.podLogs, `default_waits_${metadata.uid}`, 'c', '0.log');
    await it.until('its log', async () => /hello hello$/m.test(await readFile(log, 'utf8')) || undefined);
    console.log(`ready ${tookMs} ms after the secret came`);
    await it.deletePod('waits');
  });

  test('a changed ConfigMap reaches the files of a running pod immediately', async () => {
    const it = cluster();
    const configMaps = '/api/v1/namespaces/default/configmaps';
    await it.create(configMaps, { metadata: { name: 'live' }, data: { word: 'one' } });
    const spec = {
      volumes: [{ name: 'live', configMap: { name: 'live' } }],
      containers: [
        script('c', 'trap "exit 0" TERM; while true; do cat /live/word; echo; sleep 0.2 & wait $!; done', {
          volumeMounts: [{ name: 'live', mountPath: '/live' }],
        }),
      ],
    };
    await it.createPod('reads', spec);
    const { metadata } = await it.readyPod('reads');
    const log = join(it.node.podLogs, `default_reads_${metadata.uid}`, 'c', '0.log');
    const read = (word: RegExp) =>
      it.until(`the word ${word}`, async () => word.test(await readFile(log, 'utf8')) || undefined);
    await read(/one$/m);
    await it.plane.kubectl(['patch', 'configmap', 'live', '-p', '{"data":{"word":"two"}}']);
    const tookMs = await it.timed(() => read(/two$/m));
    console.log(`the pod read the new word after ${tookMs} ms`);
    expect(tookMs).toBeLessThan(10_000);
    await it.deletePod('reads');
  });

  test("a pod's environment has the variables of its sources in the specified order, and the variables of services", async () => {
    const it = cluster();
    const kubernetes = await it.get<{ spec: { clusterIP: string } }>('/api/v1/namespaces/default/services/kubernetes');
    await it.create('/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'env' },
      data: { A: 'map', B: 'map' },
    });
    await it.create('/api/v1/namespaces/default/secrets', { metadata: { name: 'env' }, stringData: { B: 'wörter' } });
    const spec = {
      enableServiceLinks: false,
      hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias'] }],
      restartPolicy: 'Never',
      volumes: [{ name: 'shared', emptyDir: {} }],
      initContainers: [
        script('writes', 'echo "FROM_FILE=\'in a file\'" > /shared/env', {
          volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
        }),
      ],
      containers: [
        script('c', 'env | sort; cat /etc/hosts', {
          envFrom: [
            { configMapRef: { name: 'env' } },
            { secretRef: { name: 'env' } },
            { prefix: 'P_', configMapRef: { name: 'env' } },
          ],
          env: [
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
            { name: 'API', value: '$(KUBERNETES_SERVICE_HOST) from $(IP) $(NOT) $$(IP)' },
            { name: 'FILE', valueFrom: { fileKeyRef: { volumeName: 'shared', path: 'env', key: 'FROM_FILE' } } },
          ],
        }),
      ],
    };
    await it.createPod('shows', spec);
    const pod = await it.podUntil('shows', ({ status }) => status?.phase === 'Succeeded');
    const log = await readFile(join(it.node.podLogs, `default_shows_${pod.metadata.uid}`, 'c', '0.log'), 'utf8');
    const lines = log.split('\n').map((line) => line.replace(/^\S+ \S+ \S+ /, ''));
    const { podIP } = pod.status ?? {};
    const expected = ['A=map', 'P_A=map', 'P_B=map', `IP=${podIP}`, 'NODE=e2e', 'FILE=in a file', 'B=wörter'];
    expect(lines).toEqual(expect.arrayContaining(expected));
    expect(lines).toContain(`API=${kubernetes?.spec.clusterIP} from ${podIP} $(NOT) $(IP)`);
    expect(lines).toContain('KUBERNETES_SERVICE_PORT_HTTPS=443');
    expect(lines).toEqual(expect.arrayContaining([`${podIP}\tshows`, '192.0.2.9\talias']));
    await it.deletePod('shows');
  });

  test('a pod deleted with --force disappears from the API immediately and from the machine soon after', async () => {
    const it = cluster();
    await it.createPod('forced', { terminationGracePeriodSeconds: 3600, containers: [script('c', FOREVER)] });
    const { metadata } = await it.readyPod('forced');
    await it.plane.kubectl(['delete', 'pod', 'forced', '--force', '--grace-period=0', '--wait=false']);
    expect(await it.pod('forced')).toBeUndefined();
    console.log(`its container was gone after ${await it.timed(() => it.gone(metadata.uid))} ms`);
    // A new pod with the same name has another UID.
    await it.createPod('forced', { containers: [script('c', FOREVER)] });
    expect((await it.readyPod('forced')).metadata.uid).not.toBe(metadata.uid);
    await it.deletePod('forced');
  });

  test('restarts a container that was killed, and reports the restart to the API server', async () => {
    const it = cluster();
    await it.createPod('dies', { containers: [script('c', FOREVER)] });
    await it.readyPod('dies');
    const [victim] = (await it.running()).filter(({ pod }) => pod === 'dies');
    await it.killContainer(victim?.id ?? '');
    const tookMs = await it.timed(() =>
      it.podUntil(
        'dies',
        (pod) =>
          pod.status?.containerStatuses?.[0]?.restartCount === 1 &&
          pod.status.containerStatuses[0].state?.running !== undefined,
      ),
    );
    console.log(`the API server knew of the new container ${tookMs} ms after the kill`);
    const status = (await it.pod('dies'))?.status?.containerStatuses?.[0];
    expect(status?.lastState?.terminated).toMatchObject({ exitCode: 137, containerID: `containerd://${victim?.id}` });
    await it.deletePod('dies');
  });

  test('C6: a container that exits with 0 succeeds, although one of its processes was OOM-killed', async () => {
    const it = cluster();
    const resources = { limits: { memory: '16Mi' } };
    const hog = script('c', 'tail /dev/zero; sleep 2; exit 0', { resources });
    await it.createPod('hog', { restartPolicy: 'OnFailure', containers: [hog] });
    const pod = await it.podUntil('hog', ({ status }) => status?.phase === 'Succeeded');
    const status = pod.status?.containerStatuses?.[0];
    expect(status?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'OOMKilled' });
    expect(status?.restartCount).toBe(0);
    await it.deletePod('hog');
  });

  test('registers the node again after its Node object was deleted', async () => {
    const it = cluster();
    const node = '/api/v1/nodes/e2e';
    const before = await it.get<{ metadata: { uid: string } }>(node);
    await it.plane.request('DELETE', node);
    const tookMs = await it.timed(() =>
      it.until('another node, Ready', async () => {
        const now = await it.get<{ metadata: { uid: string } }>(node);
        if (now === undefined || now.metadata.uid === before?.metadata.uid) return undefined;
        return (await it.nodeReady()) === 'True' || undefined;
      }),
    );
    console.log(`there was a node again ${tookMs} ms after it was deleted`);
    await it.createPod('after', { containers: [script('c', FOREVER)] });
    await it.readyPod('after');
    await it.deletePod('after');
  });

  test('replaces the client certificate during the tests: running pods continue and new pods start', async () => {
    const it = cluster();
    await it.createPod('before', { containers: [script('c', FOREVER)] }, { labels: { app: 'before' } });
    await it.readyPod('before');
    const recorder = await PodRecorder.start(it.plane, 'app=before');
    const file = join(it.certificates, 'kubelet-client-current.pem');
    const second = await it.until(
      'another certificate',
      async () => {
        const now = new X509Certificate(await readFile(file));
        return now.serialNumber === first.serialNumber ? undefined : now;
      },
      120_000,
    );
    expect(second.subject).toBe(first.subject);
    // The node itself requested the certificate.
    expect(await it.plane.kubectl(['get', 'csr', '--no-headers'])).toMatch(/ system:node:e2e +\S+ +Approved,Issued/);
    await it.createPod('renewed', { containers: [script('c', FOREVER)] });
    await it.readyPod('renewed');
    recorder.stop();
    expect(recorder.sights.filter(({ ready }) => !ready)).toEqual([]);
    for (const name of ['before', 'renewed']) await it.deletePod(name);
  });
});
