import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { approveServingRequests } from '@node-agent/tools-control-plane';
import { freePorts } from '@node-agent/tools-ports';
import { expect, test } from 'vitest';
import { script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';

const exec = promisify(execFile);

/** Runs kubectl until it exits, and returns its output and exit code. */
async function kubectl(
  it: TestCluster,
  args: readonly string[],
  input?: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = kubectlRunning(it, args);
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin?.end(input);
  const code = await new Promise<number>((resolve) => child.on('close', (ended) => resolve(ended ?? -1)));
  return { code, stdout, stderr };
}

function kubectlRunning(it: TestCluster, args: readonly string[]): ChildProcess {
  return spawn(it.programs.kubectl, [`--kubeconfig=${it.plane.adminKubeconfig}`, ...args]);
}

/** Returns the number of open sockets of a process. */
async function socketsOf(pid: number): Promise<number> {
  const links = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith('socket:')).length;
}

/** Size of the copied file. Set NODE_AGENT_E2E_CP_MB, for example to 1024, to copy more. */
const CP_MEGABYTES = Number(process.env.NODE_AGENT_E2E_CP_MB ?? 64);

const TALKER = `i=0; while :; do i=$((i+1)); echo line $i; [ $i = 3 ] && echo error >&2; sleep 0.2; done`;
const SERVER = `mkdir /www; echo hello from the pod >/www/hello; head -c 20000000 /dev/urandom >/www/large; httpd -f -p 8080 -h /www`;

await withCluster(
  'kubectl and the node',
  { subnet: '10.199.76.0/24', configuration: { serverTLSBootstrap: true } },
  (cluster) => {
    test('requests a serving certificate that the API server trusts', async () => {
      const it = cluster();
      await it.until('the request to be approved', async () =>
        (await approveServingRequests(it.plane)).length > 0 ? true : undefined,
      );
      await it.until('kubectl to reach the node', async () => {
        const { stdout } = await kubectl(it, ['get', '--raw', '/api/v1/nodes/e2e/proxy/healthz']);
        return stdout === 'ok' || undefined;
      });
    });

    test("kubectl logs prints all lines, the last lines, lines since a time, timestamps, followed lines and the previous container's lines", async () => {
      const it = cluster();
      const spec = {
        restartPolicy: 'Always',
        containers: [script('main', `echo begun; ${TALKER}`), script('once', 'echo first; echo second; sleep 1')],
      };
      await it.createPod('talks', spec);
      await it.podUntil('talks', ({ status }) => status?.phase === 'Running');
      await it.until('the fifth line', async () => {
        const { stdout } = await kubectl(it, ['logs', 'talks', '-c', 'main']);
        return stdout.includes('line 5\n') || undefined;
      });
      const { stdout } = await kubectl(it, ['logs', 'talks', '-c', 'main']);
      expect(stdout).toMatch(/^begun\nline 1\nline 2\n/);
      expect(stdout).toContain('error\n');
      const tail = (await kubectl(it, ['logs', 'talks', '-c', 'main', '--tail=2'])).stdout;
      expect(tail.split('\n')).toHaveLength(3);
      expect((await kubectl(it, ['logs', 'talks', '-c', 'main', '--timestamps', '--tail=1'])).stdout).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+ line \d+\n$/,
      );
      expect((await kubectl(it, ['logs', 'talks', '-c', 'main', '--limit-bytes=7'])).stdout).toBe('begun\nl');
      expect((await kubectl(it, ['logs', 'talks', '-c', 'main', '--since=1s'])).stdout).not.toContain('begun');
      const followed = await kubectl(it, ['logs', 'talks', '-c', 'once', '-f']);
      expect(followed.stdout).toMatch(/first\nsecond\n$/);
      await it.until('a second run', async () => {
        const previous = await kubectl(it, ['logs', 'talks', '-c', 'once', '--previous']);
        return previous.stdout === 'first\nsecond\n' || undefined;
      });
      const none = await kubectl(it, ['logs', 'talks', '-c', 'main', '--previous']);
      expect(none.stderr).toContain('previous terminated container "main" in pod "talks" not found');
    });

    test('kubectl logs --follow prints the last line of a deleted pod and then ends', async () => {
      const it = cluster();
      const text = `trap 'echo that was all; exit 0' TERM; echo begun; while :; do sleep 0.1; done`;
      await it.createPod('ends', { terminationGracePeriodSeconds: 5, containers: [script('c', text)] });
      await it.readyPod('ends');
      const follower = kubectl(it, ['logs', 'ends', '-f']);
      await it.plane.request('DELETE', '/api/v1/namespaces/default/pods/ends');
      expect((await follower).stdout).toBe('begun\nthat was all\n');
      await it.until('the pod to be gone', async () => (await it.pod('ends')) === undefined || undefined);
    });

    test('kubectl exec transfers output, input, errors, exit codes and a terminal', async () => {
      const it = cluster();
      expect(await kubectl(it, ['exec', 'talks', '-c', 'main', '--', 'echo', 'hello'])).toMatchObject({
        code: 0,
        stdout: 'hello\n',
      });
      expect(await kubectl(it, ['exec', 'talks', '-c', 'main', '--', 'sh', '-c', 'echo no >&2; exit 7'])).toMatchObject(
        { code: 7, stdout: '', stderr: expect.stringContaining('no\n') },
      );
      expect(await kubectl(it, ['exec', '-i', 'talks', '-c', 'main', '--', 'cat'], 'what goes in\n')).toMatchObject({
        stdout: 'what goes in\n',
      });
      const { stdout } = await exec(
        'script',
        [
          '-qec',
          `stty cols 99 rows 33; ${it.programs.kubectl} --kubeconfig=${it.plane.adminKubeconfig} exec -it talks -c main -- sh -c 'sleep 1; stty size; tty'`,
          '/dev/null',
        ],
        { timeout: 30_000 },
      );
      expect(stdout).toMatch(/33 99\r?\n\/dev\/pts\/\d+/);
      const missing = await kubectl(it, ['exec', 'talks', '-c', 'main', '--', '/no/such/program']);
      expect(missing.code).not.toBe(0);
      expect(missing.stderr).toMatch(/no such file or directory/);
    });

    test('kubectl attach prints output from the time of the call on', async () => {
      const it = cluster();
      const child = kubectlRunning(it, ['attach', 'talks', '-c', 'main']);
      let output = '';
      child.stdout?.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
      });
      await it.until('some lines', async () => /line \d+\nline \d+\n/.test(output) || undefined);
      child.kill('SIGTERM');
    });

    test('kubectl exec resizes the terminal while a program runs in it', async () => {
      const it = cluster();
      const inside =
        'stty size; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.5; stty size; done';
      const kubectlExec = `${it.programs.kubectl} --kubeconfig=${it.plane.adminKubeconfig} exec -it talks -c main -- sh -c '${inside}'`;
      // The terminal's size changes without kubectl's involvement, as when a window is resized.
      const resize = 'terminal=$(tty); (sleep 4; stty -F "$terminal" cols 120 rows 40) &';
      const { stdout } = await exec('script', ['-qec', `stty cols 99 rows 33; ${resize} ${kubectlExec}`, '/dev/null'], {
        timeout: 60_000,
      });
      expect(stdout).toMatch(/33 99\r?\n[\s\S]*40 120\r?\n/);
    });

    test(`kubectl cp copies ${CP_MEGABYTES} MB to a pod and back`, async () => {
      const it = cluster();
      const directory = join(it.directory, 'cp-test');
      await mkdir(directory);
      await exec('sh', [
        '-c',
        'head -c "$1" /dev/urandom >"$0"',
        join(directory, 'there'),
        `${CP_MEGABYTES * 2 ** 20}`,
      ]);
      const thereMs = await it.timed(async () => {
        expect(await kubectl(it, ['cp', join(directory, 'there'), 'talks:/tmp/there', '-c', 'main'])).toMatchObject({
          code: 0,
        });
      });
      const backMs = await it.timed(async () => {
        expect(await kubectl(it, ['cp', 'talks:/tmp/there', join(directory, 'back'), '-c', 'main'])).toMatchObject({
          code: 0,
        });
      });
      await exec('cmp', [join(directory, 'there'), join(directory, 'back')]);
      console.log(`${CP_MEGABYTES} MB into a pod in ${thereMs} ms, and out of it in ${backMs} ms`);
    });

    test('kubectl port-forward transfers many concurrent connections and a large response', async () => {
      const it = cluster();
      // The pod is ready once the server listens: a refused connection would end kubectl port-forward.
      const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
      await it.createPod('serves', { containers: [{ ...script('c', SERVER), readinessProbe }] });
      await it.readyPod('serves');
      const [port = 0] = await freePorts(1);
      const child = kubectlRunning(it, ['port-forward', 'pod/serves', `${port}:8080`]);
      let said = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (chunk) => {
          said += chunk;
        });
      }
      await it.until('the port', async () => said.includes('Forwarding from 127.0.0.1') || undefined);
      const ask = async (path: string): Promise<Buffer> => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
        return Buffer.from(await response.arrayBuffer());
      };
      await it
        .until('the server', async () => (await ask('/hello').catch(() => undefined)) || undefined)
        .catch((error) => {
          throw new Error(`kubectl said: ${said}`, { cause: error });
        });
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/hello')));
      expect(new Set(answers.map(String))).toEqual(new Set(['hello from the pod\n']));
      const tookMs = await it.timed(async () => expect(await ask('/large')).toHaveLength(20_000_000));
      console.log(`20 MB by port-forward in ${tookMs} ms`);
      child.kill('SIGTERM');
    });

    test("the kubelet serves the dashboard page, the node's events and a log through kubectl proxy", async () => {
      const it = cluster();
      const proxy = kubectlRunning(it, ['proxy', '--port=0']);
      try {
        const port = await new Promise<string>((resolve) => {
          proxy.stdout?.setEncoding('utf8').on('data', (text: string) => {
            const found = /127\.0\.0\.1:(\d+)/.exec(text)?.[1];
            if (found !== undefined) resolve(found);
          });
        });
        // Without the slash at the end, the kubelet redirects to the page, relative to the address.
        const page = await fetch(`http://127.0.0.1:${port}/api/v1/nodes/e2e/proxy/dashboard`);
        expect(page.url).toBe(`http://127.0.0.1:${port}/api/v1/nodes/e2e/proxy/dashboard/`);
        // The API server rewrites addresses in HTML; the script must still be the one that the policy allows.
        const script = /<script>([\s\S]*)<\/script>/.exec(await page.text())?.[1] ?? '';
        const hash = createHash('sha256').update(script).digest('base64');
        expect(page.headers.get('content-security-policy')).toContain(`script-src 'sha256-${hash}'`);
        const beginning = async (path: string, pattern: RegExp): Promise<void> => {
          const leaving = new AbortController();
          const answer = await fetch(`${page.url}${path}`, { signal: leaving.signal });
          let text = '';
          for await (const chunk of answer.body ?? []) {
            text += Buffer.from(chunk).toString();
            if (pattern.test(text)) break;
          }
          leaving.abort();
          expect(text).toMatch(pattern);
        };
        await beginning('events', /event: pods\ndata: .*"isAll":true.*"name":"talks"/);
        await beginning('events?pod=default/talks', /event: story\ndata: .*"step":"Sandbox"/);
        await beginning('log?pod=default/talks&container=main', /line \d+\n/);
      } finally {
        proxy.kill();
      }
    });

    test("serves pods, configuration, metrics and explanations through the API server's proxy", async () => {
      const it = cluster();
      const raw = async (path: string): Promise<string> =>
        (await kubectl(it, ['get', '--raw', `/api/v1/nodes/e2e/proxy${path}`])).stdout;
      expect(
        JSON.parse(await raw('/pods')).items.map((pod: { metadata: { name: string } }) => pod.metadata.name),
      ).toContain('talks');
      expect(JSON.parse(await raw('/configz')).kubeletconfig).toMatchObject({ serverTLSBootstrap: true });
      expect(await raw('/metrics')).toContain('kubelet_http_requests_total');
      expect(JSON.parse(await raw('/debug/explain/default/talks')).pod.name).toBe('talks');
      expect(JSON.parse(await raw('/debug/explain'))).toMatchObject({ problems: [] });
    });

    test('W1: rejects requests without permission', async () => {
      const it = cluster();
      const url = `https://127.0.0.1:${it.node.port}/pods`;
      const status = async (...args: string[]): Promise<string> =>
        (await exec('curl', ['-sk', '-o', '/dev/null', '-w', '%{http_code}', ...args, url])).stdout;
      expect(await status()).toBe('401');
      expect(await status('-H', 'Authorization: Bearer nonsense')).toBe('401');
      const token = (await kubectl(it, ['create', 'token', 'default'])).stdout.trim();
      expect(await status('-H', `Authorization: Bearer ${token}`)).toBe('403');
      const own = join(it.certificates, 'kubelet-client-current.pem');
      expect(await status('--cert', own, '--key', own)).toBe('403');
      await kubectl(it, ['create', 'clusterrole', 'reads-pods', '--verb=get', '--resource=nodes/pods']);
      await kubectl(it, [
        'create',
        'clusterrolebinding',
        'reads',
        '--clusterrole=reads-pods',
        '--serviceaccount=default:reader',
      ]);
      await kubectl(it, ['create', 'serviceaccount', 'reader']);
      const reader = (await kubectl(it, ['create', 'token', 'reader'])).stdout.trim();
      expect(await status('-H', `Authorization: Bearer ${reader}`)).toBe('200');
    });

    test('W2: after clients of streams were killed, the kubelet has as many open sockets as before', async () => {
      const it = cluster();
      const { pid } = it.node;
      await it.until('the kubelet to have sockets', async () => (await socketsOf(pid)) > 0 || undefined);
      const before = await socketsOf(pid);
      for (let round = 0; round < 3; round++) {
        const children = Array.from({ length: 8 }, (_unused, index) =>
          kubectlRunning(
            it,
            index % 2 === 0
              ? ['exec', '-i', 'talks', '-c', 'main', '--', 'cat']
              : ['logs', '-f', 'talks', '-c', 'main'],
          ),
        );
        await it.until('streams', async () => (await socketsOf(pid)) > before || undefined);
        for (const child of children) child.kill('SIGKILL');
      }
      await it.until('sockets to be gone', async () => (await socketsOf(pid)) <= before + 2 || undefined, 120_000);
      for (const name of ['talks', 'serves']) await it.deletePod(name);
    });
  },
);
