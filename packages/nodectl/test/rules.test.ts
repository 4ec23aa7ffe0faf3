import { podState } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { execQuery } from '../src/commands/exec.ts';
import { terminalText } from '../src/commands/logs.ts';
import { CtlError, UsageError } from '../src/errors.ts';
import { containerName, findPod } from '../src/find-pod.ts';
import { connectionProblem } from '../src/kubelet-client.ts';
import { parseOptions, portPair } from '../src/options.ts';
import { exitCodeOf } from '../src/streams/exec.ts';
import { renderTable } from '../src/table.ts';
import { ageOf, bytes, millicores, parseDurationMs, shortDuration } from '../src/units.ts';
import { imagesTable } from '../src/views/images.ts';
import { nodeProblems, nodeText } from '../src/views/node.ts';
import { podsChange } from '../src/views/pods.ts';
import { topTable } from '../src/views/top.ts';
import { pod } from './fake-kubelet.ts';

type TestPod = Parameters<typeof podState>[0];
const podOf = (...args: Parameters<typeof pod>): TestPod => pod(...args) as TestPod;

describe('tables', () => {
  it('a table has aligned columns, and its last column is not padded', () => {
    expect(renderTable(['A', 'LONG'], [['x', 'y'], ['wide cell', ''], ['z']])).toBe(
      'A           LONG\nx           y\nwide cell   -\nz           -\n',
    );
  });

  it('each row of a table is one line without terminal control characters, whatever a cell contains', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 })), (rows) => {
        const text = renderTable(['A', 'B', 'C'], rows);
        expect(text.split('\n')).toHaveLength(rows.length + 2);
        expect(/[^\P{Cc}\n]|\p{Cf}/u.test(text)).toBe(false);
      }),
    );
  });

  it('a table shows the ANSI codes in a hostile name as text', () => {
    expect(renderTable(['NAME'], [['\x1b[2Jevil\nPod fine']])).toBe('NAME\n\\x1b[2Jevil\\nPod fine\n');
  });
});

describe('units', () => {
  it.each([
    [-5, '0s'],
    [119_999, '119s'],
    [200_000, '3m20s'],
    [300_000, '5m'],
    [3_600_000, '60m'],
    [5 * 3_600_000 + 60_000, '5h1m'],
    [30 * 3_600_000, '30h'],
    [51 * 3_600_000, '2d3h'],
    [90 * 86_400_000, '90d'],
  ])('a duration of %d ms is shown as %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });

  it.each([
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['', undefined],
    ['5', undefined],
    ['-5s', undefined],
    ['5s junk', undefined],
  ])('the duration %j is parsed as %s ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it('bytes and CPU are shown in suitable units, and an unknown age as <unknown>', () => {
    expect([0, 1023, 1536, 150 * 2 ** 20, 2 ** 40].map(bytes)).toEqual(['0', '1023', '1.5Ki', '150Mi', '1Ti']);
    expect([bytes(undefined), millicores(undefined), millicores(250_000_000)]).toEqual(['', '', '250m']);
    expect(ageOf('junk', 0)).toBe('<unknown>');
  });
});

describe('the state of a pod', () => {
  const waiting = (reason: string) => ({ waiting: { reason } });
  const exited = (exitCode: number, reason = '') => ({ terminated: { exitCode, reason } });
  const status = (state: object, ready = false, more: object = {}) => ({
    ...{ name: 'main', ready, restartCount: 2, state },
    ...more,
  });
  const inits = { initContainers: [{ name: 'first' }, { name: 'side', restartPolicy: 'Always' }] };

  it.each([
    ['Running', '1/1', true, {}],
    ['CrashLoopBackOff', '0/1', false, { status: { containerStatuses: [status(waiting('CrashLoopBackOff'))] } }],
    ['OOMKilled', '0/1', false, { status: { containerStatuses: [status(exited(137, 'OOMKilled'))] } }],
    ['ExitCode:3', '0/1', false, { status: { containerStatuses: [status(exited(3))] } }],
    ['Completed', '0/1', true, { status: { phase: 'Succeeded', containerStatuses: [status(exited(0, 'Completed'))] } }],
    ['Evicted', '0/1', false, { status: { phase: 'Failed', reason: 'Evicted', containerStatuses: [] } }],
    ['Terminating', '1/1', true, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }],
    ['Pending', '0/1', false, { status: { phase: 'Pending', containerStatuses: undefined } }],
    [
      'Init:0/2',
      '0/2',
      false,
      {
        spec: inits,
        status: { phase: 'Pending', containerStatuses: [], initContainerStatuses: [status({ running: {} })] },
      },
    ],
    [
      'Init:ErrImagePull',
      '0/2',
      false,
      {
        spec: inits,
        status: { phase: 'Pending', containerStatuses: [], initContainerStatuses: [status(waiting('ErrImagePull'))] },
      },
    ],
    [
      'Running',
      '2/2',
      true,
      {
        spec: inits,
        status: {
          initContainerStatuses: [
            { ...status(exited(0)), name: 'first' },
            { ...status({ running: {} }, true), name: 'side', started: true },
          ],
        },
      },
    ],
  ])('nodectl shows the state %s with %s ready containers', (shown, ready, isReady, more) => {
    expect(podState(podOf('web', more))).toMatchObject({ status: shown, ready, isReady });
  });

  it('the state of a pod has the sum of the restarts of all its containers', () => {
    const statuses = { containerStatuses: [status({ running: {} }), status({ running: {} })] };
    expect(podState(podOf('web', { status: statuses })).restarts).toBe(4);
  });
});

describe('finding a pod', () => {
  const pods = [podOf('web'), podOf('web', { metadata: { namespace: 'team' } }), podOf('db')];

  it.each([
    ['db', undefined, 'default/db-n1'],
    ['db-n1', undefined, 'default/db-n1'],
    ['team/web', undefined, 'team/web-n1'],
    ['web', 'team', 'team/web-n1'],
  ])('the pod name %s in the namespace %s finds the pod %s', (given, namespace, key) => {
    const { metadata } = findPod(pods, given, namespace);
    expect(`${metadata.namespace}/${metadata.name}`).toBe(key);
  });

  it.each([
    ['none', undefined, 'there is no pod none on this node'],
    ['db', 'team', 'there is no pod db in the namespace team on this node'],
    ['web', undefined, 'several pods match web: default/web-n1, team/web-n1'],
  ])('no single pod is found for the name %s in the namespace %s', (given, namespace, message) => {
    expect(() => findPod(pods, given, namespace)).toThrow(expect.objectContaining({ message, exitCode: 3 }));
  });

  it("a pod with exactly the given name is preferred to a pod whose name has the node's name as suffix", () => {
    const exact = podOf('x', { metadata: { name: 'web', namespace: 'default' } });
    expect(findPod([podOf('web'), exact], 'web', undefined)).toBe(exact);
  });

  it('containerName returns the given container, otherwise the annotated default, otherwise the first one with a note', () => {
    const two = { spec: { containers: [{ name: 'a' }, { name: 'b' }] } };
    const marked = { metadata: { annotations: { 'kubectl.kubernetes.io/default-container': 'b' } }, ...two };
    expect(containerName(podOf('web', two), 'b')).toEqual({ name: 'b' });
    expect(containerName(podOf('web', marked), undefined)).toEqual({ name: 'b' });
    expect(containerName(podOf('web', two), undefined)).toEqual({
      ...{ name: 'a', note: 'Defaulted to container a; the pod has a, b' },
    });
    expect(() => containerName(podOf('web', two), 'c')).toThrow('has no container c; it has a, b');
  });
});

describe('the command line', () => {
  it.each<[string, string]>([
    ['', 'name a command, such as pods or node'],
    ['fly', 'there is no command "fly"'],
    ['pods -o xml', '--output: must be one of table, wide, json, yaml, not "xml"'],
    ['node -o wide', '--output=wide: only for pods'],
    ['pods -w -o json', '--watch: cannot be combined with --output=json or yaml'],
    ['logs', 'logs: name a pod'],
    ['logs a b', 'logs: only one name is allowed: a, or b'],
    ['logs a --since yesterday', '--since: must be a duration such as 90s or 1h30m, not "yesterday"'],
    ['logs a --tail -1', "Option '--tail' argument is ambiguous"],
    ['logs a --tail x', '--tail: must be a number of lines, not "x"'],
    ['pods --tail 3', '--tail: only for logs'],
    ['exec a', 'exec: put the command behind --'],
    ['exec a --', 'exec: put the command behind --'],
    ['pods -- x', 'pods: does not take arguments behind --'],
    ['port-forward a', 'port-forward: name a pod and a port'],
    ['port-forward a 0', 'port "0": must be PORT or LOCAL:REMOTE, each from 1 to 65535'],
    ['port-forward a 1:70000', 'port "1:70000": must be'],
    ['apply', 'apply: name the manifest with -f FILE'],
    ['delete', 'delete: name a pod, or a manifest with -f FILE'],
    ['delete a -f b', 'delete: leave out "a"'],
    ['top x', 'top: leave out "x"'],
    ['node --client-key k', '--client-key: needs --server'],
    ['node --server http://h', '--server: must be https://HOST:PORT, not "http://h"'],
    ['node --server https://h --socket /s', '--server and --socket exclude each other'],
    ['node --server https://h --client-key k', '--client-certificate and --client-key belong together'],
    ['node --interval 1', '--interval: only for pods'],
    ['node --request-timeout 0', '--request-timeout: must be seconds from 0.1 to 86400, not "0"'],
    ['node --unknown', "Unknown option '--unknown'"],
  ])('the command line "%s" is refused with a reason', (line, message) => {
    const parse = () => parseOptions(line.split(' ').filter((part) => part !== ''));
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  it('parseOptions reads the flags of nodectl logs', () => {
    const line = 'logs web -f -p --since 90s --tail 5 --timestamps -c main -n team';
    expect(parseOptions(line.split(' '))).toMatchObject({
      ...{ namespace: 'team', target: { socket: '/run/node-agent/admin.sock' } },
      command: {
        ...{ name: 'logs', pod: 'web', container: 'main' },
        query: { follow: 'true', previous: 'true', timestamps: 'true', sinceSeconds: '90', tailLines: '5' },
      },
    });
  });

  it('-f means --follow for logs and --filename for apply, also after other flags', () => {
    expect(parseOptions(['--socket', '/s', '-n', 'a', 'logs', 'web', '-f'])).toMatchObject({
      command: { query: { follow: 'true' } },
    });
    expect(parseOptions(['--socket', 'logs', 'apply', '-f', 'x'])).toMatchObject({ command: { file: 'x' } });
  });

  it('all arguments after -- are the command of nodectl exec', () => {
    expect(parseOptions(['exec', 'web', '-i', '--', 'ls', '-f', '--help'])).toMatchObject({
      command: { name: 'exec', stdin: true, tty: false, argv: ['ls', '-f', '--help'] },
    });
  });

  it.each([
    ['80', { local: 80, remote: 80 }],
    ['8080:80', { local: 8080, remote: 80 }],
    [':80', { local: 0, remote: 80 }],
  ])('the port argument %s is parsed as %j', (text, pair) => {
    expect(portPair(text)).toEqual(pair);
  });

  it.each([
    [{ argv: ['sh', '-c', 'a b'], stdin: false, tty: false }, 'output=1&error=1&command=sh&command=-c&command=a+b'],
    [{ argv: ['sh'], stdin: true, tty: true }, 'output=1&tty=1&input=1&command=sh'],
  ])('nodectl exec requests the streams for %j', (command, query) => {
    expect(execQuery(command)).toBe(query);
  });
});

describe('the status of a command', () => {
  const failure = (more: object): string => JSON.stringify({ status: 'Failure', ...more });
  const exit = (code: string) => ({
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: code }] },
  });

  it('the exit code of a command is read from its status', () => {
    expect([exitCodeOf('{"status":"Success"}'), exitCodeOf(failure(exit('3')))]).toEqual([0, 3]);
  });

  it.each([
    ['', 'exec: the connection ended before the command'],
    ['<html>', 'exec: <html>'],
    ['null', 'exec: null'],
    [failure({ message: 'no such file' }), 'exec: no such file'],
    [failure(exit('x')), 'exec: {"status"'],
  ])('the command status %j means that the command could not be run', (said, message) => {
    const read = () => exitCodeOf(said);
    expect(read).toThrow(CtlError);
    expect(read).toThrow(expect.objectContaining({ exitCode: 125, message: expect.stringContaining(message) }));
  });
});

describe('views', () => {
  it('an image has a row per tag, and its digest if it has no tag', () => {
    const common = { id: `sha256:${'a'.repeat(64)}`, sizeBytes: 2 ** 20, pinned: true };
    expect(
      imagesTable([
        { ...common, repoTags: ['a:1', 'a:2'], repoDigests: [] },
        { ...common, repoTags: [], repoDigests: ['b@sha256:1'], pinned: false },
        { ...common, repoTags: [], repoDigests: [] },
      ]),
    ).toBe(
      [
        'IMAGE        ID             SIZE   PINNED',
        'a:1          aaaaaaaaaaaa   1Mi    yes',
        'a:2          aaaaaaaaaaaa   1Mi    yes',
        'b@sha256:1   aaaaaaaaaaaa   1Mi    no',
        '<none>       aaaaaaaaaaaa   1Mi    yes',
        '',
      ].join('\n'),
    );
  });

  it('nodectl top shows the pod with the largest working set first', () => {
    const usage = (name: string, workingSetBytes: number) => ({
      ...{ podRef: { namespace: 'd', name }, memory: { workingSetBytes }, cpu: { usageNanoCores: 1e8 } },
    });
    const text = topTable({
      node: { nodeName: 'n1', fs: { capacityBytes: 2 ** 30, availableBytes: 2 ** 29 } },
      pods: [usage('small', 1024), usage('big', 2 ** 20)],
    });
    expect(text).toMatch(/n1 .*512Mi of 1Gi/);
    expect(text.indexOf('big')).toBeLessThan(text.indexOf('small'));
  });

  it('the view of a node shows its versions, conditions, capacity and problems', () => {
    const node = {
      metadata: { name: 'n1\x1b[2J' },
      status: {
        capacity: { cpu: '2', memory: '2097152Ki', 'ephemeral-storage': '1073741824' },
        allocatable: { cpu: '1', memory: '1048576Ki' },
        conditions: [
          { type: 'DiskPressure', status: 'True', reason: 'R', message: 'disk full' },
          { type: 'Ready', status: 'False', message: 'runtime down' },
        ],
        nodeInfo: { kubeletVersion: 'v1' },
      },
    };
    const text = nodeText(node);
    expect(text).toContain('Name:         n1\\x1b[2J\n');
    expect(text).toMatch(/memory +2Gi +1Gi\n/);
    expect(text).toMatch(/ephemeral-storage +1Gi +-\n/);
    expect(nodeProblems(node)).toEqual(['not Ready: runtime down', 'DiskPressure: disk full']);
    expect(nodeProblems({ metadata: { name: 'n' } })).toEqual(['not Ready: the node has no condition Ready']);
  });

  it('a pod counts as changed if its state has changed, not if only its age has', () => {
    const before = [podOf('web'), podOf('db')];
    const restarted = podOf('web', { status: { containerStatuses: [] } });
    const older = podOf('db', { status: { startTime: '2020-01-01T00:00:00Z' } });
    expect(podsChange(before, [restarted, older])).toEqual({ changed: [restarted], gone: [] });
    expect(podsChange(before, [])).toEqual({ changed: [], gone: ['default/web-n1', 'default/db-n1'] });
  });

  it('a log on a terminal keeps tabs and line breaks, and no other control character', () => {
    expect(terminalText('a\tb\n\x1b[31mred\r\n')).toBe('a\tb\n\uFFFD[31mred\uFFFD\n');
  });

  it.each([
    ['ENOENT', /no such socket; start the kubelet with --admin-socket/],
    ['EACCES', /only root may open/],
    ['ECONNREFUSED', /the kubelet does not run/],
    ['OTHER', /^text$/],
  ])('the connection error %s says what to do', (code, words) => {
    expect(connectionProblem(Object.assign(new Error('text'), { code }))).toMatch(words);
  });
});
