import type { Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endingLines } from '../src/view/ending.ts';
import {
  LineSplitter,
  type PodEvent,
  parseEventLine,
  parseManifestLine,
  parseNodeLine,
} from '../src/view/event-log.ts';
import { diffLines } from '../src/view/lines.ts';
import { isSettled, type PodView, podView, podViews } from '../src/view/pod-view.ts';
import { Screen } from '../src/view/screen.ts';
import { nodeLines, renderTable } from '../src/view/table.ts';
import { cut, formatAge } from '../src/view/text.ts';

const NOW = Date.parse('2030-01-01T00:10:00Z');

function pod(name: string, status: object, spec: object = { containers: [{ name: 'c' }] }): Pod {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec, status } as Pod;
}

function view(fields: Partial<PodView> = {}): PodView {
  return {
    uid: 'u1',
    name: 'web',
    phase: 'Running',
    ready: '1/1',
    containers: [{ name: 'c', state: 'running' }],
    restarts: 0,
    ip: '10.0.0.2',
    startedAtMs: NOW - 65_000,
    ...fields,
  };
}

function event(fields: Partial<PodEvent> = {}): PodEvent {
  const { atMs = NOW - 5_000, podUid = 'u1', pod: name = 'default/web' } = fields;
  return { atMs, podUid, pod: name, type: 'Normal', reason: 'Started', message: 'Container started', ...fields };
}

describe('podView', () => {
  test('podView shows a pod without a status as Pending, with waiting containers', () => {
    expect(
      podView({ metadata: { name: 'a', namespace: 'kube-system', uid: 'u' }, spec: { containers: [{ name: 'c' }] } }),
    ).toEqual({
      uid: 'u',
      name: 'kube-system/a',
      phase: 'Pending',
      ready: '0/1',
      containers: [{ name: 'c', state: 'waiting' }],
      restarts: 0,
      ip: '',
      startedAtMs: undefined,
    });
  });

  test('podView shows states, the sum of restarts, the IP and the start time', () => {
    const status = {
      phase: 'Running',
      podIP: '10.1.2.3',
      startTime: '2030-01-01T00:09:00Z',
      containerStatuses: [
        { name: 'b', ready: false, restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        { name: 'a', ready: true, restartCount: 1, state: { running: { startedAt: '2030-01-01T00:09:01Z' } } },
      ],
    };
    expect(podView(pod('x', status, { containers: [{ name: 'a' }, { name: 'b' }] }))).toMatchObject({
      ready: '1/2',
      restarts: 3,
      ip: '10.1.2.3',
      startedAtMs: NOW - 60_000,
      containers: [
        { name: 'a', state: 'running' },
        { name: 'b', state: 'waiting(CrashLoopBackOff)' },
      ],
    });
  });

  test('podView shows init containers until they complete; sidecars stay and count as ready', () => {
    const spec = {
      initContainers: [{ name: 'one' }, { name: 'two' }, { name: 'car', restartPolicy: 'Always' }],
      containers: [{ name: 'c' }],
    };
    const status = {
      phase: 'Pending',
      initContainerStatuses: [
        { name: 'one', ready: true, restartCount: 0, state: { terminated: { exitCode: 0 } } },
        { name: 'two', ready: false, restartCount: 4, state: { terminated: { exitCode: 1 } } },
        { name: 'car', ready: true, restartCount: 0, state: { running: {} } },
      ],
    };
    const shown = podView(pod('x', status, spec));
    expect(shown.containers.map(({ name, state }) => `${name}:${state}`)).toEqual([
      'two:exited(1)',
      'car:running',
      'c:waiting',
    ]);
    expect(shown).toMatchObject({ ready: '1/2', restarts: 4 });
  });

  test('podView shows the reason of a rejected pod', () => {
    expect(podView(pod('x', { phase: 'Failed', reason: 'OutOfpods' })).phase).toBe('Failed(OutOfpods)');
  });

  test('podViews sorts pods by name', () => {
    expect(podViews([pod('b', {}), pod('a', {}), pod('c', {})]).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  test.each([
    ['Running', true],
    ['Succeeded', true],
    ['Pending', false],
    ['Failed(Evicted)', false],
  ])('a pod in phase %s is settled: %s', (phase, expected) => {
    expect(isSettled(view({ phase }))).toBe(expected);
  });
});

describe('renderTable', () => {
  test('the view has a row for each pod with aligned columns', () => {
    const other = view({
      uid: 'u2',
      name: 'a-longer-name',
      phase: 'Pending',
      ready: '0/1',
      ip: '',
      startedAtMs: undefined,
    });
    expect(renderTable([view(), other], new Map([['u1', event()]]), NOW, 200)).toEqual([
      'POD            PHASE    READY  RESTARTS  IP        AGE  CONTAINERS  LAST EVENT',
      'web            Running  1/1    0         10.0.0.2  65s  c:running   5s Started: Container started',
      'a-longer-name  Pending  0/1    0         -         -    c:running   -',
    ]);
  });

  test('on a narrow terminal, the view shortens the last event first, then the containers', () => {
    const pods = [view({ containers: [{ name: 'a-container-of-a-long-name', state: 'running' }] })];
    const events = new Map([['u1', event()]]);
    expect(renderTable(pods, events, NOW, 107)[1]).toBe(
      'web  Running  1/1    0         10.0.0.2  65s  a-container-of-a-long-name:running  5s Started: Container st…',
    );
    expect(renderTable(pods, events, NOW, 70)[1]).toBe(
      'web  Running  1/1    0         10.0.0.2  65s  a-container…  5s Starte…',
    );
  });

  test('no line of the view is wider than the terminal', () => {
    const views = fc.record({ name: fc.string(), phase: fc.string(), ip: fc.string(), restarts: fc.nat() });
    fc.assert(
      fc.property(
        fc.array(views, { minLength: 1 }),
        fc.string(),
        fc.integer({ min: 1, max: 300 }),
        (pods, message, width) => {
          const lines = renderTable(pods.map(view), new Map([['u1', event({ message })]]), NOW, width);
          expect(lines).toHaveLength(pods.length + 1);
          for (const line of lines) {
            expect(line.length).toBeLessThanOrEqual(width);
            expect(line).not.toMatch(/\p{Cc}/u);
          }
        },
      ),
    );
  });

  test('renderTable returns a message if there are no pods', () => {
    expect(renderTable([], new Map(), NOW, 200)).toEqual([expect.stringMatching(/No pods/)]);
  });
});

describe('the lines above the table', () => {
  const node = { state: 'healthy', reason: undefined, forMs: 65_000, pods: 1 };

  test('the lines above the table show the node and each broken manifest', () => {
    expect(nodeLines(node, ['/m/b.yaml:1:1: no', '/m/a.yaml:4:1: no'], 200)).toEqual([
      'NODE      healthy for 65s, 1 pod',
      'MANIFEST  /m/a.yaml:4:1: no',
      'MANIFEST  /m/b.yaml:1:1: no',
    ]);
  });

  test('if the node is unhealthy, the lines above the table show why pods are not synced', () => {
    const ill = { ...node, state: 'unhealthy: runtime', reason: 'container runtime is down', pods: 2 };
    expect(nodeLines(ill, [], 200)).toEqual([
      'NODE      unhealthy: runtime (pods are not synced: container runtime is down) for 65s, 2 pods',
    ]);
    expect(nodeLines({ ...node, reason: 'container runtime is down' }, [], 200)[0]).not.toContain('down');
    expect(nodeLines(ill, ['x'.repeat(99)], 20).map(({ length }) => length)).toEqual([20, 20]);
  });
});

describe('the lines of stopping pods', () => {
  test.each([
    [3_000, ['STOPPING  2 pods', '  slow: will be killed in 9 s (grace period 12 s)', '  x/quick: being killed']],
    [12_500, ['STOPPING  2 pods', '  slow: being killed', '  x/quick: being killed']],
  ])('the lines of stopping pods show each pod with the rest of its grace period after %d ms', (forMs, expected) => {
    const left = [
      { name: 'slow', graceSeconds: 12 },
      { name: 'x/quick', graceSeconds: 1 },
    ];
    expect(endingLines(left, forMs, 200)).toEqual(expected);
  });

  test('the lines of stopping pods are empty if no pod is left', () => {
    expect(endingLines([], 0, 200)).toEqual([]);
  });
});

describe('diffLines', () => {
  test('diffLines returns no lines if nothing changed', () => {
    expect(diffLines([view()], [view({ startedAtMs: 1 })])).toEqual([]);
  });

  test('diffLines returns the known facts of a new pod', () => {
    expect(diffLines([], [view()])).toEqual(['web: new, Running', 'web: IP 10.0.0.2', 'web: container c running']);
  });

  test('diffLines returns one line per change', () => {
    const after = view({
      phase: 'Failed',
      ready: '0/1',
      restarts: 1,
      ip: '10.0.0.3',
      containers: [{ name: 'c', state: 'exited(1)' }],
    });
    expect(diffLines([view()], [after])).toEqual([
      'web: phase Running -> Failed',
      'web: IP 10.0.0.3',
      'web: container c running -> exited(1)',
      'web: ready 1/1 -> 0/1',
      'web: restarts 0 -> 1',
    ]);
  });

  test('diffLines treats a pod with the same name and another UID as another pod', () => {
    const lines = diffLines([view()], [view({ uid: 'u2' })]);
    expect(lines.slice(0, 2)).toEqual(['web: gone', 'web: new, Running']);
  });
});

describe("events in the kubelet's log", () => {
  const line = JSON.stringify({
    level: 'info',
    ts: Date.parse('2030-01-01T00:00:00Z'),
    ...{ object: 'default/web', fieldPath: 'spec.containers{c}', kind: 'Pod', apiVersion: 'v1', uid: 'u1' },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting',
    msg: 'Event occurred',
  });

  test("events in the kubelet's log are parsed", () => {
    expect(parseEventLine(line)).toEqual({
      atMs: Date.parse('2030-01-01T00:00:00Z'),
      podUid: 'u1',
      pod: 'default/web',
      container: 'c',
      type: 'Warning',
      reason: 'BackOff',
      message: 'Back-off restarting',
    });
  });

  test.each([
    ['', 'empty'],
    [line.slice(0, -5), 'a line that was cut off'],
    [line.replace('"kind":"Pod"', '"kind":"Node"'), 'an event of the node'],
    ['{"msg":"Starting","note":"Event occurred"}', 'another message'],
    ['"Event occurred"', 'not an object'],
  ])('parseEventLine ignores the line %j: %s', (text) => {
    expect(parseEventLine(text)).toBeUndefined();
  });

  test.each([
    ['Manifest has a problem', { problem: '/m/a.yaml:4:1: no', isGone: false }],
    ['Manifest problem is gone', { problem: '/m/a.yaml:4:1: no', isGone: true }],
    ['Something else', undefined],
  ])('parseManifestLine returns for the log message "%s": $1', (msg, expected) => {
    const problem = '/m/a.yaml:4:1: no';
    expect(parseManifestLine(JSON.stringify({ component: 'pod-source', problem, msg }))).toEqual(expected);
  });

  test('parseNodeLine returns why no pods are synced, and nothing for another message', () => {
    const said = { level: 'warn', errors: ['container runtime is down', 'PLEG is not healthy: x'] };
    expect(parseNodeLine(JSON.stringify({ ...said, msg: 'Skipping pod synchronization' }))).toBe(
      'container runtime is down; PLEG is not healthy: x',
    );
    expect(parseNodeLine(JSON.stringify({ ...said, msg: 'Another' }))).toBeUndefined();
    expect(parseNodeLine('{"msg":"Skipping pod synchronization"}')).toBeUndefined();
  });

  test('LineSplitter assembles lines from pieces that end anywhere', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n', 'é') })), (pieces) => {
        const splitter = new LineSplitter();
        const lines = pieces.flatMap((piece) => splitter.push(piece));
        expect(lines).toEqual(pieces.join('').split('\n').slice(0, -1));
      }),
    );
  });
});

describe('formatting of ages and long texts', () => {
  test.each([
    [-5, '0s'],
    [7_900, '7s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [192_000, '3m12s'],
    [10 * 60_000, '10m'],
    [3 * 3_600_000, '3h'],
    [5.5 * 3_600_000, '5h30m'],
    [9.5 * 3_600_000, '9h'],
    [100 * 3_600_000, '4d'],
  ])('formats an age of %d ms as %s', (ms, expected) => {
    expect(formatAge(ms)).toBe(expected);
  });

  test('shortened text ends with a mark, and control characters are removed', () => {
    expect(cut('abcdef', 4)).toBe('abc…');
    expect(cut('abcd', 4)).toBe('abcd');
    expect(cut('a\x1b[2Jb\nc', 20)).toBe('a [2Jb c');
    expect(cut('abc', 0)).toBe('');
  });
});

describe('the screen', () => {
  class Terminal {
    readonly isTTY: boolean = true;
    readonly columns: number = 20;
    readonly rows: number = 6;
    text = '';
    write(text: string): void {
      this.text += text;
    }
  }

  test('the screen prints a line above the block and redraws the block', () => {
    const terminal = new Terminal();
    const screen = new Screen(terminal);
    screen.draw(['H', 'one']);
    terminal.text = '';
    screen.say('said');
    expect(terminal.text).toBe('\x1b[2A\r\x1b[Jsaid\n\x1b[?25l\x1b[1mH\x1b[0m\none\n');
  });

  test('the screen cuts a block that is higher than the terminal, and shows the number of omitted lines', () => {
    const terminal = new Terminal();
    new Screen(terminal).draw(['H', 'one', 'two', 'three', 'four', 'five']);
    expect(terminal.text).toContain('H\x1b[0m\none\ntwo\n… and 3 more\n');
  });

  test('freeze() shows the cursor, and later lines are printed below the block instead of replacing it', () => {
    const terminal = new Terminal();
    const screen = new Screen(terminal);
    screen.draw(['H']);
    terminal.text = '';
    screen.freeze();
    screen.say('end');
    expect(terminal.text).toBe('\x1b[?25hend\n');
  });

  test('clear() removes the block without leaving a line, and shows the cursor', () => {
    const terminal = new Terminal();
    const screen = new Screen(terminal);
    screen.draw(['H', 'one']);
    terminal.text = '';
    screen.clear();
    screen.clear();
    expect(terminal.text).toBe('\x1b[2A\r\x1b[J\x1b[?25h');
  });

  test('if the output is a pipe, the screen prints only lines and no block', () => {
    const lines: string[] = [];
    const screen = new Screen({ write: (text: string) => lines.push(text) });
    screen.say('one');
    screen.freeze();
    expect(lines).toEqual(['one\n']);
    expect(screen.isLive).toBe(false);
  });
});
