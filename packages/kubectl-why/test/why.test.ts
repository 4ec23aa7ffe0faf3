import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { apiStatus, NO_ANSWER, ScriptedApi, sink } from './api.ts';

const api = await ScriptedApi.start();
const EXPLAIN = '/api/v1/nodes/n1/proxy/debug/explain';
const page = (path: string, format: string) => `${EXPLAIN}${path}?format=${format}`;

describe('kubectl why POD', () => {
  it("kubectl why shows the explanation of the pod's node, requested through the API server", async () => {
    api.pod('web', { nodeName: 'n1' });
    api.says(page('/default/web', 'text'), 'c: exit code 7\nPod default/web is Running\nWaits for: nothing\n');
    expect(await api.why('web')).toEqual({
      ...{ code: 0, err: '' },
      out: 'c: exit code 7\nPod default/web is Running, on the node n1\nWaits for: nothing\n',
    });
    // The server does not use TLS, so the token is not sent.
    expect(api.asked.at(-1)?.authorization).toBeUndefined();
    expect((await api.why('pod/web')).code).toBe(0);
  });

  it("kubectl why shows the node's JSON unchanged", async () => {
    api.pod('web', { nodeName: 'n1' });
    api.says(page('/default/web', 'json'), { pod: { name: 'web' }, waitingFor: [] });
    expect(JSON.parse((await api.why('web', '-o', 'json')).out)).toEqual({ pod: { name: 'web' }, waitingFor: [] });
  });

  it('kubectl why uses the namespace of the flag, otherwise of the context, otherwise default', async () => {
    for (const namespace of ['team', 'given']) {
      api.pod('web', { nodeName: 'n1' }, {}, namespace);
      api.says(page(`/${namespace}/web`, 'text'), `Pod ${namespace}/web\n`);
    }
    expect((await api.why('web', '--context', 'other')).out).toContain('Pod team/web');
    expect((await api.why('web', '--context', 'other', '-n', 'given')).out).toContain('Pod given/web');
  });

  it('kubectl why rejects the page of a proxy as an explanation', async () => {
    api.pod('web', { nodeName: 'n1' });
    for (const output of ['text', 'json'] as const) {
      api.says(page('/default/web', output), '<html>the portal of a proxy</html>');
      const { code, out, err } = await api.why('web', ...(output === 'json' ? ['-o', 'json'] : []));
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain('the response of node n1 is not an explanation, but "text/html"');
    }
  });

  it('kubectl why --node shows which pods of a node wait', async () => {
    api.says(page('', 'text'), '2 pods, 1 of them not in the desired state\n');
    expect((await api.why('--node', 'n1')).out).toBe('Node n1: 2 pods, 1 of them not in the desired state\n');
  });

  it.each<[argv: string[], path: string, body: string]>([
    [['web'], '/api/v1/namespaces/default/pods/web', 'null'],
    [['--all'], '/api/v1/namespaces/default/pods', '{}'],
    [['--all'], '/api/v1/namespaces/default/pods', '{"items":[null]}'],
  ])(
    'kubectl why %j reports a response without the fields of its kind in one line: %s %s',
    async (argv, path, body) => {
      api.says(path, body);
      expect(await api.why(...argv)).toEqual({
        ...{ code: 1, out: '' },
        err: expect.stringMatching(/^error: unexpected response: .+\n$/),
      });
    },
  );

  it('kubectl why -o json removes carriage returns, which would overwrite a line, between the tokens of a node', async () => {
    api.pod('web', { nodeName: 'n1' });
    api.says(page('/default/web', 'json'), '{"phase":"Failed",\r"phase":"Running"}');
    expect((await api.why('web', '-o', 'json')).out).toBe('{"phase":"Failed","phase":"Running"}');
  });

  it("kubectl why replaces control characters in a node's explanation", async () => {
    api.pod('evil', { nodeName: 'n1' });
    api.says(page('/default/evil', 'text'), 'Pod\nfine \x1b[2J\r\u202Ehidden\n');
    expect((await api.why('evil')).out).toBe('Pod, on the node n1\nfine \uFFFD[2J\uFFFD\uFFFDhidden\n');
  });

  it("kubectl why replaces control characters in a node's error", async () => {
    api.pod('evil', { nodeName: 'n1' });
    for (const status of [404, 418, 500, 503]) {
      api.says(page('/default/evil', 'text'), 'bad\x1b[2J\u009b31m\u202Ehidden', status);
      const { code, err } = await api.why('evil');
      expect([code, /[^\P{Cc}\n]|\p{Cf}/u.test(err)]).toEqual([1, false]);
    }
    api.says(page('/default/evil', 'json'), '\x1b]0;title\x07 is no JSON');
    expect((await api.why('evil', '-o', 'json')).err).toMatch(/not JSON: \uFFFD]0;title\uFFFD/);
  });

  it("kubectl why escapes control characters in a node's JSON without changing its value", async () => {
    api.pod('evil', { nodeName: 'n1' });
    const said = { message: '\u009b2J \x7f \u202E \u{E0041} ok' };
    api.says(page('/default/evil', 'json'), `{\r\n\t"message": ${JSON.stringify(said.message)}\n}\n`);
    const { out } = await api.why('evil', '-o', 'json');
    expect(JSON.parse(out)).toEqual(said);
    expect(out).not.toMatch(/[^\P{Cc}\n\r\t]|\p{Cf}/u);
  });

  it('kubectl why explains an unscheduled pod from its conditions and scheduling gates', async () => {
    const scheduled = { type: 'PodScheduled', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const condition = {
      ...scheduled,
      reason: 'Unschedulable',
      message: '0/3 nodes are available: 3 Insufficient cpu.',
    };
    api.pod('big', { schedulingGates: [{ name: 'quota' }] }, { phase: 'Pending', conditions: [condition] });
    const { code, out } = await api.why('big');
    expect(code).toBe(0);
    expect(out).toContain('Pod default/big is Pending, and not scheduled to a node yet\n');
    expect(out).toMatch(
      /- scheduling: Unschedulable: 0\/3 nodes are available: 3 Insufficient cpu. \(for \d+ s, since 2026-01-01T00:00:00.000Z\)/,
    );
    expect(out).toContain('- scheduling gate quota: ');
    expect(JSON.parse((await api.why('big', '-o', 'json')).out)).toMatchObject({
      ...{ node: null, phase: 'Pending', pod: { name: 'big', uid: 'uid-big' } },
      waitingFor: [{ what: expect.stringContaining('Unschedulable'), sinceMs: 1767225600000 }, {}],
    });
    api.pod('new', {});
    expect((await api.why('new')).out).toContain('the scheduler default-scheduler has not processed it yet');
  });
});

describe('error messages say what is wrong and what to do', () => {
  it('the error for a kubeconfig without its current context names the context and what to do', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kubectl-why-'));
    const kubeconfig = join(directory, 'config');
    const contexts = [{ name: 'main', context: { cluster: 'c', user: 'u' } }];
    await writeFile(kubeconfig, JSON.stringify({ 'current-context': 'gone', contexts }));
    const { code, err } = await api.why('x', '--kubeconfig', kubeconfig);
    await rm(directory, { recursive: true });
    expect([code, err]).toEqual([1, 'error: the kubeconfig has no context "gone"; it has main\n']);
  });

  it.each(['not a url', '', 'ftp://example.com', 7])(
    'the error for a kubeconfig with the server %j says what is wrong',
    async (server) => {
      const directory = await mkdtemp(join(tmpdir(), 'kubectl-why-'));
      const kubeconfig = join(directory, 'config');
      const config = {
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'main' },
        clusters: [{ name: 'c', cluster: { server } }],
        contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
      };
      await writeFile(kubeconfig, JSON.stringify(config));
      const { code, err } = await api.why('x', '--kubeconfig', kubeconfig);
      await rm(directory, { recursive: true });
      expect([code, err]).toEqual([1, expect.stringMatching(/^error: the kubeconfig.* server|^error: .*kubeconfig/)]);
    },
  );

  it.each(['..', '.', 'a/b', ''])(
    'kubectl why rejects the namespace %j, which would change the path of the request',
    async (namespace) => {
      const asked = api.asked.length;
      const { code, err } = await api.why('x', '-n', namespace);
      expect([code, err]).toEqual([1, expect.stringContaining('--namespace: ')]);
      expect(api.asked.length).toBe(asked);
    },
  );

  const forbidden = (what: string) => apiStatus(403, 'Forbidden', `${what} is forbidden: User "jane" cannot get it`);

  it.each<[string, () => void, string[], string | RegExp]>([
    ['a missing pod', () => undefined, ['nobody'], 'there is no pod nobody in the namespace default'],
    [
      'no permission to get pods',
      () => api.says('/api/v1/namespaces/default/pods/x', forbidden('pods "x"'), 403),
      ['x'],
      /jane[\s\S]*in the namespace default[\s\S]*resources: \["pods"\]\n +verbs: \["get"\]/,
    ],
    [
      'no permission to use the node proxy',
      () => api.says(page('/default/x', 'text'), forbidden('nodes "n1"'), 403),
      ['x'],
      /jane[\s\S]*in the whole cluster[\s\S]*resources: \["nodes\/proxy"\]\n +verbs: \["get"\]/,
    ],
    [
      'an API server that the node does not authorize',
      () => api.says(page('/default/x', 'text'), 'Forbidden (user=kube-apiserver, verb=get, resource=nodes)', 403),
      ['x'],
      /does not authorize the API server: Forbidden[\s\S]*system:kubelet-api-admin/,
    ],
    [
      'an API server that the node does not authenticate',
      () => api.says(page('/default/x', 'text'), 'Unauthorized', 401),
      ['x'],
      /clientCAFile/,
    ],
    [
      'a Go kubelet',
      () => {
        api.says(page('/default/x', 'text'), '404 page not found\n', 404);
        api.says('/api/v1/nodes/n1', { status: { nodeInfo: { kubeletVersion: 'v1.36.3' } } });
      },
      ['x'],
      "the kubelet of the node n1 (v1.36.3) is not node-agent's: it has no /debug/explain",
    ],
    [
      'debugging handlers that are disabled',
      () => {
        api.says(page('/default/x', 'text'), '404 page not found\n', 404);
        api.says('/api/v1/nodes/n1', { status: { nodeInfo: { kubeletVersion: 'v1.36.3+node-agent.0.1.0' } } });
      },
      ['x'],
      /enableDebuggingHandlers is false/,
    ],
    [
      'a pod that the node does not know',
      () => api.says(page('/default/x', 'text'), 'pod default/x is not known here\n', 404),
      ['x'],
      'the node n1 does not know the pod default/x: it has not received the pod yet, or has already removed it',
    ],
    ['a missing node', () => undefined, ['--node', 'n9'], /^there is no node n9: /],
    [
      'an unreachable node',
      () => api.says(page('/default/x', 'text'), apiStatus(503, 'ServiceUnavailable', 'dial tcp: refused'), 503),
      ['x'],
      'the API server does not reach the node n1: dial tcp: refused',
    ],
    [
      'a user who is not authenticated',
      () => api.says('/api/v1/namespaces/default/pods/x', apiStatus(401, 'Unauthorized', 'Unauthorized'), 401),
      ['x'],
      /does not accept the credentials of the kubeconfig/,
    ],
    [
      'a response that is not JSON',
      () => api.says('/api/v1/namespaces/default/pods/x', '<html>'),
      ['x'],
      'the response is not JSON: <html>',
    ],
    [
      'a missing context',
      () => undefined,
      ['x', '--context', 'none'],
      'the kubeconfig has no context "none"; it has main, other',
    ],
    [
      'a missing kubeconfig',
      () => undefined,
      ['x', '--kubeconfig', '/nonexistent/config'],
      /^the kubeconfig \/nonexistent\/config cannot be read: ENOENT/,
    ],
  ])('the error message of kubectl why says what to do: %s', async (_title, arrange, argv, expected) => {
    api.answers.clear();
    api.pod('x', { nodeName: 'n1' });
    arrange();
    const { code, out, err } = await api.why(...argv);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    if (typeof expected === 'string') expect(err).toBe(`error: ${expected}\n`);
    else expect(err.slice('error: '.length)).toMatch(expected);
  });

  it.each([
    [[], 'name a pod, a workload (deploy/NAME), --all pods of a namespace, or a node with --node'],
    [['web', '--all'], '--all explains all pods: leave out web'],
    [['ns/shop', '-n', 'team'], 'only one namespace is allowed: ns/shop, or team'],
    [['--node', 'n1', '-A'], '--node n1 explains only the node: leave out --all'],
    [['deploy/..'], 'the deployment: ".." must be a valid name'],
    [['a', 'b'], 'only one name is allowed: a, or b'],
    [['service/web'], 'only pods and workloads can be explained, not "service"'],
    [['../../secrets'], 'only pods and workloads can be explained, not ".."'],
    [['pod/..'], 'the pod: ".." must be a valid name'],
    [['web', '--node', 'n1'], '--node n1 explains only the node: leave out web'],
    [['web', '-o', 'yaml'], '--output: must be text or json, got "yaml"'],
    [['web', '--interval', '0'], '--interval: must be seconds from 0.1 to 3600, got "0"'],
    [['web', '--nope'], "Unknown option '--nope'"],
  ])('kubectl why rejects the command line %j and says what is wrong', async (argv, expected) => {
    const { code, err } = await api.why(...argv);
    expect(code).toBe(1);
    expect(err).toContain(`error: ${expected}`);
    expect(err).toContain("See 'kubectl why --help' for usage.");
  });

  it('the error for an unreachable API server names the server', async () => {
    const { runWhy } = await import('../src/command.ts');
    const { writeFile } = await import('node:fs/promises');
    const file = `${api.kubeconfig}-away`;
    const cluster = { name: 'c', cluster: { server: 'http://127.0.0.1:1' } };
    const context = { name: 'm', context: { cluster: 'c', user: 'u' } };
    await writeFile(
      file,
      JSON.stringify({
        'current-context': 'm',
        clusters: [cluster],
        contexts: [context],
        users: [{ name: 'u', user: {} }],
      }),
    );
    const err = sink();
    const terminal = { out: err, err, version: '', signal: new AbortController().signal };
    expect(await runWhy(['x', '--kubeconfig', file], terminal)).toBe(1);
    expect(err.text).toMatch(/^error: the API server at http:\/\/127.0.0.1:1 cannot be reached: .*ECONNREFUSED/);
  });
});

describe('kubectl why --watch', () => {
  it('kubectl why --watch shows only changes, survives a node outage, and ends with the pod', async () => {
    api.answers.clear();
    api.pod('web', { nodeName: 'n1' });
    let round = 0;
    const pages = [
      { waitingFor: [{ what: 'a volume', sinceMs: 1 }] },
      { waitingFor: [{ what: 'a volume', sinceMs: 1 }], atMs: 2 },
      undefined,
      { waitingFor: [] },
    ];
    api.answers.set(`/prefix${page('/default/web', 'json')}`, () => {
      const body = pages[round];
      round += 1;
      if (round > pages.length) api.answers.delete('/prefix/api/v1/namespaces/default/pods/web');
      return body === undefined ? { status: 503, body: apiStatus(503, 'ServiceUnavailable', 'away') } : { body };
    });
    api.answers.set(`/prefix${page('/default/web', 'text')}`, () => ({ body: `Pod round ${round}\nrest\n` }));
    const { code, out, err } = await api.why('web', '--watch', '--interval', '0.1');
    expect(out).toBe('Pod round 1, on the node n1\nrest\n\nPod round 4, on the node n1\nrest\n');
    expect(err.split('\n').slice(0, 1)).toEqual(['error: the API server does not reach the node n1: away']);
    expect(err).toContain('error: there is no pod web in the namespace default');
    expect(code).toBe(1);
  });
});

describe('kubectl why that is interrupted', () => {
  const pod = (name: string) => `/prefix/api/v1/namespaces/default/pods/${name}`;
  const isAsked = async (path: string): Promise<void> =>
    await vi.waitFor(() => expect(api.asked.map((asked) => asked.path)).toContain(path), { timeout: 10_000 });

  beforeEach(() => {
    api.asked.length = 0;
  });
  afterEach(() => {
    api.ending = new AbortController();
  });

  it.each([[[]], [['--watch']]])(
    'an interrupt before any output stops kubectl why %j without waiting for a response, with exit code 130',
    async (flags) => {
      api.answers.set(pod('slow'), NO_ANSWER);
      const why = api.why('slow', ...flags);
      await isAsked(pod('slow'));
      api.ending.abort();
      expect(await why).toEqual({ code: 130, out: '', err: '' });
    },
  );

  it('an interrupt of kubectl why --watch after output ends it with exit code 0', async () => {
    api.pod('web', { nodeName: 'n1' });
    let round = 0;
    api.answers.set(`/prefix${page('/default/web', 'json')}`, () => {
      round += 1;
      if (round === 1) api.answers.set(`/prefix${page('/default/web', 'text')}`, { body: 'Pod\n' });
      else api.answers.set(`/prefix${page('/default/web', 'text')}`, NO_ANSWER);
      return { body: { waitingFor: [], round } };
    });
    const why = api.why('web', '--watch', '--interval', '0.1');
    await vi.waitFor(() => expect(round).toBe(2), { timeout: 10_000 });
    api.ending.abort();
    expect(await why).toEqual({ code: 0, out: 'Pod, on the node n1\n', err: '' });
  }, 20_000);

  it('an interrupt stops kubectl why while a credential plugin runs', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kubectl-why-'));
    const kubeconfig = join(directory, 'config');
    const begun = join(directory, 'begun');
    const exec = {
      ...{ apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' },
      ...{ command: 'sh', args: ['-c', `echo > ${begun}; exec sleep 60`] },
    };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'main' },
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
      contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: { exec } }],
    };
    await writeFile(kubeconfig, JSON.stringify(config));
    const why = api.why('slow', '--kubeconfig', kubeconfig);
    await vi.waitFor(() => expect(existsSync(begun)).toBe(true), { timeout: 10_000 });
    api.ending.abort();
    expect(await why).toEqual({ code: 130, out: '', err: '' });
    await rm(directory, { recursive: true });
  }, 20_000);

  it('a signal ends kubectl why', async () => {
    api.answers.set(pod('slow'), NO_ANSWER);
    const program = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
    const child = spawn(process.execPath, [program, 'slow', '--kubeconfig', api.kubeconfig], { stdio: 'pipe' });
    const ended = once(child, 'exit');
    await isAsked(pod('slow'));
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
  }, 20_000);
});

it('kubectl why shows its help and its version without a cluster', async () => {
  expect((await api.why('--help')).out).toContain('kubectl why POD [-n NAMESPACE]');
  expect((await api.why('--version')).out).toBe('1.2.3\n');
});
